//! No warning comes from the impls of a derived codec, and no `unsafe`.

//! Clippy checks it, too.
#![deny(
    warnings,
    missing_docs,
    unused,
    nonstandard_style,
    rust_2018_idioms,
    unused_qualifications,
    let_underscore,
    single_use_lifetimes,
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    missing_debug_implementations,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unused_results,
    variant_size_differences
)]
#![forbid(unsafe_code)]

use kproc::{Codec, codec::Encode};

/// Borrows.
#[derive(Debug, serde::Serialize, serde::Deserialize, Codec)]
#[codec(postcard)]
pub(crate) struct Order<'a> {
    /// What.
    pub(crate) sku: &'a str,
}

/// Owns, and has a parameter.
#[derive(Debug, serde::Serialize, serde::Deserialize, Codec)]
#[codec(json)]
pub(crate) enum Event<T> {
    /// Yes.
    Some(T),
    /// No.
    None,
}

#[test]
fn builds() {
    let mut bytes = Vec::new();
    Encode::<Order<'_>>::encode(&Order { sku: "tea" }, &mut bytes).expect("it can be written");
    assert_eq!(
        <Order<'_> as Codec>::decode(&bytes).expect("it can be read").sku,
        "tea"
    );
    bytes.clear();
    Encode::<Event<u8>>::encode(&Event::Some(1), &mut bytes).expect("it can be written");
    assert_eq!(bytes, br#"{"Some":1}"#);
    assert!(matches!(Event::<u8>::decode(br#""None""#), Ok(Event::None)));
}
