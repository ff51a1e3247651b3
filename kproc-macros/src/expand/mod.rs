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
use syn::{Attribute, Generics, Path, Type, spanned::Spanned};

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

/// `const _: () = { body };`. Lints find nothing in it but for two of clippy's. Those alone are allowed, for no `allow` may
/// stand where a user forbids the same lint.
pub(crate) fn unlinted(conditions: &[Attribute], body: &TokenStream) -> TokenStream {
    quote! {
        #(#conditions)*
        #[allow(clippy::future_not_send, clippy::missing_trait_methods)]
        const _: () = { #body };
    }
}

/// `__kproc`, at this place. (Hygiene is for locals: the import is found from every span.)
fn krate(span: Span) -> Ident {
    Ident::new("__kproc", span)
}

/// A name that is known to be generated, at this place. One in a path that is the user's own otherwise keeps the compiler
/// from comparing the path with what the user has imported (`unused_qualifications`); not the first nor the last of several,
/// for they say where the path is.
pub(crate) fn generated(name: &str, span: Span) -> Ident {
    Ident::new(name, Span::call_site().located_at(span))
}

/// `__kproc::Trait::method(arguments)`, a call that checks the type of `over`, which it covers. A trait's method, and
/// not a function with a bound, which the compiler would have to explain.
fn checked(over: &impl ToTokens, names: &[&str], arguments: TokenStream) -> TokenStream {
    checked_for(over, names, &TokenStream::new(), arguments)
}

/// The same with generic arguments of the trait.
fn checked_for(
    over: &impl ToTokens,
    names: &[&str],
    generics: &TokenStream,
    arguments: TokenStream,
) -> TokenStream {
    let (first, last) = ends(over);
    let krate = krate(first);
    let colons = quote_spanned!(first=> ::);
    let (method, within) = names.split_last().expect("a call names what it calls");
    let within = within.iter().map(|name| generated(name, first));
    let method = Ident::new(method, last);
    let arguments = group(Delimiter::Parenthesis, arguments, last);
    quote!(#krate #(#colons #within)* #generics #colons #method #arguments)
}

/// Tokens in brackets that are at this place.
pub(crate) fn group(delimiter: Delimiter, tokens: TokenStream, span: Span) -> Group {
    let mut group = Group::new(delimiter, tokens);
    group.set_span(span);
    group
}

/// `impl<…> Trait for Type where … { body }`, all but the body at `span`, as the user's own code: the compiler points there
/// when it has to speak of the impl, and would else speak of the macro. Documentation of the type does not show it: the
/// user has not written it.
fn implementation(
    generics: &Generics,
    name: &str,
    ty: &impl ToTokens,
    span: Span,
    body: TokenStream,
) -> TokenStream {
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (impl_token, for_token) = (quote_spanned!(span=> impl), quote_spanned!(span=> for));
    let krate = krate(span);
    let (module, name) = (generated("processor", span), Ident::new(name, span));
    let colons = quote_spanned!(span=> ::);
    let body = group(Delimiter::Brace, body, span);
    quote! {
        #[automatically_derived]
        #[doc(hidden)]
        #impl_token #impl_generics #krate #colons #module #colons #name #for_token #ty #where_clause #body
    }
}

/// `<Type as State>`: the struct's half, looked for at the type.
fn state_of(ty: &Type) -> TokenStream {
    let span = ty.span();
    let (krate, state) = (krate(span), generated("State", span));
    quote_spanned!(span=> <#ty as #krate::#state>)
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
