//! Structs, tuples, enums, parameters and lifetimes.

#![deny(warnings)]

use kproc::{Codec, codec::Encode, prelude::*};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Unit;

#[derive(Serialize, Deserialize, Codec)]
#[codec(json)]
struct Tuple(u64, String);

#[derive(Serialize, Deserialize, Codec)]
#[codec(json, crate = kproc)]
enum Either<L, R = u8> {
    Left(L),
    Right { right: R },
}

#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Lent<'a, 'b, T>
where
    T: Clone,
{
    one: &'a str,
    #[serde(borrow)]
    other: Cow<'b, str>,
    more: T,
}

const UNITS: Topic<String, Unit> = Topic::new("units");
const TUPLES: Topic<Tuple, Either<u8, String>> = Topic::new("tuples");

#[test]
fn builds() {
    let _ = (UNITS, TUPLES);
    let value = Lent {
        one: "a",
        other: Cow::Borrowed("b"),
        more: 3_u8,
    };
    let mut bytes = Vec::new();
    Encode::<Lent<'_, '_, u8>>::encode(&value, &mut bytes).expect("it can be written");
    let back = <Lent<'_, '_, u8>>::decode(&bytes).expect("it can be read");
    assert_eq!((back.one, &*back.other, back.more), ("a", "b", 3));
    let _ = (
        Tuple(1, String::new()).0,
        Either::<u8>::Left(1),
        Either::<u8>::Right { right: 1 },
    );
}
