//! From the model to the code that a person would have written.
//!
//! Rules of this folder:
//!
//! - All that is generated is in a block of its own, which imports `::kproc::__private` (or what is below the path
//!   given by `crate = …`) and names nothing that does not come from there: nothing that the user names can change
//!   what it means.
//! - A call that checks a type is spanned so that its path begins at that type's first token and ends at its
//!   last: the compiler then underlines the whole type.
//! - Names of locals begin with two underscores. `self` and they have the hygiene of the call site, so that
//!   processors made by `macro_rules!` work, and are only *located* at the user's code. A local whose type is
//!   checked has the user's own span: the compiler would point at the attribute otherwise.

mod calls;
pub(crate) mod handlers;
mod refused;
pub(crate) mod state;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, spanned::Spanned};

/// What generated code calls kproc's `__private`, in the one import that each of its blocks begins with. So a kproc
/// that is not where it is looked for is one error, and not one per name.
pub(crate) fn import(path: Option<&Path>) -> TokenStream {
    match path {
        None => quote!(
            use ::kproc::__private as __kproc;
        ),
        Some(path) => quote!(use #path::__private as __kproc;),
    }
}

/// `__kproc`, at this place. (Hygiene is for locals: the import is found from every span.)
fn krate(span: Span) -> Ident {
    Ident::new("__kproc", span)
}

/// `__kproc::name(arguments)`, a call that checks the type of `over`: its path covers `over` from the first token to
/// the last.
fn checked(over: &impl ToTokens, name: &str, arguments: TokenStream) -> TokenStream {
    let (first, last) = ends(over);
    let krate = krate(first);
    let colons = quote_spanned!(first=> ::);
    let name = Ident::new(name, last);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(last);
    quote!(#krate #colons #name #arguments)
}

/// `<Type as State>`: the struct's half, looked for at the type.
fn state_of(ty: &Type) -> TokenStream {
    let span = ty.span();
    let krate = krate(span);
    quote_spanned!(span=> <#ty as #krate::State>)
}

/// The same tokens with the same hygiene, at another place.
fn locate(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(token.span().located_at(span));
            token
        })
        .collect()
}

/// The tokens' first and last spans.
fn ends(tokens: &impl ToTokens) -> (Span, Span) {
    let mut spans = tokens.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    let last = spans.last().unwrap_or(first);
    (first, last)
}
