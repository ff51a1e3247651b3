//! Keys: their bytes sort exactly as their values do, come back as they were, and begin as their prefixes say.

use std::{cmp::Ordering, fmt::Debug};

use bytes::Bytes;
use kproc_store::{
    Timestamp,
    codec::{EncodeKey, EncodePrefix, KeyCodec, Own},
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::select,
    test_runner::{TestCaseResult, TestRunner},
};
use uuid::Uuid;

fn key<C: KeyCodec>(value: &impl EncodeKey<C>, last: bool) -> Vec<u8> {
    let mut out = Vec::new();
    value.put(&mut out, last).unwrap();
    out
}

/// The promises to two keys of one type, alone and with a part behind them.
fn promises<C>(a: &C::Owned, b: &C::Owned, order: Ordering) -> TestCaseResult
where
    C: Own + KeyCodec,
    C::Owned: EncodeKey<C> + Debug,
{
    // `-0.0` and `NaN` are told apart by their `Debug` and not by `==`; see `floats` for NaN's bits.
    let shown = format!("{a:?}");
    for last in [true, false] {
        let (bytes, other) = (key::<C>(a, last), key::<C>(b, last));
        prop_assert_eq!(bytes.cmp(&other), order, "{:02x?} and {:02x?}", bytes, other);

        let mut rest = bytes.as_slice();
        prop_assert_eq!(
            format!("{:?}", C::own(C::take(&mut rest, last).unwrap())),
            shown.clone()
        );
        prop_assert!(rest.is_empty());

        let text = C::take_text(&mut bytes.as_slice(), last).unwrap();
        let text: serde_json::Value = serde_json::from_str(&text.to_string()).unwrap();
        let mut again = Vec::new();
        C::put_text(&text, &mut again, last).unwrap();
        prop_assert_eq!(again, bytes, "by way of {}", text);
    }
    // Behind a part, nothing of the next one is taken.
    let bytes = [key::<C>(a, false), vec![0, 0xff, 0]].concat();
    let mut rest = bytes.as_slice();
    prop_assert_eq!(
        format!("{:?}", C::own(C::take(&mut rest, false).unwrap())),
        shown.clone()
    );
    prop_assert_eq!(rest, [0, 0xff, 0]);
    prop_assert_eq!(
        format!("{:?}", C::own(C::decode_key(&key::<C>(a, true)).unwrap())),
        shown
    );
    Ok(())
}

/// Runs [`promises`] over pairs of values.
fn sorts<C>(values: impl Strategy<Value = C::Owned>)
where
    C: Own + KeyCodec,
    C::Owned: EncodeKey<C> + Ord + Debug + Clone,
{
    let pairs = vec(values, 2);
    let config = ProptestConfig {
        cases: 1_000,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&pairs, |pair| {
            promises::<C>(&pair[0], &pair[1], pair[0].cmp(&pair[1]))
        })
        .unwrap();
}

/// Few characters, so that one text often begins another; with the ends of UTF-8's lengths.
fn text() -> impl Strategy<Value = String> {
    vec(
        select(vec![
            '\u{1}',
            'a',
            'b',
            '\u{7f}',
            '\u{80}',
            '\u{ffff}',
            '\u{10000}',
        ]),
        0..5,
    )
    .prop_map(String::from_iter)
}

/// Few values, among them all that an escape makes use of.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(select(vec![0_u8, 1, 0x7f, 0xfe, 0xff]), 0..6)
}

#[test]
fn integers() {
    sorts::<i8>(any::<i8>());
    sorts::<i16>(any::<i16>());
    sorts::<i32>(any::<i32>());
    sorts::<i64>(prop_oneof![
        any::<i64>(),
        -3..3_i64,
        Just(i64::MIN),
        Just(i64::MAX)
    ]);
    sorts::<u8>(any::<u8>());
    sorts::<u16>(any::<u16>());
    sorts::<u32>(any::<u32>());
    sorts::<u64>(prop_oneof![any::<u64>(), 0..3_u64, Just(u64::MAX)]);
}

#[test]
fn floats_sort_by_total_order() {
    let special = [
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    let doubles = || {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            any::<f64>(),
            select(special.to_vec())
        ]
    };
    let singles = || {
        let special = special.map(|float| float as f32).to_vec();
        prop_oneof![
            any::<u32>().prop_map(f32::from_bits),
            any::<f32>(),
            select(special)
        ]
    };
    proptest!(ProptestConfig::with_cases(5_000), |(a in doubles(), b in doubles(), c in singles(), d in singles())| {
        promises::<f64>(&a, &b, a.total_cmp(&b))?;
        promises::<f32>(&c, &d, c.total_cmp(&d))?;
        prop_assert_eq!(f64::decode_key(&key::<f64>(&a, true)).unwrap().to_bits(), a.to_bits());
        prop_assert_eq!(f32::decode_key(&key::<f32>(&c, true)).unwrap().to_bits(), c.to_bits());
    });
}

#[test]
fn scalars() {
    sorts::<bool>(any::<bool>());
    sorts::<Uuid>(any::<u128>().prop_map(Uuid::from_u128));
    sorts::<Timestamp>(any::<i64>().prop_map(Timestamp::from_millis));
    sorts::<Timestamp>((-3..3_i64).prop_map(Timestamp::from_millis));
}

#[test]
fn text_and_bytes() {
    sorts::<String>(text());
    sorts::<String>("[^\u{0}]{0,8}");
    sorts::<Vec<u8>>(bytes());
    sorts::<Vec<u8>>(vec(any::<u8>(), 0..40));
    sorts::<Bytes>(bytes().prop_map(Bytes::from));
    sorts::<[u8; 3]>(any::<[u8; 3]>());
    sorts::<[u8; 0]>(any::<[u8; 0]>());
}

#[test]
fn text_alone_may_hold_any_character() {
    proptest!(|(a in "[\u{0}ab]{0,4}", b in any::<String>())| {
        let (x, y) = (key::<String>(&a, true), key::<String>(&b, true));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(String::decode_key(&x).unwrap(), a);
        prop_assert_eq!(String::decode_key(&y).unwrap(), b);
    });
}

#[test]
fn options() {
    sorts::<Option<i8>>(option::of(any::<i8>()));
    sorts::<Option<String>>(option::of(text()));
    sorts::<Option<Vec<u8>>>(option::of(bytes()));
    sorts::<Option<Option<u8>>>(option::of(option::of(0..2_u8)));
    sorts::<Option<(Option<u8>,)>>(option::of((option::of(0..2_u8),)));
}

#[test]
fn tuples() {
    sorts::<(String,)>((text(),));
    sorts::<(String, i8)>((text(), any::<i8>()));
    sorts::<(Vec<u8>, String)>((bytes(), text()));
    sorts::<(Vec<u8>, Vec<u8>)>((bytes(), bytes()));
    sorts::<(Option<String>, Vec<u8>)>((option::of(text()), bytes()));
    sorts::<(Option<Vec<u8>>, Option<i16>, String)>((option::of(bytes()), option::of(any::<i16>()), text()));
    sorts::<(String, String, u8, Option<String>)>((text(), text(), 0..3_u8, option::of(text())));
    sorts::<((String, Vec<u8>), bool, (Option<u8>, String))>((
        (text(), bytes()),
        any::<bool>(),
        (option::of(0..2_u8), text()),
    ));
    sorts::<(u8, u8, u8, u8, u8, u8, u8, String)>((
        0..2_u8,
        0..2_u8,
        0..2_u8,
        0..2_u8,
        0..2_u8,
        0..2_u8,
        0..2_u8,
        text(),
    ));
}

fn prefix<C: KeyCodec>(value: &(impl EncodePrefix<C> + ?Sized)) -> Vec<u8> {
    let mut out = Vec::new();
    value.put_prefix(&mut out).unwrap();
    out
}

#[test]
fn a_prefix_of_text_or_bytes_is_a_beginning() {
    proptest!(|(a in text(), b in text(), x in bytes(), y in bytes())| {
        prop_assert_eq!(key::<String>(&b, true).starts_with(&prefix::<String>(&a)), b.starts_with(&a));
        prop_assert_eq!(key::<Vec<u8>>(&y, true).starts_with(&prefix::<Vec<u8>>(&x)), y.starts_with(&x));
    });
    assert_eq!(prefix::<[u8; 4]>(b"ab"), b"ab");
    assert_eq!(prefix::<String>("ab"), prefix::<String>(&"ab".to_owned()));
}

#[test]
fn a_prefix_of_a_tuple_is_whole_parts() {
    type Key = (String, Vec<u8>, Option<String>, i8);
    let keys = || (text(), bytes(), option::of(text()), any::<i8>());
    proptest!(ProptestConfig::with_cases(5_000), |(a in keys(), b in keys(), same in 0..4)| {
        // Random keys seldom begin alike: give `b` some of the parts of `a`.
        let mut b = b;
        if same > 0 { b.0.clone_from(&a.0); }
        if same > 1 { b.1.clone_from(&a.1); }
        if same > 2 { b.2.clone_from(&a.2); }
        let bytes = key::<Key>(&b, true);
        prop_assert!(bytes.starts_with(&prefix::<Key>(&())));
        prop_assert_eq!(bytes.starts_with(&prefix::<Key>(&(a.0.as_str(),))), a.0 == b.0);
        prop_assert_eq!(bytes.starts_with(&prefix::<Key>(&(a.0.as_str(), a.1.as_slice()))), (&a.0, &a.1) == (&b.0, &b.1));
        prop_assert_eq!(
            bytes.starts_with(&prefix::<Key>(&(a.0.as_str(), a.1.as_slice(), a.2.as_deref()))),
            (&a.0, &a.1, &a.2) == (&b.0, &b.1, &b.2)
        );
    });
}

#[test]
fn ab_never_finds_abc() {
    let ab = prefix::<(String, i64)>(&("ab",));
    assert!(key::<(String, i64)>(&("ab", i64::MIN), true).starts_with(&ab));
    assert!(key::<(String, i64)>(&("ab", i64::MAX), true).starts_with(&ab));
    assert!(!key::<(String, i64)>(&("abc", 0_i64), true).starts_with(&ab));
    assert!(!key::<(String, i64)>(&("a", 0_i64), true).starts_with(&ab));
    let ab = prefix::<(Vec<u8>, i64)>(&(b"ab",));
    assert!(key::<(Vec<u8>, i64)>(&(b"ab", 0_i64), true).starts_with(&ab));
    assert!(!key::<(Vec<u8>, i64)>(&(b"ab\0", 0_i64), true).starts_with(&ab));
    assert!(!key::<(Vec<u8>, i64)>(&(b"abc", 0_i64), true).starts_with(&ab));
}

#[test]
fn damaged_keys_are_errors_and_never_panics() {
    type Key = (Vec<u8>, Option<String>, (i16, Vec<u8>), bool);
    proptest!(ProptestConfig::with_cases(20_000), |(bytes in vec(select(vec![0_u8, 1, 0x61, 0xff]), 0..16))| {
        if let Ok(item) = Key::decode_key(&bytes) {
            prop_assert_eq!(key::<Key>(&item, true), bytes.clone(), "one value, one encoding");
        }
        let _ = Key::take_text(&mut bytes.as_slice(), true);
    });
}
