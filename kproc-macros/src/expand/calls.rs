//! Calls of handlers: where each argument comes from, and where the compiler points if it does not fit.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, ReturnType, Type, spanned::Spanned};

use super::{checked, checked_for, ends, locate};
use crate::{known, model::Handler};

/// Fetches the arguments that a record gives, and calls.
pub(super) fn message(this: &Type, handler: &Handler, topic: &Expr) -> TokenStream {
    let topic = typed(topic);
    let sources: &[Source] = match handler.arguments.len() {
        1 => &[Source::Value],
        2 => &[Source::First, Source::Value],
        _ => &[Source::Context, Source::Key, Source::Value],
    };
    let mut fetches = TokenStream::new();
    let mut locals = Vec::new();
    for (ty, source) in handler.arguments.iter().zip(sources) {
        let local = local(source.name(), ty);
        let record = locate(quote!(__record), ty.span());
        let ctx = locate(quote!(__ctx), ty.span());
        let fetch = match source {
            Source::Context => checked(ty, &["ContextArgument", "context"], ctx),
            Source::First => checked(ty, &["First", "first"], quote!(#topic, #ctx, #record)),
            Source::Key => argument(ty, "key", quote!(#topic, #record)),
            Source::Value => argument(ty, "value", quote!(#topic, #record)),
        };
        let try_ = (!matches!(source, Source::Context)).then(|| quote!(?));
        fetches.extend(quote!(let #local = #fetch #try_;));
        locals.push(local);
    }
    let call = call(this, handler, &locals);
    quote!(#fetches #call)
}

/// Fetches a key or value. Of one that is written as `Json<T>` the compiler is told the `T`, to say it.
fn argument(ty: &Type, part: &str, arguments: TokenStream) -> TokenStream {
    match known::wrapped(ty) {
        Some(inner) => {
            let (first, last) = ends(ty);
            let (open, close) = (quote_spanned!(first=> ::<_, _, #inner), quote_spanned!(last=> >));
            checked_for(ty, &["Unwrapped", part], &quote!(#open #close), arguments)
        }
        None => checked(ty, &["Argument", part], arguments),
    }
}

/// What a timer says of its firing.
#[derive(Clone, Copy)]
pub(super) enum Firing {
    /// Its time.
    Periodic,
    /// Its id and time.
    Scheduled,
}

/// Fetches the arguments that a timer gives, and calls.
pub(super) fn firing(this: &Type, handler: &Handler, firing: Firing) -> TokenStream {
    let mut fetches = TokenStream::new();
    let mut locals = Vec::new();
    for (number, ty) in handler.arguments.iter().enumerate() {
        let local = local(["__first", "__second", "__third"][number], ty);
        let now = locate(quote!(__now), ty.span());
        let ctx = locate(quote!(__ctx), ty.span());
        let (first_of, argument, firing) = match firing {
            Firing::Periodic => ("FirstOfEvery", "EveryArgument", now),
            Firing::Scheduled => {
                let timer = locate(quote!(__id), ty.span());
                ("FirstOfScheduled", "ScheduledArgument", quote!(#timer, #now))
            }
        };
        let fetch = match (number, handler.arguments.len()) {
            // With all there is, the first must be the context.
            (0, 3) => checked(ty, &["ContextOfScheduled", "context"], ctx),
            (0, _) => checked(ty, &[first_of, "first"], quote!(#ctx, #firing)),
            _ => checked(ty, &[argument, "argument"], firing),
        };
        fetches.extend(quote!(let #local = #fetch;));
        locals.push(local);
    }
    let call = call(this, handler, &locals);
    quote!(#fetches #call)
}

/// Calls a handler that takes the context or nothing.
pub(super) fn framing(this: &Type, handler: &Handler) -> TokenStream {
    let fetches = handler.arguments.iter().map(|ty| {
        let (local, ctx) = (local("__context", ty), locate(quote!(__ctx), ty.span()));
        let fetch = checked(ty, &["FrameArgument", "context"], ctx);
        (local.clone(), quote!(let #local = #fetch;))
    });
    let (locals, fetches): (Vec<_>, Vec<_>) = fetches.unzip();
    let call = call(this, handler, &locals);
    quote!(#(#fetches)* #call)
}

/// `{ let __result = <Self>::handler(self, …).await; Outcome::outcome(__result) }`
fn call(this: &Type, handler: &Handler, locals: &[Ident]) -> TokenStream {
    let Handler {
        ident,
        is_async,
        output,
        ..
    } = handler;
    let called = locate(quote!(<#this>::#ident(self, #(#locals),*)), ident.span());
    let wait = is_async.then(|| quote!(.await));
    let (result, outcome) = match output {
        ReturnType::Default => {
            let result = Ident::new("__result", ident.span());
            (
                result.clone(),
                checked(ident, &["Outcome", "outcome"], result.to_token_stream()),
            )
        }
        // `!` has no impls: nothing comes back.
        ReturnType::Type(_, ty) if matches!(**ty, Type::Never(_)) => return quote!(#called #wait),
        ReturnType::Type(_, ty) => {
            let result = Ident::new("__result", ty.span());
            (
                result.clone(),
                checked(ty, &["Outcome", "outcome"], result.to_token_stream()),
            )
        }
    };
    quote!({ let #result = #called #wait; #outcome })
}

/// `TypedTopic::typed(&TOPIC)`
pub(super) fn typed(topic: &Expr) -> TokenStream {
    let span = topic.span();
    checked(topic, &["TypedTopic", "typed"], quote_spanned!(span=> &#topic))
}

/// Where an argument of a message handler comes from.
#[derive(Clone, Copy)]
enum Source {
    Context,
    First,
    Key,
    Value,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Self::Context => "__context",
            Self::First => "__first",
            Self::Key => "__key",
            Self::Value => "__value",
        }
    }
}

/// A local that is located at an argument's type.
fn local(name: &str, ty: &Type) -> Ident {
    Ident::new(name, Span::call_site().located_at(ty.span()))
}
