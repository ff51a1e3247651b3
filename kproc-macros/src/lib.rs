//! The attribute macros of kproc. Users name them through the crate `kproc`.
//!
//! This file holds the entry points and what editors show for them; the way of an expansion is
//! `pipeline` -> `parse` -> `model` -> `check` -> `expand`. Errors are collected on the way, and
//! the user's item comes out in any case.

mod attributes;
mod check;
mod derive;
mod duration;
mod errors;
mod expand;
mod model;
mod parse;
mod pipeline;

use attributes::Helper;
use proc_macro::TokenStream;

/// Marks a processor.
#[proc_macro_attribute]
pub fn processor(options: TokenStream, item: TokenStream) -> TokenStream {
    pipeline::expand(&options.into(), &item.into()).into()
}

/// State.
#[proc_macro_attribute]
pub fn state(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::State, &item.into()).into()
}

/// Message.
#[proc_macro_attribute]
pub fn on_message(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnMessage, &item.into()).into()
}

/// Every.
#[proc_macro_attribute]
pub fn every(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::Every, &item.into()).into()
}

/// Start.
#[proc_macro_attribute]
pub fn on_start(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnStart, &item.into()).into()
}

/// Stop.
#[proc_macro_attribute]
pub fn on_stop(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnStop, &item.into()).into()
}

/// Makes a type the key or value of a record: `#[derive(Codec)] #[codec(json)]`, or `postcard`.
///
/// What the bytes look like is decided by the type's own `#[derive(Serialize, Deserialize)]`; this
/// derive says in which format they are. The type may have parameters, and lifetimes: then a
/// handler gets an item that borrows from the record, such as `Order<'_>`.
///
/// - `json`: readable by everyone. Text with escapes in it cannot be lent as `&str`: such a field
///   is a `String`, or a `Cow<'a, str>` with `#[serde(borrow)]`.
/// - `postcard`: small and fast, for types that do not change.
/// - `crate = path`: where kproc is, if not at `::kproc`.
#[proc_macro_derive(Codec, attributes(codec))]
pub fn codec(item: TokenStream) -> TokenStream {
    derive::codec(item.into()).into()
}

/// Schedule.
#[proc_macro_attribute]
pub fn on_schedule(_: TokenStream, item: TokenStream) -> TokenStream {
    attributes::stray(Helper::OnSchedule, &item.into()).into()
}
