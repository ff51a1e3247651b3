//! Our attributes among others: in any order, and by any path to kproc.

use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

/// What others write: each is there once, in the order given.
fn others() -> Vec<TokenStream> {
    vec![
        quote!(#[doc = "documented"]),
        quote!(#[allow(dead_code)]),
        quote!(#[cfg_attr(test, deprecated)]),
        quote!(#[tool::marked(kproc = "x")]),
    ]
}

/// All ways to write a mark, where kproc is at `facade::kproc`.
fn spellings(mark: &TokenStream) -> Vec<TokenStream> {
    vec![
        quote!(#[#mark]),
        quote!(#[kproc::#mark]),
        quote!(#[::kproc::#mark]),
        quote!(#[kproc::prelude::#mark]),
        quote!(#[facade::kproc::#mark]),
        quote!(#[::facade::kproc::prelude::#mark]),
    ]
}

/// All orders of some things.
fn permutations<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    if all.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for chosen in 0..all.len() {
        let mut rest = all.to_vec();
        let first = rest.remove(chosen);
        for mut order in permutations(&rest) {
            order.insert(0, first.clone());
            found.push(order);
        }
    }
    found
}

/// Expands the item that `make` makes of attributes: their order and spelling changes nothing but the order of the others.
fn holds_for(mark: &TokenStream, make: impl Fn(&TokenStream) -> TokenStream) -> usize {
    let options = quote!(crate = facade::kproc);
    let plain = expand(&options, &make(&quote!(#[#mark]))).to_string();
    assert!(!plain.contains("compile_error"), "{plain}");
    let mut count = 0;
    for spelling in spellings(mark) {
        let mut all = others();
        all.push(spelling.clone());
        for order in permutations(&all) {
            let mut expansion = expand(&options, &make(&quote!(#(#order)*))).to_string();
            let mut place = 0;
            for other in order
                .iter()
                .map(ToString::to_string)
                .filter(|other| *other != spelling.to_string())
            {
                let found = expansion
                    .find(&format!("{other} "))
                    .unwrap_or_else(|| panic!("{other} is lost: {expansion}"));
                assert!(found >= place, "{other} has moved: {expansion}");
                place = found;
                expansion.replace_range(found..=found + other.len(), "");
            }
            assert_eq!(expansion, plain, "by {spelling}");
            count += 1;
        }
    }
    count
}

#[test]
fn marks_stand_in_any_order_and_by_any_path() {
    let mut count = holds_for(
        &quote!(state(name = "x", changelog = false)),
        |attrs| quote!(struct A { #attrs totals: Table<String, i64>, plain: u8 }),
    );
    for mark in [
        quote!(on_message(WORDS, start = latest)),
        quote!(every("1s", stream_time)),
        quote!(on_start),
        quote!(on_stop()),
        quote!(on_schedule),
    ] {
        count += holds_for(&mark, |attrs| {
            quote! {
                impl A {
                    #attrs
                    fn marked(&mut self, ctx: &mut Context<'_>) {}
                    #[on_message(OTHER)]
                    fn other(&mut self, value: i64) {}
                }
            }
        });
    }
    assert_eq!(count, 6 * 6 * 120);
}
