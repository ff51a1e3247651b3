//! `#[derive(Codec)]` on the types that users write.

use std::{borrow::Cow, fmt::Debug};

use kproc::{
    Codec, Topic,
    codec::{Data, Encode, FromItem, Own},
};
use serde::{Deserialize, Serialize};

/// Encodes, decodes and goes through the text form; gives the bytes. (Items of different lifetimes have no `==`,
/// but the same `Debug`.)
#[track_caller]
fn round_trip<C>(value: &(impl Encode<C> + Debug)) -> Vec<u8>
where
    C: Codec,
    for<'a> C::Item<'a>: Debug,
{
    let shown = format!("{value:?}");
    let mut bytes = Vec::new();
    value.encode(&mut bytes).unwrap();
    assert_eq!(format!("{:?}", C::decode(&bytes).unwrap()), shown);

    let text = C::to_text(&bytes).unwrap();
    let mut again = b"before".to_vec();
    C::from_text(&text, &mut again).unwrap();
    let again = again.strip_prefix(b"before").unwrap();
    assert_eq!(format!("{:?}", C::decode(again).unwrap()), shown);
    bytes
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
struct Payment {
    cents: u64,
    currency: String,
    note: Option<String>,
}

const PAYMENTS: Topic<String, Payment> = Topic::new("payments");

#[test]
fn json_of_an_owned_struct() {
    let payment = Payment {
        cents: u64::MAX,
        currency: "EUR".into(),
        note: None,
    };
    let same = Payment {
        cents: u64::MAX,
        currency: "EUR".into(),
        note: None,
    };
    let bytes = round_trip::<Payment>(&payment);
    assert_eq!(
        bytes,
        br#"{"cents":18446744073709551615,"currency":"EUR","note":null}"#
    );
    assert_eq!(Payment::name(), "json");
    assert_eq!(PAYMENTS.name(), "payments");
    assert_eq!(Payment::own(payment), same);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Order<'a> {
    sku: &'a str,
    #[serde(borrow)]
    note: Cow<'a, str>,
    cents: u64,
}

#[test]
fn postcard_lends_from_the_record() {
    let order = Order {
        sku: "tea",
        note: "wrap it".into(),
        cents: 500,
    };
    let bytes = round_trip::<Order<'_>>(&order);
    assert_eq!(bytes, b"\x03tea\x07wrap it\xf4\x03");
    let item = <Order<'static> as Codec>::decode(&bytes).unwrap();
    assert!(
        bytes.as_ptr_range().contains(&item.sku.as_ptr()),
        "the text is lent, not copied"
    );
    assert!(matches!(item.note, Cow::Borrowed(_)));
    // A handler asks for `Order<'_>` where the topic holds `Order<'static>`.
    let asked = <Order<'_> as FromItem<'_, Order<'static>>>::from_item(item);
    assert_eq!(asked.cents, 500);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
struct Line<'a, 'b: 'a> {
    left: &'a str,
    right: &'b str,
}

#[test]
fn several_lifetimes_are_the_records() {
    let line = Line {
        left: "a",
        right: "b",
    };
    let bytes = round_trip::<Line<'_, '_>>(&line);
    assert_eq!(bytes, br#"{"left":"a","right":"b"}"#);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
struct Pair<L, R = L>
where
    L: Clone,
{
    left: L,
    right: R,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Named<'a, T: Clone, const N: usize> {
    name: &'a str,
    #[serde(bound = "T: Serialize + for<'x> Deserialize<'x>")]
    value: T,
}

/// Generic code asks what serde asks.
fn pair_bytes<T>(left: T, right: T) -> Vec<u8>
where
    T: Clone + Serialize + serde::de::DeserializeOwned + 'static,
{
    let mut bytes = Vec::new();
    Encode::<Pair<T>>::encode(&Pair { left, right }, &mut bytes).unwrap();
    assert!(Pair::<T>::decode(&bytes).is_ok());
    bytes
}

#[test]
fn type_and_const_parameters() {
    let pair = Pair {
        left: 1_u8,
        right: "x".to_owned(),
    };
    let bytes = round_trip::<Pair<u8, String>>(&pair);
    assert_eq!(bytes, br#"{"left":1,"right":"x"}"#);
    assert_eq!(pair_bytes(1.5, -2.0), br#"{"left":1.5,"right":-2.0}"#);
    let named = Named::<u8, 3> { name: "n", value: 7 };
    assert_eq!(round_trip::<Named<'_, u8, 3>>(&named), b"\x01n\x07");
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(postcard)]
enum Event<'a> {
    Opened,
    Renamed(&'a str),
    Moved { x: i32, y: i32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    Dot,
    Circle { radius: f64 },
}

#[test]
fn enums() {
    assert_eq!(round_trip::<Event<'_>>(&Event::Opened), [0]);
    assert_eq!(round_trip::<Event<'_>>(&Event::Renamed("ab")), b"\x01\x02ab");
    assert_eq!(round_trip::<Event<'_>>(&Event::Moved { x: -1, y: 2 }), [2, 1, 4]);
    let circle = || Shape::Circle { radius: 0.1 };
    assert_eq!(
        round_trip::<Shape>(&circle()),
        br#"{"kind":"circle","radius":0.1}"#
    );
    assert_eq!(round_trip::<Shape>(&Shape::Dot), br#"{"kind":"dot"}"#);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
struct Meters(f64);

#[test]
fn unit_and_tuple_structs() {
    assert_eq!(round_trip::<Unit>(&Unit), b"null");
    assert_eq!(round_trip::<Meters>(&Meters(1.5)), b"1.5");
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
#[allow(non_camel_case_types)]
struct r#type {
    r#match: u8,
}

#[test]
fn a01_raw_identifiers() {
    assert_eq!(round_trip::<r#type>(&r#type { r#match: 1 }), br#"{"match":1}"#);
}

mod facade {
    pub(crate) use kproc as streams;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json, crate = facade::streams)]
struct Elsewhere(u8);

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(postcard, crate = "crate::facade::streams")]
struct InQuotes(u8);

#[test]
fn a09_kproc_under_another_path() {
    assert_eq!(round_trip::<Elsewhere>(&Elsewhere(1)), b"1");
    assert_eq!(round_trip::<InQuotes>(&InQuotes(1)), b"\x01");
}

/// Types that shadow the prelude change nothing.
mod a10_shadows {
    #![allow(dead_code)]

    pub(super) struct Result;
    pub(super) struct Vec;
    pub(super) struct Option;
    pub(super) mod std {}
    pub(super) mod core {}

    #[derive(serde::Serialize, serde::Deserialize, kproc::Codec)]
    #[codec(postcard)]
    pub(super) struct Shadowed<'a> {
        pub(super) a: i64,
        pub(super) b: &'a [u8],
    }
}

#[test]
fn a10_names_of_the_prelude_may_be_taken() {
    let mut bytes = Vec::new();
    Encode::<a10_shadows::Shadowed<'_>>::encode(&a10_shadows::Shadowed { a: 1, b: b"x" }, &mut bytes)
        .unwrap();
    assert_eq!(
        <a10_shadows::Shadowed<'_> as Codec>::decode(&bytes).unwrap().b,
        b"x"
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Codec)]
#[codec(json)]
struct Note<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    by: &'a str,
}

#[test]
fn json_lends_text_without_escapes() {
    let bytes = br#"{"text":"plain","by":"me"}"#;
    assert!(matches!(
        <Note<'_> as Codec>::decode(bytes).unwrap().text,
        Cow::Borrowed("plain")
    ));
    let bytes = br#"{"text":"two\nlines","by":"me"}"#;
    assert_eq!(<Note<'_> as Codec>::decode(bytes).unwrap().text, "two\nlines");
    let error = <Note<'_> as Codec>::decode(br#"{"text":"","by":"a\tb"}"#)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("json: ") && error.contains("borrowed string"),
        "{error}"
    );
    // Feeding it from a text form meets the same limit before the record is written, not in the handler.
    let text = serde_json::json!({"text": "", "by": "a\tb"});
    assert!(<Note<'_> as Codec>::from_text(&text, &mut Vec::new()).is_err());
}

#[test]
fn b11_what_the_type_ignores_may_be_anything() {
    let bytes = br#"{"cents":1,"huge":123456789012345678901,"currency":"EUR","deep":[{"\"":[]}]}"#;
    assert_eq!(Payment::decode(bytes).unwrap().cents, 1);
    // The text form cannot hold it, and must not round it.
    let error = Payment::to_text(bytes).unwrap_err().to_string();
    assert_eq!(
        error,
        "json: the integer 123456789012345678901 has more than 64 bits"
    );
}

#[test]
fn b12_integers_are_exact_or_an_error() {
    let cents = |number: &str| {
        let json = format!(r#"{{"cents":{number},"currency":"EUR"}}"#);
        let decoded = Payment::decode(json.as_bytes()).map(|payment| payment.cents);
        let text: serde_json::Value = serde_json::from_str(&json).unwrap();
        let fed = Payment::from_text(&text, &mut Vec::new());
        assert_eq!(decoded.is_ok(), fed.is_ok(), "{number}");
        decoded
    };
    assert_eq!(cents("9007199254740993").unwrap(), 9_007_199_254_740_993);
    assert_eq!(cents("18446744073709551615").unwrap(), u64::MAX);
    for wrong in ["18446744073709551616", "-1", "1e3", "1.0", "\"1\""] {
        assert!(cents(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn text_keeps_what_the_type_ignores() {
    let text = serde_json::json!({"cents": 1, "currency": "EUR", "more": [1, 2]});
    let mut bytes = Vec::new();
    Payment::from_text(&text, &mut bytes).unwrap();
    assert_eq!(Payment::to_text(&bytes).unwrap(), text);
}

#[test]
fn errors_say_what_is_missing() {
    let error = Payment::decode(br#"{"cents":1}"#).unwrap_err().to_string();
    assert_eq!(
        error,
        "json: missing field `currency` at line 1 column 11 (of 11 bytes)"
    );
    let error = Payment::from_text(&serde_json::json!({}), &mut Vec::new())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "json: missing field `cents` at line 1 column 2 (of 2 bytes)"
    );
    let error = <Order<'_> as Codec>::decode(b"\x09tea").unwrap_err().to_string();
    assert!(
        error.starts_with("postcard: ") && error.ends_with(" (of 4 bytes)"),
        "{error}"
    );
    let error = Shape::decode(br#"{"kind":"square"}"#).unwrap_err().to_string();
    assert!(error.contains("unknown variant `square`"), "{error}");
}

#[test]
fn a_derived_item_is_its_own_item() {
    fn item<T: Data<Item<'static> = T>>() {}
    item::<Payment>();
    item::<Shape>();
}
