//! A codec that comes out of a `macro_rules!` macro.

#![deny(warnings)]

use kproc::{Codec, codec::Encode};
use serde::{Deserialize, Serialize};

macro_rules! record {
    ($name:ident, $format:ident, $field:ident: $ty:ty) => {
        #[derive(Serialize, Deserialize, Codec)]
        #[codec($format)]
        struct $name {
            $field: $ty,
        }
    };
    ($format:ident) => {
        #[derive(Serialize, Deserialize, Codec)]
        #[codec($format)]
        struct Fixed<T> {
            value: T,
        }
    };
}

record!(Order, json, cents: u64);
record!(Payment, postcard, cents: u64);
record!(postcard);

#[test]
fn builds() {
    let mut bytes = Vec::new();
    Encode::<Order>::encode(&Order { cents: 1 }, &mut bytes).expect("it can be written");
    assert_eq!(bytes, br#"{"cents":1}"#);
    assert_eq!(Payment::decode(&[1]).expect("it can be read").cents, 1);
    assert_eq!(Fixed::<u64>::decode(&[1]).expect("it can be read").value, 1);
}
