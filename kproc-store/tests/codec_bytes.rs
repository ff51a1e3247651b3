//! The bytes of the codecs, byte for byte: what Kafka's own Java serializers write, and what is not theirs.

#![allow(clippy::needless_pass_by_value, reason = "values read better at the call")]

use bytes::Bytes;
use kproc_store::{
    Timestamp,
    codec::{Codec, Data, Encode, EncodeKey, Json, KeyCodec, Postcard},
};
use uuid::Uuid;

fn encoded<C: Codec>(value: &(impl Encode<C> + ?Sized)) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out).unwrap();
    out
}

fn key<C: KeyCodec>(value: &(impl EncodeKey<C> + ?Sized)) -> Vec<u8> {
    let mut out = Vec::new();
    value.put(&mut out, true).unwrap();
    out
}

/// `bytes` are `value`, read and written.
#[track_caller]
fn vector<'a, C>(value: <C as Data>::Item<'a>, bytes: &'a [u8])
where
    C: Codec,
    C::Item<'a>: Encode<C> + PartialEq + std::fmt::Debug,
{
    assert_eq!(encoded::<C>(&value), bytes);
    assert_eq!(C::decode(bytes).unwrap(), value);
}

#[track_caller]
fn refused<C: Codec>(bytes: &[u8], error: &str) {
    match C::decode(bytes) {
        Ok(_) => panic!("{} read {bytes:02x?}", C::name()),
        Err(refused) => assert_eq!(refused.to_string(), error),
    }
}

#[test]
fn string_serializer() {
    vector::<String>("", b"");
    vector::<String>("plum", b"plum");
    vector::<String>("Zwölf €", b"Zw\xc3\xb6lf \xe2\x82\xac");
    vector::<String>("a\0b", b"a\0b");
    vector::<String>("😀", b"\xf0\x9f\x98\x80");
}

#[test]
fn short_integer_and_long_serializers() {
    vector::<i16>(0, &[0, 0]);
    vector::<i16>(1, &[0, 1]);
    vector::<i16>(-2, &[0xff, 0xfe]);
    vector::<i16>(i16::MIN, &[0x80, 0]);
    vector::<i32>(1, &[0, 0, 0, 1]);
    vector::<i32>(-1, &[0xff; 4]);
    vector::<i32>(305_419_896, &[0x12, 0x34, 0x56, 0x78]);
    vector::<i64>(1, &[0, 0, 0, 0, 0, 0, 0, 1]);
    vector::<i64>(-1, &[0xff; 8]);
    vector::<i64>(i64::MIN, &[0x80, 0, 0, 0, 0, 0, 0, 0]);
    vector::<i64>(9_007_199_254_740_993, &[0, 0x20, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn integers_without_a_java_serializer() {
    vector::<i8>(-128, &[0x80]);
    vector::<u8>(255, &[0xff]);
    vector::<u16>(0x1234, &[0x12, 0x34]);
    vector::<u32>(u32::MAX, &[0xff; 4]);
    vector::<u64>(18_446_744_073_709_551_615, &[0xff; 8]);
}

#[test]
fn float_and_double_serializers() {
    vector::<f32>(1.0, &[0x3f, 0x80, 0, 0]);
    vector::<f32>(-2.5, &[0xc0, 0x20, 0, 0]);
    vector::<f64>(1.0, &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    vector::<f64>(-0.1, &[0xbf, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]);
    vector::<f64>(f64::INFINITY, &[0x7f, 0xf0, 0, 0, 0, 0, 0, 0]);
    // The one NaN of `doubleToLongBits` and of `Float.NaN`.
    assert_eq!(encoded::<f64>(&f64::NAN), [0x7f, 0xf8, 0, 0, 0, 0, 0, 0]);
    assert_eq!(encoded::<f32>(&f32::NAN), [0x7f, 0xc0, 0, 0]);
    assert_eq!(encoded::<f64>(&-0.0), [0x80, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn uuid_serializer_writes_text() {
    let uuid = Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
    vector::<Uuid>(uuid, b"67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert_eq!(
        Uuid::decode(b"67E55044-10B1-426F-9247-BB680E5FE0C8").unwrap(),
        uuid
    );
    refused::<Uuid>(uuid.as_bytes(), "uuid: wants 36 bytes of text, got 16 bytes");
    refused::<Uuid>(
        b"67e5504410b1426f9247bb680e5fe0c8",
        "uuid: wants 36 bytes of text, got 32 bytes",
    );
    assert!(Uuid::decode(b"67e5504410b1426f9247bb680e5fe0c80000").is_err());
    assert!(Uuid::decode(b"67e55044-10b1-426f-9247-bb680e5fe0cg").is_err());
    assert_eq!(key::<Uuid>(&uuid), uuid.as_bytes());
}

#[test]
fn bytes_and_byte_array_serializers() {
    vector::<Vec<u8>>(b"", b"");
    vector::<Vec<u8>>(b"\x00\xff", b"\x00\xff");
    vector::<Bytes>(b"\x00\xff", b"\x00\xff");
    vector::<[u8; 3]>(b"abc", b"abc");
    assert_eq!(encoded::<Vec<u8>>(b"abc"), b"abc");
    assert_eq!(encoded::<Bytes>(&vec![1, 2]), [1, 2]);
    refused::<[u8; 3]>(b"ab", "bytes[3]: wants 3 bytes, got 2 bytes");
}

#[test]
fn boolean_serializer_is_strict() {
    vector::<bool>(false, &[0]);
    vector::<bool>(true, &[1]);
    refused::<bool>(&[2], "bool: wants the byte 0 or 1, got 2");
    refused::<bool>(&[], "bool: wants 1 byte, got 0 bytes");
    refused::<bool>(&[1, 0], "bool: wants 1 byte, got 2 bytes");
}

#[test]
fn void_serializer_knows_only_null() {
    refused::<()>(&[], "void: wants null, got 0 bytes");
    refused::<()>(b"x", "void: wants null, got 1 byte");
}

#[test]
fn timestamps_are_longs() {
    vector::<Timestamp>(Timestamp::from_millis(1_000), &[0, 0, 0, 0, 0, 0, 0x03, 0xe8]);
    vector::<Timestamp>(Timestamp::from_millis(-1), &[0xff; 8]);
    refused::<Timestamp>(&[0; 4], "timestamp: wants 8 bytes, got 4 bytes");
}

#[test]
fn b08_text_that_is_not_utf8() {
    refused::<String>(
        b"ok\xff\xfe\x00",
        "string: wants UTF-8, got 5 bytes with 0xff at byte 2",
    );
    refused::<String>(
        b"ok\xe2\x82",
        "string: wants UTF-8, got 4 bytes with 0xe2 at byte 2",
    );
}

#[test]
fn b13_numbers_of_another_width() {
    for size in [0, 1, 3, 5, 8, 9] {
        let got = if size == 1 {
            "1 byte".to_owned()
        } else {
            format!("{size} bytes")
        };
        refused::<i32>(&vec![1; size], &format!("i32: wants 4 bytes, got {got}"));
    }
    for size in [0, 3, 4, 5, 7, 9] {
        refused::<i64>(&vec![1; size], &format!("i64: wants 8 bytes, got {size} bytes"));
        refused::<u64>(&vec![1; size], &format!("u64: wants 8 bytes, got {size} bytes"));
        refused::<f64>(&vec![1; size], &format!("f64: wants 8 bytes, got {size} bytes"));
    }
    refused::<i8>(&[], "i8: wants 1 byte, got 0 bytes");
    refused::<u16>(&[1, 2, 3], "u16: wants 2 bytes, got 3 bytes");
    refused::<f32>(&[1; 8], "f32: wants 4 bytes, got 8 bytes");
}

#[test]
fn keys_flip_the_sign() {
    assert_eq!(key::<i8>(&-128), [0]);
    assert_eq!(key::<i64>(&0), [0x80, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(key::<i64>(&-1), [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(key::<u16>(&1), [0, 1]);
    assert_eq!(key::<f64>(&0.0), [0x80, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        key::<f64>(&-0.0),
        [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
    );
}

#[test]
fn tuples_end_their_parts() {
    type Key = (String, Vec<u8>, Option<i8>);
    assert_eq!(key::<Key>(&("ab", b"c", Some(1_i8))), b"ab\0c\0\0\x01\x81");
    assert_eq!(key::<Key>(&("", b"", None::<i8>)), b"\0\0\0\0");
    // Escaped, ended, and repeated as it is, so that the item can borrow.
    assert_eq!(key::<Key>(&("", b"c\0", None::<i8>)), b"\0c\0\xff\0\0c\0\0");
    assert_eq!(
        encoded::<Key>(&("ab", b"c", Some(1_i8))),
        key::<Key>(&("ab", b"c", Some(1_i8)))
    );
    // The last part needs no end.
    assert_eq!(key::<(u8, String)>(&(7, "a\0b")), b"\x07a\0b");
    assert_eq!(<(u8, String)>::decode_key(b"\x07a\0b").unwrap(), (7, "a\0b"));
}

#[test]
fn tuples_say_which_part_is_wrong() {
    let wrong = <(String, i64)>::decode_key(b"ab\0\x01").unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "(string, i64): part 2: i64: wants 8 bytes, got 1 byte"
    );
    let wrong = <(u8, u8)>::decode_key(b"\x01\x02\x03").unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "(u8, u8): the value ends 1 byte before the end of its 3 bytes"
    );
    let wrong = EncodeKey::<(String, u8)>::put(&("a\0b", 1), &mut Vec::new(), true).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "(string, u8): part 1: string: text with U+0000 in it (at byte 1 of 3) can only be the last part of a key"
    );
}

#[test]
fn broken_keys_are_refused() {
    for bytes in [
        &b""[..],
        b"ab",
        b"a\0\xff",
        b"a\0\xff\0\0",
        b"a\0\xff\0\0b\0x",
        b"a\0\x01",
        b"a\0",
    ] {
        assert!(<(Vec<u8>, u8)>::decode_key(bytes).is_err(), "{bytes:02x?}");
    }
    assert!(<Option<u8>>::decode_key(b"\x02\x01").is_err());
    assert!(<Option<u8>>::decode_key(b"\x00\x01").is_err());
    assert!(<Option<u8>>::decode_key(b"").is_err());
    assert!(<(String, u8)>::decode_key(b"ab").is_err());
}

#[test]
fn json_and_postcard_use_all_bytes() {
    refused::<Postcard<u8>>(
        &[1, 2, 3],
        "postcard: the value ends 2 bytes before the end of its 3 bytes",
    );
    assert!(Json::<u8>::decode(b"1 2").is_err());
    assert!(Json::<u8>::decode(b"").is_err());
    assert!(Postcard::<u64>::decode(&[]).is_err());
    assert_eq!(Json::<u8>::decode(b" 1\n").unwrap(), 1);
}

#[test]
fn a_failed_postcard_leaves_what_was_there() {
    // Postcard cannot write a sequence of unknown length.
    struct Endless;
    impl serde::Serialize for Endless {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq(std::iter::from_fn(|| Some(1)).take_while(|_| true))
        }
    }
    let mut out = b"before".to_vec();
    assert!(kproc_store::codec::postcard::encode(&Endless, &mut out).is_err());
    assert!(out.starts_with(b"before"));
}
