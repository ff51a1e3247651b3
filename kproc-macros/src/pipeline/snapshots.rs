//! Five typical processors, and what becomes of them: `expansions/<name>.rs` and `expansions/<name>.expanded.rs`.
//!
//! After a change: `UPDATE_EXPANSIONS=1 cargo test -p kproc-macros snapshots`, and read the difference: it should be what a
//! person would have written.

use std::{env, fs, path::PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Item, Meta};

use super::expand;

const NAMES: [&str; 5] = ["totals", "checkout", "reminders", "keep", "conditional"];

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/expansions")).join(name)
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The program after our macro, as the compiler would print it.
fn expanded(source: &str) -> String {
    let file = syn::parse_file(source).expect("a source is Rust");
    let tokens = file.items.into_iter().map(expanded_item).collect();
    prettyplease::unparse(&syn::parse2(tokens).expect("an expansion is a list of items"))
}

fn expanded_item(mut item: Item) -> TokenStream {
    let attrs = match &mut item {
        Item::Struct(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        _ => return item.into_token_stream(),
    };
    let is_ours = |attr: &Attribute| attr.path().is_ident("processor");
    let number = attrs.iter().position(is_ours).expect("a source is a processor");
    let options = match attrs.remove(number).meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    expand(&options, &item.into_token_stream())
}

#[test]
fn snapshots_are_what_the_macro_makes() {
    for name in NAMES {
        let actual = expanded(&read(&file(&format!("{name}.rs"))));
        let path = file(&format!("{name}.expanded.rs"));
        if env::var_os("UPDATE_EXPANSIONS").is_some() {
            fs::write(&path, &actual).expect("the snapshot can be written");
        }
        assert_eq!(
            actual,
            read(&path),
            "the expansion of {name} has changed: see this file's header"
        );
    }
}

/// The page for readers shows the first of them, as it is.
#[test]
fn the_page_on_expansions_is_true() {
    let page = read(&PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/expansion.md"
    )));
    for name in ["totals.rs", "totals.expanded.rs"] {
        assert!(
            page.contains(read(&file(name)).trim()),
            "docs/expansion.md does not show {name} as it is"
        );
    }
}
