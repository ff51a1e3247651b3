//! `impl Processor`: the dispatch to the handlers of a processor's impl block.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Expr, ReturnType, Type, spanned::Spanned};

use super::{Krate, locate, refused};
use crate::{
    check::mentions_static,
    model::{Clock, Handled, Handler, Start, Trigger},
};

/// What follows the impl block.
pub(crate) fn expand(handled: &Handled) -> TokenStream {
    if refused::borrows(handled) {
        return refused::expand(handled);
    }
    let krate = Krate::new(handled.krate.as_ref());
    let k = krate.here();
    let expansion = Expansion {
        krate,
        self_ty: &handled.self_ty,
    };
    let mut methods = Methods::default();
    for handler in &handled.handlers {
        expansion.add(handler, &mut methods);
    }
    for topic in &handled.sends {
        let topic = expansion.topic(topic);
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
    let state = krate.state_of(&handled.self_ty);
    let context = quote!(__ctx: &mut #k::Context<'_>);
    let start = frame("start", &starts, &k);
    let stop = frame("stop", &stops, &k);
    let scheduled = sequence(&schedules, &k).map(|body| quote!(#k::Timer::Scheduled(__id) => { #body }));
    let punctuate = (!timers.is_empty() || scheduled.is_some()).then(|| {
        quote! {
            async fn punctuate(
                &mut self,
                #context,
                __timer: #k::Timer,
                __now: #k::Timestamp,
            ) -> #k::Result<()> {
                match __timer {
                    #(#timers)*
                    #scheduled
                    _ => #k::undeclared("timer", __timer),
                }
            }
        }
    });
    quote! {
        #(#conditions)*
        const _: () = {
            #[automatically_derived]
            impl #impl_generics #k::Processor for #self_ty #where_clause {
                fn name() -> #k::Cow<'static, #k::core::primitive::str> {
                    #state::name()
                }
                fn declare(&mut self, __to: &mut dyn #k::Declare) {
                    #(#declare)*
                    #state::stores(self, __to);
                }
                #start
                async fn process(&mut self, #context, __record: &#k::Record<'_>) -> #k::Result<()> {
                    match __record.input {
                        #(#inputs)*
                        __input => #k::undeclared("input", __input),
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

struct Expansion<'a> {
    krate: Krate<'a>,
    self_ty: &'a Type,
}

impl Expansion<'_> {
    fn add(&self, handler: &Handler, methods: &mut Methods) {
        let k = self.krate.here();
        let conditions = &handler.conditions;
        match &handler.trigger {
            Trigger::Message { topic, start } => {
                // Numbered explicitly: a handler that is switched off does not shift the others'.
                let number = methods.inputs.len();
                let declared = self.topic(topic);
                let start = match start {
                    Start::Earliest => quote!(#k::Start::Earliest),
                    Start::Latest => quote!(#k::Start::Latest),
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
                    Clock::Wall => quote!(#k::TimerClock::Wall),
                    Clock::Stream => quote!(#k::TimerClock::Stream),
                };
                methods.declare.push(quote! {
                    #(#conditions)*
                    __to.every(#number, #k::Duration::from_millis(#millis), #clock);
                });
                let body = self.firing(handler, &quote!(#k::Periodic));
                methods
                    .timers
                    .push(quote!(#(#conditions)* #k::Timer::Every(#number) => { #body }));
            }
            Trigger::Schedule => {
                methods
                    .declare
                    .push(quote!(#(#conditions)* #k::Declare::handles_scheduled(__to);));
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

    /// `topic(&TOPIC)`
    fn topic(&self, topic: &Expr) -> TokenStream {
        let span = topic.span();
        self.krate.call(topic, "topic", quote_spanned!(span=> &#topic))
    }

    /// Fetches the arguments that a record gives, and calls.
    fn message(&self, handler: &Handler, topic: &Expr) -> TokenStream {
        let topic = self.topic(topic);
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
                Source::Context => self.krate.call(ty, "context", ctx),
                Source::First => self.krate.call(ty, "first", quote!(#topic, #ctx, #record)),
                Source::Key => self.krate.call(ty, "key", quote!(#topic, #record)),
                Source::Value => self.krate.call(ty, "value", quote!(#topic, #record)),
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
                (0, 3) => self.krate.call(ty, "context", ctx),
                (0, _) => self.krate.call(ty, "timer_first", quote!(#ctx, #firing, #now)),
                _ => self.krate.call(ty, "timer", quote!(#firing, #now)),
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
            let fetch = self.krate.call(ty, "context", ctx);
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
        let ty = self.self_ty;
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
                    self.krate.call(ident, "outcome", result.to_token_stream()),
                )
            }
            // `!` has no impls: nothing comes back.
            ReturnType::Type(_, ty) if matches!(**ty, Type::Never(_)) => return quote!(#call #wait),
            ReturnType::Type(_, ty) => {
                let result = Ident::new("__result", ty.span());
                (
                    result.clone(),
                    self.krate.call(ty, "outcome", result.to_token_stream()),
                )
            }
        };
        quote!({ let #result = #call #wait; #outcome })
    }
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
fn frame(name: &str, calls: &[Call], k: &TokenStream) -> Option<TokenStream> {
    let name = Ident::new(name, Span::call_site());
    let body = sequence(calls, k)?;
    Some(quote!(async fn #name(&mut self, __ctx: &mut #k::Context<'_>) -> #k::Result<()> { #body }))
}

/// The calls, one after another: more than one only if they have conditions.
fn sequence(calls: &[Call], k: &TokenStream) -> Option<TokenStream> {
    match calls {
        [] => None,
        [Call { conditions, tokens }] if conditions.is_empty() => Some(tokens.clone()),
        calls => {
            let calls = calls.iter().map(|Call { conditions, tokens }| {
                quote!(#(#conditions)* { let __done: #k::Result<()> = { #tokens }; __done?; })
            });
            Some(quote!(#(#calls)* #k::Ok(())))
        }
    }
}
