//! The impls of a codec: nothing a person could not write.

use proc_macro2::{Delimiter, Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ConstParam, DeriveInput, GenericParam, Generics, Lifetime, TypeParam, parse_quote};

use super::Format;
use crate::expand::{generated, group, unlinted};

/// All impls; without a format (after an error) their bodies cannot be reached.
pub(super) fn impls(item: &DeriveInput, format: Option<Format>, krate: &TokenStream) -> TokenStream {
    let k = quote!(__kproc::codec);
    let types = Types::of(item);
    let (this, lent) = (&types.this, &types.lent);
    let (impl_generics, _, data_where) = types.generics.split_for_impl();
    let (lent_generics, _, _) = types.generics_and_lent.split_for_impl();

    let mut encode_generics = if types.owned {
        &types.generics
    } else {
        &types.generics_and_lent
    }
    .clone();
    let mut codec_generics = types.generics.clone();
    if format.is_some() {
        codec_generics = with_serde(&codec_generics, item);
        encode_generics = with_serde(&encode_generics, item);
    }
    let (encode_generics, _, encode_where) = encode_generics.split_for_impl();
    let codec_where = &codec_generics.where_clause;
    let Bodies {
        name,
        decode,
        to_text,
        from_text,
        encode,
    } = Bodies::of(format, item);

    // What the bodies take has the hygiene of the bodies.
    let span = item.ident.span();
    let this_value = quote_spanned!(span=> self);
    // The compiler points at this impl where a generic type is none.
    let (impl_token, for_token) = (quote_spanned!(span=> impl), quote_spanned!(span=> for));
    let [bytes, text, out] = ["bytes", "text", "out"].map(|name| Ident::new(name, span));

    let own = types.owned.then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics #k::Own for #this #data_where {
                type Owned = Self;
                #[inline]
                fn own(item: Self) -> Self {
                    item
                }
            }
        }
    });

    let methods = quote! {
        fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
            #name
        }
        #[inline]
        fn decode<'__item>(
            #bytes: &'__item [__kproc::core::primitive::u8],
        ) -> __kproc::core::result::Result<#lent, #k::DecodeError> {
            #decode
        }
        fn to_text(
            #bytes: &[__kproc::core::primitive::u8],
        ) -> __kproc::core::result::Result<#k::Text, #k::DecodeError> {
            #to_text
        }
        fn from_text(
            #text: &#k::Text,
            #out: &mut __kproc::Vec<__kproc::core::primitive::u8>,
        ) -> __kproc::core::result::Result<(), #k::EncodeError> {
            #from_text
        }
    };
    let methods = group(Delimiter::Brace, methods, span);
    let body = quote! {
            // One import, so that a kproc that is not there is one error.
            use #krate::__private as __kproc;

            #[automatically_derived]
            impl #impl_generics #k::Data for #this #data_where {
                type Item<'__item> = #lent;
            }

            #[automatically_derived]
            #impl_token #impl_generics #k::Codec #for_token #this #codec_where #methods

            #[automatically_derived]
            impl #encode_generics #k::Encode<#this> for #lent #encode_where {
                #[inline]
                fn encode(
                    &#this_value,
                    #out: &mut __kproc::Vec<__kproc::core::primitive::u8>,
                ) -> __kproc::core::result::Result<(), #k::EncodeError> {
                    #encode
                }
            }

            #[automatically_derived]
            impl #lent_generics #k::FromItem<'__item, #this> for #lent #data_where {
                #[inline]
                fn from_item(item: Self) -> Self {
                    item
                }
            }

            #own
    };
    unlinted(&[], &body)
}

/// The type in the forms that the impls need.
struct Types {
    /// The codec: `Order<'x, T>`.
    this: TokenStream,
    /// Its item, as the record lends it: `Order<'__item, T>`.
    lent: TokenStream,
    /// The user's own parameters.
    generics: Generics,
    /// The same, and `'__item`.
    generics_and_lent: Generics,
    /// Whether it borrows nothing.
    owned: bool,
}

impl Types {
    fn of(item: &DeriveInput) -> Self {
        let mut generics = item.generics.clone();
        // An item is lent for any lifetime, so what it is made of must not have one of its own.
        for parameter in generics.type_params_mut() {
            parameter.bounds.push(parse_quote!('static));
        }
        let (_, arguments, _) = generics.split_for_impl();
        let ident = &item.ident;
        let this = quote!(#ident #arguments);
        let owned = generics.lifetimes().next().is_none();
        let mut generics_and_lent = generics.clone();
        generics_and_lent.params.insert(0, parse_quote!('__item));
        Self {
            this,
            lent: lent(item, &parse_quote!('__item)),
            generics,
            generics_and_lent,
            owned,
        }
    }
}

/// The type with this lifetime for each of its own.
fn lent(item: &DeriveInput, lifetime: &Lifetime) -> TokenStream {
    let ident = &item.ident;
    if item.generics.params.is_empty() {
        return quote!(#ident);
    }
    let arguments = item.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => quote!(#lifetime),
        GenericParam::Type(TypeParam { ident, .. }) | GenericParam::Const(ConstParam { ident, .. }) => {
            quote!(#ident)
        }
    });
    quote!(#ident<#(#arguments),*>)
}

/// `generics` with what a generic type needs of serde. Of the other types it is known here and now; an error
/// then points at the type and not at its use.
fn with_serde(generics: &Generics, item: &DeriveInput) -> Generics {
    let mut generics = generics.clone();
    if generics.type_params().next().is_some() {
        // The compiler shows it, so it has an ordinary name, if that is free.
        let is_taken = |name: &str| {
            item.generics
                .lifetimes()
                .any(|taken| taken.lifetime.ident == name)
        };
        let name = if is_taken("de") { "'__de" } else { "'de" };
        let de = Lifetime::new(name, Span::call_site());
        let lent = lent(item, &de);
        let bounds = &mut generics.make_where_clause().predicates;
        bounds.push(parse_quote!(for<#de> #lent: __kproc::codec::Serde<#de>));
    }
    generics
}

/// What the functions do.
struct Bodies {
    name: TokenStream,
    decode: TokenStream,
    to_text: TokenStream,
    from_text: TokenStream,
    encode: TokenStream,
}

impl Bodies {
    fn of(format: Option<Format>, item: &DeriveInput) -> Self {
        let Some(format) = format else {
            let never = quote!(__kproc::core::unreachable!());
            return Self {
                name: never.clone(),
                decode: never.clone(),
                to_text: never.clone(),
                from_text: never.clone(),
                encode: never,
            };
        };
        // An error in a body, such as a missing `Serialize`, is an error of the type: it points at its name.
        let span = item.ident.span();
        let codec = generated("codec", span);
        let k = quote_spanned!(span=> __kproc::#codec);
        let serde = quote_spanned!(span=> #k::Serde);
        let (module, to_text, from_text) = match format {
            Format::Json => (
                quote_spanned!(span=> #k::json),
                quote_spanned!(span=> #k::json::to_text(bytes)),
                quote_spanned!(span=> #k::json::from_text::<Self>(text, out)),
            ),
            Format::Postcard => (
                quote_spanned!(span=> #k::postcard),
                quote_spanned!(span=> #serde::to_text(&<Self as #k::Codec>::decode(bytes)?)),
                quote_spanned! {span=>
                    let item: Self::Item<'_> = #serde::from_text(text)?;
                    #k::Encode::<Self>::encode(&item, out)
                },
            ),
        };
        let (decode, encode) = match format {
            Format::Json => ("from_json", "to_json"),
            Format::Postcard => ("from_postcard", "to_postcard"),
        };
        let [decode, encode] = [decode, encode].map(|name| Ident::new(name, span));
        Self {
            name: quote!(__kproc::Cow::Borrowed(#module::NAME)),
            decode: quote_spanned!(span=> #serde::#decode(bytes)),
            to_text,
            from_text,
            encode: quote_spanned!(span=> #serde::#encode(self, out)),
        }
    }
}
