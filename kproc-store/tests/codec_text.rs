//! The text form of every codec: what it looks like, that it comes back exactly, and what it refuses.

#![allow(clippy::needless_pass_by_value, reason = "values read better at the call")]

use std::fmt::Debug;

use bytes::Bytes;
use kproc_store::{
    Timestamp,
    codec::{self, Codec, Encode, Json, Postcard, Text},
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

fn encoded<C: Codec>(value: &(impl Encode<C> + ?Sized)) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out).unwrap();
    out
}

fn fed<C: Codec>(text: &Text) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    C::from_text(text, &mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// `value` is shown as `text`, and `text` is read as `value`.
#[track_caller]
fn shown<C: Codec>(value: &(impl Encode<C> + ?Sized), text: Text) {
    let bytes = encoded::<C>(value);
    assert_eq!(C::to_text(&bytes).unwrap(), text);
    assert_eq!(fed::<C>(&text).unwrap(), bytes);
}

#[track_caller]
fn refused<C: Codec>(text: Text, error: &str) {
    assert_eq!(fed::<C>(&text).unwrap_err(), error);
}

#[test]
fn what_it_looks_like() {
    shown::<String>("Zwölf\n€\0", json!("Zwölf\n€\0"));
    shown::<i64>(&-5_i64, json!(-5));
    shown::<u64>(&u64::MAX, json!(18_446_744_073_709_551_615_u64));
    shown::<bool>(&true, json!(true));
    shown::<f64>(&1.5, json!(1.5));
    shown::<f64>(&-0.0, json!(-0.0));
    shown::<f32>(&0.1_f32, json!(0.1));
    shown::<f32>(&16_777_217_f32, json!(16_777_216.0));
    shown::<f64>(&f64::INFINITY, json!("Infinity"));
    shown::<f32>(&f32::NEG_INFINITY, json!("-Infinity"));
    shown::<f64>(&f64::NAN, json!("NaN"));
    shown::<f32>(&f32::NAN, json!("NaN"));
    shown::<f64>(
        &f64::from_bits(0xfff8_0000_0000_0001),
        json!("NaN:fff8000000000001"),
    );
    shown::<f32>(&f32::from_bits(0x7fc0_0001), json!("NaN:7fc00001"));
    shown::<Vec<u8>>(b"\x00\xffA", json!("00ff41"));
    shown::<Bytes>(b"", json!(""));
    shown::<[u8; 2]>(b"\x0a\xb0", json!("0ab0"));
    let uuid = Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
    shown::<Uuid>(&uuid, json!("67e55044-10b1-426f-9247-bb680e5fe0c8"));
    shown::<Timestamp>(&Timestamp::EPOCH, json!("1970-01-01T00:00:00Z"));
    shown::<Timestamp>(
        &Timestamp::from_millis(1_357_035_300_001),
        json!("2013-01-01T10:15:00.001Z"),
    );
    shown::<Timestamp>(&Timestamp::from_millis(-1), json!("1969-12-31T23:59:59.999Z"));
    // The calendar ends before the milliseconds do.
    shown::<Timestamp>(&Timestamp::from_millis(i64::MAX), json!(i64::MAX));
    shown::<(String, i64)>(&("EWR", 7_i64), json!(["EWR", 7]));
    shown::<(Option<u8>, (bool, Vec<u8>))>(&(None::<u8>, (true, b"\x01")), json!([null, [true, "01"]]));
    shown::<(Option<Option<u8>>, u8)>(&(Some(None::<u8>), 1_u8), json!([[null], 1]));
    shown::<(Option<Option<u8>>, u8)>(&(None::<Option<u8>>, 1_u8), json!([null, 1]));
}

#[test]
fn other_ways_to_write_it() {
    assert_eq!(fed::<f64>(&json!(2)).unwrap(), encoded::<f64>(&2.0));
    assert_eq!(fed::<Vec<u8>>(&json!("00FF")).unwrap(), [0, 0xff]);
    assert_eq!(
        fed::<Timestamp>(&json!(5)).unwrap(),
        encoded::<Timestamp>(&Timestamp::from_millis(5))
    );
    assert_eq!(
        fed::<Timestamp>(&json!("2013-01-01T12:15:00+02:00")).unwrap(),
        fed::<Timestamp>(&json!("2013-01-01T10:15:00Z")).unwrap()
    );
}

#[test]
fn b12_no_number_is_rounded() {
    assert_eq!(
        fed::<i64>(&json!(9_007_199_254_740_993_i64)).unwrap(),
        encoded::<i64>(&9_007_199_254_740_993)
    );
    assert_eq!(
        fed::<u64>(&json!(18_446_744_073_709_551_615_u64)).unwrap(),
        [0xff; 8]
    );
    let parsed = |text: &str| serde_json::from_str::<Text>(text).unwrap();
    refused::<u64>(
        parsed("18446744073709551616"),
        "u64: wants a whole number from 0 to 18446744073709551615, got 1.8446744073709552e+19",
    );
    refused::<u64>(
        parsed("-1"),
        "u64: wants a whole number from 0 to 18446744073709551615, got -1",
    );
    refused::<u32>(
        parsed("1e3"),
        "u32: wants a whole number from 0 to 4294967295, got 1000.0",
    );
    refused::<i8>(
        parsed("128"),
        "i8: wants a whole number from -128 to 127, got 128",
    );
    refused::<i16>(
        parsed("-32769"),
        "i16: wants a whole number from -32768 to 32767, got -32769",
    );
    refused::<i64>(
        parsed("1.0"),
        "i64: wants a whole number from -9223372036854775808 to 9223372036854775807, got 1.0",
    );
    assert!(fed::<i64>(&parsed("9223372036854775808")).is_err());
    assert!(fed::<i32>(&parsed("\"1\"")).is_err());
    // A whole number that no f64 is.
    assert!(fed::<f64>(&parsed("9007199254740993")).is_err());
    assert!(fed::<f64>(&parsed("9007199254740992")).is_ok());
    assert!(fed::<f64>(&parsed("18446744073709551615")).is_err());
    assert!(fed::<f64>(&parsed("-9223372036854775808")).is_ok());
    assert!(fed::<f32>(&parsed("16777217")).is_err());
    assert!(fed::<f32>(&parsed("1e39")).is_err());
}

#[test]
fn refusals_say_what_is_wanted() {
    refused::<String>(json!(1), "string: wants a string, got 1");
    refused::<bool>(json!("true"), "bool: wants true or false, got \"true\"");
    refused::<Vec<u8>>(
        json!("abc"),
        "bytes: wants two hex digits for each byte, got \"abc\"",
    );
    refused::<Vec<u8>>(
        json!("zz"),
        "bytes: wants two hex digits for each byte, got \"zz\"",
    );
    refused::<[u8; 2]>(json!("ab"), "bytes[2]: wants 2 bytes in hex, got \"ab\"");
    refused::<(String, u8)>(json!(["a"]), "(string, u8): wants an array of 2, got [\"a\"]");
    refused::<(String, u8)>(
        json!(["a", 256]),
        "(string, u8): part 2: u8: wants a whole number from 0 to 255, got 256",
    );
    refused::<()>(json!(0), "void: wants null, got 0");
    for wrong in [
        json!("NaN:0000000000000000"),
        json!("NaN:1"),
        json!("nan"),
        json!(null),
        json!("1.5"),
    ] {
        assert!(fed::<f64>(&wrong).is_err(), "{wrong}");
    }
    for wrong in [
        json!("2013-01-01"),
        json!("2013-01-01T10:15:00"),
        json!("2013-01-01T10:15:00.0001Z"),
        json!(1.5),
    ] {
        assert!(fed::<Timestamp>(&wrong).is_err(), "{wrong}");
    }
    for wrong in [
        "67e5504410b1426f9247bb680e5fe0c8",
        "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
        "",
    ] {
        assert!(fed::<Uuid>(&json!(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn a_long_text_is_cut_in_the_error() {
    let error = fed::<i64>(&json!("ä".repeat(5_000))).unwrap_err();
    assert!(error.len() < 400 && error.ends_with("ä…"), "{error}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plane {
    tail: String,
    seats: Option<u64>,
    length: f32,
}

#[test]
fn foreign_types_are_their_json() {
    let plane = || Plane {
        tail: "N1\"".into(),
        seats: Some(9_007_199_254_740_993),
        length: 0.1,
    };
    let text = json!({"tail": "N1\"", "seats": 9_007_199_254_740_993_u64, "length": 0.1});
    assert_eq!(
        encoded::<Json<Plane>>(&plane()),
        br#"{"tail":"N1\"","seats":9007199254740993,"length":0.1}"#
    );
    assert_eq!(
        Json::<Plane>::to_text(&encoded::<Json<Plane>>(&plane())).unwrap(),
        text
    );
    assert_eq!(
        Json::<Plane>::decode(&fed::<Json<Plane>>(&text).unwrap()).unwrap(),
        plane()
    );
    assert_eq!(
        Postcard::<Plane>::decode(&fed::<Postcard<Plane>>(&text).unwrap()).unwrap(),
        plane()
    );
    let wrong = json!({"tail": 1, "length": 0.1});
    assert!(
        fed::<Json<Plane>>(&wrong)
            .unwrap_err()
            .starts_with("json: invalid type: integer `1`")
    );
    assert!(
        fed::<Postcard<Plane>>(&wrong)
            .unwrap_err()
            .starts_with("postcard: invalid type: integer `1`")
    );
}

#[test]
fn timestamps_within_other_types() {
    let time = Timestamp::from_millis(1_357_035_300_001);
    shown::<Json<(Timestamp, Timestamp)>>(
        &(time, Timestamp::from_millis(i64::MIN)),
        json!(["2013-01-01T10:15:00.001Z", i64::MIN]),
    );
    assert_eq!(Json::<Timestamp>::decode(b"1357035300001").unwrap(), time);
    assert_eq!(
        Json::<Timestamp>::decode(b"-1").unwrap(),
        Timestamp::from_millis(-1)
    );
    assert_eq!(encoded::<Postcard<Timestamp>>(&Timestamp::from_millis(1)), [2]);
    shown::<Postcard<Timestamp>>(&time, json!("2013-01-01T10:15:00.001Z"));
    for wrong in [
        "1.0",
        "\"2013-01-01\"",
        "\"2013-01-01T10:15:00.0001Z\"",
        "18446744073709551615",
        "null",
    ] {
        assert!(Json::<Timestamp>::decode(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn b11_json_with_numbers_that_no_text_form_holds() {
    let wide = |json: &str| {
        codec::json::to_text(json.as_bytes())
            .err()
            .map(|error| error.to_string())
    };
    let too_wide = "json: the integer 123456789012345678901 has more than 64 bits";
    for json in [
        "123456789012345678901",
        "[1, 123456789012345678901]",
        "{\"a\\\"1\": {\"b\": 123456789012345678901 }}",
    ] {
        assert_eq!(wide(json).as_deref(), Some(too_wide), "{json}");
    }
    assert!(wide("-9223372036854775809").is_some());
    for json in [
        "18446744073709551615",
        "-9223372036854775808",
        "1.23456789012345678901",
        "1e100",
        "\"123456789012345678901\"",
        "{\"\\\\\": \"\\\"123456789012345678901\\\\\"}",
    ] {
        assert_eq!(wide(json), None, "{json}");
    }
}

/// Bytes to text, through JSON as written to a file, and back.
#[track_caller]
fn round_trip<C: Codec>(value: &(impl Encode<C> + Debug)) {
    let bytes = encoded::<C>(value);
    let line = C::to_text(&bytes).unwrap().to_string();
    let text: Text = serde_json::from_str(&line).unwrap();
    assert_eq!(fed::<C>(&text).unwrap(), bytes, "{value:?} by way of {line}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn everything_comes_back(
        text in any::<String>(), bytes in any::<Vec<u8>>(), fixed in any::<[u8; 5]>(), double in any::<u64>(),
        single in any::<u32>(), long in any::<i64>(), unsigned in any::<u64>(), small in any::<i8>(), flag in any::<bool>(),
        uuid in any::<u128>(), nested in any::<Option<Option<Option<bool>>>>(),
    ) {
        round_trip::<String>(&text);
        round_trip::<Vec<u8>>(&bytes);
        round_trip::<[u8; 5]>(&fixed);
        round_trip::<f64>(&f64::from_bits(double));
        round_trip::<f64>(&(long as f64));
        round_trip::<f32>(&f32::from_bits(single));
        round_trip::<i64>(&long);
        round_trip::<u64>(&unsigned);
        round_trip::<i8>(&small);
        round_trip::<bool>(&flag);
        round_trip::<Uuid>(&Uuid::from_u128(uuid));
        round_trip::<Timestamp>(&Timestamp::from_millis(long));
        round_trip::<Timestamp>(&Timestamp::from_millis(long % 400_000_000_000_000));
        round_trip::<(Option<Option<Option<bool>>>, Option<Vec<u8>>, f64)>(&(nested, Some(bytes), f64::from_bits(double)));
        round_trip::<Json<(String, f64, Option<u64>)>>(&(text.clone(), long as f64 / 7.0, Some(unsigned)));
        round_trip::<Postcard<(String, f64, Option<u64>)>>(&(text, long as f64 / 7.0, Some(unsigned)));
    }
}
