//! Lints of clippy that find something in the signature of a handler. It is ours to ask for, so what they find is not the user's
//! to mend, and is allowed.
//!
//! What may be here: which of them may find something in a method. No more of them are allowed, for no `allow` may stand where a
//! user forbids the same lint.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Path, Signature, Type, parse_quote};

use crate::check;

/// The attribute for a method that is a handler.
pub(crate) fn allowed(sig: &Signature, body: &TokenTree) -> Attribute {
    let mut lints: Vec<Path> = vec![
        parse_quote!(clippy::missing_const_for_fn),
        parse_quote!(clippy::needless_pass_by_ref_mut),
        parse_quote!(clippy::same_name_method),
        parse_quote!(clippy::single_call_fn),
    ];
    let (lent, owned): (Vec<_>, Vec<_>) =
        check::arguments(sig).partition(|argument| matches!(*argument.ty, Type::Reference(_)));
    if !owned.is_empty() {
        lints.push(parse_quote!(clippy::large_types_passed_by_value));
        lints.push(parse_quote!(clippy::needless_pass_by_value));
    }
    if !lent.is_empty() {
        lints.push(parse_quote!(clippy::trivially_copy_pass_by_ref));
    }
    if sig.asyncness.is_some() {
        lints.push(parse_quote!(clippy::future_not_send));
        if !has_word(body.to_token_stream(), "await") {
            lints.push(parse_quote!(clippy::unused_async));
        }
    }
    if !has_word(body.to_token_stream(), "self") {
        lints.push(parse_quote!(clippy::unused_self));
    }
    parse_quote!(#[allow(#(#lints),*)])
}

fn has_word(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(found) => found == word,
        TokenTree::Group(group) => has_word(group.stream(), word),
        _ => false,
    })
}
