//! Tuples of up to eight parts: the key encodings of the parts, one after the other. They sort by the first
//! part, then by the second, and so on. A record's key or value that is a tuple has the same bytes.

use std::borrow::Cow;

use super::{
    Codec, Data, DecodeError, Encode, EncodeError, EncodeKey, EncodePrefix, FromItem, KeyCodec, Own, Text,
};

/// Codec, type written and index of all parts but the last; then of the last, which needs no end of its own.
macro_rules! tuple {
    ($($C:ident $T:ident $i:tt),*; $L:ident $LT:ident $li:tt) => {
        impl<$($C: Data,)* $L: Data> Data for ($($C,)* $L,) {
            type Item<'a> = ($($C::Item<'a>,)* $L::Item<'a>,);
        }

        #[diagnostic::do_not_recommend]
        impl<$($C: KeyCodec,)* $L: KeyCodec> Codec for ($($C,)* $L,) {
            fn name() -> Cow<'static, str> {
                Self::key_name()
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self::Item<'_>, DecodeError> {
                Self::decode_key(bytes)
            }

            fn to_text(bytes: &[u8]) -> Result<Text, DecodeError> {
                Self::key_to_text(bytes)
            }

            fn from_text(text: &Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                Self::put_text(text, out, true)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($C: KeyCodec, $T: EncodeKey<$C>,)* $L: KeyCodec, $LT: EncodeKey<$L>>
            Encode<($($C,)* $L,)> for ($($T,)* $LT,)
        {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                EncodeKey::<($($C,)* $L,)>::put(self, out, true)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($C: KeyCodec,)* $L: KeyCodec> KeyCodec for ($($C,)* $L,) {
            fn key_name() -> Cow<'static, str> {
                let parts = [$($C::key_name(),)* $L::key_name()];
                Cow::Owned(format!("({})", parts.join(", ")))
            }

            #[inline]
            fn take<'a>(bytes: &mut &'a [u8], last: bool) -> Result<Self::Item<'a>, DecodeError> {
                let within = |error: DecodeError, index: usize| error.in_part(&Self::key_name(), index + 1);
                Ok((
                    $($C::take(bytes, false).map_err(|error| within(error, $i))?,)*
                    $L::take(bytes, last).map_err(|error| within(error, $li))?,
                ))
            }

            fn take_text(bytes: &mut &[u8], last: bool) -> Result<Text, DecodeError> {
                let within = |error: DecodeError, index: usize| error.in_part(&Self::key_name(), index + 1);
                Ok(Text::Array(vec![
                    $($C::take_text(bytes, false).map_err(|error| within(error, $i))?,)*
                    $L::take_text(bytes, last).map_err(|error| within(error, $li))?,
                ]))
            }

            fn put_text(text: &Text, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                const PARTS: usize = $li + 1;
                let parts = text.as_array().filter(|parts| parts.len() == PARTS).ok_or_else(|| {
                    EncodeError::text(&Self::key_name(), format_args!("an array of {PARTS}"), text)
                })?;
                let within = |error: EncodeError, index: usize| error.in_part(&Self::key_name(), index + 1);
                $($C::put_text(&parts[$i], out, false).map_err(|error| within(error, $i))?;)*
                $L::put_text(&parts[$li], out, last).map_err(|error| within(error, $li))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($C: KeyCodec, $T: EncodeKey<$C>,)* $L: KeyCodec, $LT: EncodeKey<$L>>
            EncodeKey<($($C,)* $L,)> for ($($T,)* $LT,)
        {
            #[inline]
            fn put(&self, out: &mut Vec<u8>, last: bool) -> Result<(), EncodeError> {
                let within = |error: EncodeError, index: usize| {
                    error.in_part(&<($($C,)* $L,)>::key_name(), index + 1)
                };
                $(self.$i.put(out, false).map_err(|error| within(error, $i))?;)*
                self.$li.put(out, last).map_err(|error| within(error, $li))
            }
        }

        impl<'a, $($C: Data, $T: FromItem<'a, $C>,)* $L: Data, $LT: FromItem<'a, $L>>
            FromItem<'a, ($($C,)* $L,)> for ($($T,)* $LT,)
        {
            #[inline]
            fn from_item(item: ($($C::Item<'a>,)* $L::Item<'a>,)) -> Self {
                ($($T::from_item(item.$i),)* $LT::from_item(item.$li),)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($C: Own,)* $L: Own> Own for ($($C,)* $L,) {
            type Owned = ($($C::Owned,)* $L::Owned,);

            #[inline]
            fn own(item: Self::Item<'_>) -> Self::Owned {
                ($($C::own(item.$i),)* $L::own(item.$li),)
            }
        }
    };
}

tuple!(; A TA 0);
tuple!(A TA 0; B TB 1);
tuple!(A TA 0, B TB 1; C TC 2);
tuple!(A TA 0, B TB 1, C TC 2; D TD 3);
tuple!(A TA 0, B TB 1, C TC 2, D TD 3; E TE 4);
tuple!(A TA 0, B TB 1, C TC 2, D TD 3, E TE 4; F TF 5);
tuple!(A TA 0, B TB 1, C TC 2, D TD 3, E TE 4, F TF 5; G TG 6);
tuple!(A TA 0, B TB 1, C TC 2, D TD 3, E TE 4, F TF 5, G TG 6; H TH 7);

/// The leading parts of a tuple, each whole: first the prefix's parts, then those that follow in the key.
macro_rules! prefix {
    ($($C:ident $T:ident $i:tt),*; $($R:ident)+) => {
        impl<$($C: KeyCodec, $T: EncodeKey<$C>,)* $($R: KeyCodec),+>
            EncodePrefix<($($C,)* $($R,)+)> for ($($T,)*)
        {
            #[allow(unused_variables, reason = "the empty prefix writes nothing")]
            fn put_prefix(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                let within = |error: EncodeError, index: usize| {
                    error.in_part(&<($($C,)* $($R,)+)>::key_name(), index + 1)
                };
                $(self.$i.put(out, false).map_err(|error| within(error, $i))?;)*
                Ok(())
            }
        }
    };
}

/// The prefix of these parts, for keys with one part more, two parts more, and so on.
macro_rules! prefixes {
    ([$($lead:tt)*] $next:ident $($more:ident)*) => {
        prefixes!(@ [$($lead)*] [$next] $($more)*);
    };
    (@ [$($lead:tt)*] [$($rest:ident)+] $next:ident $($more:ident)*) => {
        prefix!($($lead)*; $($rest)+);
        prefixes!(@ [$($lead)*] [$($rest)+ $next] $($more)*);
    };
    (@ [$($lead:tt)*] [$($rest:ident)+]) => {
        prefix!($($lead)*; $($rest)+);
    };
}

prefixes!([] A B C D E F G H);
prefixes!([A TA 0] B C D E F G H);
prefixes!([A TA 0, B TB 1] C D E F G H);
prefixes!([A TA 0, B TB 1, C TC 2] D E F G H);
prefixes!([A TA 0, B TB 1, C TC 2, D TD 3] E F G H);
prefixes!([A TA 0, B TB 1, C TC 2, D TD 3, E TE 4] F G H);
prefixes!([A TA 0, B TB 1, C TC 2, D TD 3, E TE 4, F TF 5] G H);
prefixes!([A TA 0, B TB 1, C TC 2, D TD 3, E TE 4, F TF 5, G TG 6] H);
