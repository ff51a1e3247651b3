//! From the model to the code that a person would have written.
//!
//! Rules of this folder:
//!
//! - Paths are absolute (`::kproc::__private::…`, or below the path given by `crate = …`): nothing that the user
//!   names can change what they mean.
//! - A call that checks a type is spanned so that its path begins at that type's first token and ends at its
//!   last: the compiler then underlines the whole type.
//! - Names of locals begin with two underscores. `self` and they have the hygiene of the call site, so that
//!   processors made by `macro_rules!` work, and are only *located* at the user's code. A local whose type is
//!   checked has the user's own span: the compiler would point at the attribute otherwise.

pub(crate) mod handlers;
mod refused;
pub(crate) mod state;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, spanned::Spanned};

/// How generated code reaches kproc.
#[derive(Clone, Copy)]
pub(crate) struct Krate<'a>(Option<&'a Path>);

impl<'a> Krate<'a> {
    pub(crate) fn new(path: Option<&'a Path>) -> Self {
        Self(path)
    }

    /// `::kproc::__private`, at this place.
    fn at(self, span: Span) -> TokenStream {
        match self.0 {
            None => quote_spanned!(span=> ::kproc::__private),
            Some(path) => {
                let path = locate(path.to_token_stream(), span);
                quote_spanned!(span=> #path::__private)
            }
        }
    }

    /// `::kproc::__private`
    fn here(self) -> TokenStream {
        self.at(Span::call_site())
    }

    /// `::kproc::__private::name(arguments)`, whose path covers `over` from its first to its last token.
    fn call(self, over: &impl ToTokens, name: &str, arguments: TokenStream) -> TokenStream {
        let (first, last) = ends(over);
        let krate = self.at(first);
        let colons = quote_spanned!(first=> ::);
        let name = Ident::new(name, last);
        let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
        arguments.set_span(last);
        quote!(#krate #colons #name #arguments)
    }

    /// `<Type as State>`: the struct's half, looked for at the type.
    fn state_of(self, ty: &Type) -> TokenStream {
        let span = ty.span();
        let krate = self.at(span);
        quote_spanned!(span=> <#ty as #krate::State>)
    }
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
