//! `impl Processor`: the dispatch to the handlers of a processor's impl block.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Expr, ReturnType, Type, spanned::Spanned};

use super::{checked, import, locate, refused, state_of};
use crate::{
    check::mentions_static,
    model::{Clock, Handled, Handler, Start, Trigger},
};

/// What follows the impl block.
pub(crate) fn expand(handled: &Handled) -> TokenStream {
    if refused::borrows(handled) {
        return refused::expand(handled);
    }
    let import = import(handled.krate.as_ref());
    let expansion = Expansion(&handled.self_ty);
    let mut methods = Methods::default();
    for handler in &handled.handlers {
        expansion.add(handler, &mut methods);
    }
    for topic in &handled.sends {
        let topic = typed(topic);
        methods.declare.push(quote!(__to.output(#topic);));
    }
    let Handled {
        conditions, self_ty, ..
    } = handled;
    let (impl_generics, _, where_clause) = handled.generics.split_for_impl();
    let Methods {
        declare,
        inputs,
        timers,
        schedules,
        starts,
        stops,
    } = methods;
    let state = state_of(&handled.self_ty);
    let context = quote!(__ctx: &mut __kproc::Context<'_>);
    let start = frame("start", &starts);
    let stop = frame("stop", &stops);
    let scheduled = sequence(&schedules).map(|body| quote!(__kproc::Timer::Scheduled(__id) => { #body }));
    let punctuate = (!timers.is_empty() || scheduled.is_some()).then(|| {
        quote! {
            async fn punctuate(
                &mut self,
                #context,
                __timer: __kproc::Timer,
                __now: __kproc::Timestamp,
            ) -> __kproc::Result<()> {
                match __timer {
                    #(#timers)*
                    #scheduled
                    _ => __kproc::undeclared("timer", __timer),
                }
            }
        }
    });
    quote! {
        #(#conditions)*
        const _: () = {
            #import
            #[automatically_derived]
            impl #impl_generics __kproc::Processor for #self_ty #where_clause {
                fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
                    #state::name()
                }
                fn declare(&mut self, __to: &mut dyn __kproc::Declare) {
                    #(#declare)*
                    #state::stores(self, __to);
                }
                #start
                async fn process(&mut self, #context, __record: &__kproc::Record<'_>) -> __kproc::Result<()> {
                    match __record.input {
                        #(#inputs)*
                        __input => __kproc::undeclared("input", __input),
                    }
                }
                #punctuate
                #stop
            }
        };
    }
}

/// The parts of the methods of `impl Processor`.
#[derive(Default)]
struct Methods {
    declare: Vec<TokenStream>,
    /// Arms by input.
    inputs: Vec<TokenStream>,
    /// Arms by timer.
    timers: Vec<TokenStream>,
    schedules: Vec<Call>,
    starts: Vec<Call>,
    stops: Vec<Call>,
}

/// A call of a handler: an expression of the type `Result<()>`.
struct Call {
    conditions: Vec<Attribute>,
    tokens: TokenStream,
}

/// Expands the handlers of this type.
struct Expansion<'a>(&'a Type);

impl Expansion<'_> {
    fn add(&self, handler: &Handler, methods: &mut Methods) {
        let conditions = &handler.conditions;
        match &handler.trigger {
            Trigger::Message { topic, start } => {
                // Numbered explicitly: a handler that is switched off does not shift the others'.
                let number = methods.inputs.len();
                let declared = typed(topic);
                let start = match start {
                    Start::Earliest => quote!(__kproc::Start::Earliest),
                    Start::Latest => quote!(__kproc::Start::Latest),
                };
                methods
                    .declare
                    .push(quote!(#(#conditions)* __to.input(#number, #declared, #start);));
                let body = self.message(handler, topic);
                methods.inputs.push(quote!(#(#conditions)* #number => { #body }));
            }
            Trigger::Every { millis, clock } => {
                let number = methods.timers.len();
                let clock = match clock {
                    Clock::Wall => quote!(__kproc::TimerClock::Wall),
                    Clock::Stream => quote!(__kproc::TimerClock::Stream),
                };
                methods.declare.push(quote! {
                    #(#conditions)*
                    __to.every(#number, __kproc::Duration::from_millis(#millis), #clock);
                });
                let body = self.firing(handler, &quote!(__kproc::Periodic));
                methods
                    .timers
                    .push(quote!(#(#conditions)* __kproc::Timer::Every(#number) => { #body }));
            }
            Trigger::Schedule => {
                methods
                    .declare
                    .push(quote!(#(#conditions)* __kproc::Declare::handles_scheduled(__to);));
                let tokens = self.firing(handler, &quote!(__id));
                methods.schedules.push(Call {
                    conditions: conditions.clone(),
                    tokens,
                });
            }
            Trigger::Start => {
                methods.starts.push(Call {
                    conditions: conditions.clone(),
                    tokens: self.framing(handler),
                });
            }
            Trigger::Stop => {
                methods.stops.push(Call {
                    conditions: conditions.clone(),
                    tokens: self.framing(handler),
                });
            }
        }
    }

    /// Fetches the arguments that a record gives, and calls.
    fn message(&self, handler: &Handler, topic: &Expr) -> TokenStream {
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
                Source::Context => checked(ty, "context", ctx),
                Source::First => checked(ty, "first", quote!(#topic, #ctx, #record)),
                Source::Key => checked(ty, "key", quote!(#topic, #record)),
                Source::Value => checked(ty, "value", quote!(#topic, #record)),
            };
            let try_ = (!matches!(source, Source::Context)).then(|| quote!(?));
            fetches.extend(quote!(let #local = #fetch #try_;));
            locals.push(local);
        }
        let call = self.call(handler, &locals);
        quote!(#fetches #call)
    }

    /// Fetches the arguments that a timer gives, and calls.
    fn firing(&self, handler: &Handler, firing: &TokenStream) -> TokenStream {
        let mut fetches = TokenStream::new();
        let mut locals = Vec::new();
        for (number, ty) in handler.arguments.iter().enumerate() {
            let local = local(["__first", "__second", "__third"][number], ty);
            let (firing, now) = (
                locate(firing.clone(), ty.span()),
                locate(quote!(__now), ty.span()),
            );
            let ctx = locate(quote!(__ctx), ty.span());
            let fetch = match (number, handler.arguments.len()) {
                // With all there is, the first must be the context.
                (0, 3) => checked(ty, "context", ctx),
                (0, _) => checked(ty, "timer_first", quote!(#ctx, #firing, #now)),
                _ => checked(ty, "timer", quote!(#firing, #now)),
            };
            fetches.extend(quote!(let #local = #fetch;));
            locals.push(local);
        }
        let call = self.call(handler, &locals);
        quote!(#fetches #call)
    }

    /// Calls a handler that takes the context or nothing.
    fn framing(&self, handler: &Handler) -> TokenStream {
        let fetches = handler.arguments.iter().map(|ty| {
            let (local, ctx) = (local("__context", ty), locate(quote!(__ctx), ty.span()));
            let fetch = checked(ty, "context", ctx);
            (local.clone(), quote!(let #local = #fetch;))
        });
        let (locals, fetches): (Vec<_>, Vec<_>) = fetches.unzip();
        let call = self.call(handler, &locals);
        quote!(#(#fetches)* #call)
    }

    /// `{ let __result = <Self>::handler(self, …).await; outcome(__result) }`
    fn call(&self, handler: &Handler, locals: &[Ident]) -> TokenStream {
        let Handler {
            ident,
            is_async,
            arguments,
            output,
            ..
        } = handler;
        let ty = self.0;
        // A record is not `'static`: the compiler's word about it belongs on the argument that asks for it.
        let place = arguments
            .iter()
            .find(|ty| mentions_static(ty))
            .map_or(ident.span(), Spanned::span);
        let call = locate(quote!(<#ty>::#ident(self, #(#locals),*)), place);
        let wait = is_async.then(|| quote!(.await));
        let (result, outcome) = match output {
            ReturnType::Default => {
                let result = Ident::new("__result", ident.span());
                (
                    result.clone(),
                    checked(ident, "outcome", result.to_token_stream()),
                )
            }
            // `!` has no impls: nothing comes back.
            ReturnType::Type(_, ty) if matches!(**ty, Type::Never(_)) => return quote!(#call #wait),
            ReturnType::Type(_, ty) => {
                let result = Ident::new("__result", ty.span());
                (result.clone(), checked(ty, "outcome", result.to_token_stream()))
            }
        };
        quote!({ let #result = #call #wait; #outcome })
    }
}

/// `topic(&TOPIC)`
fn typed(topic: &Expr) -> TokenStream {
    let span = topic.span();
    checked(topic, "topic", quote_spanned!(span=> &#topic))
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

/// A method that frames a task's life, if it has anything to do.
fn frame(name: &str, calls: &[Call]) -> Option<TokenStream> {
    let name = Ident::new(name, Span::call_site());
    let body = sequence(calls)?;
    Some(quote!(async fn #name(&mut self, __ctx: &mut __kproc::Context<'_>) -> __kproc::Result<()> { #body }))
}

/// The calls, one after another: more than one only if they have conditions.
fn sequence(calls: &[Call]) -> Option<TokenStream> {
    match calls {
        [] => None,
        [Call { conditions, tokens }] if conditions.is_empty() => Some(tokens.clone()),
        calls => {
            let calls = calls.iter().map(|Call { conditions, tokens }| {
                quote!(#(#conditions)* { let __done: __kproc::Result<()> = { #tokens }; __done?; })
            });
            Some(quote!(#(#calls)* __kproc::Ok(())))
        }
    }
}
