//! `impl Processor`: the dispatch to the handlers of a processor's impl block.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Attribute, Generics, Type, ext::IdentExt, parse_quote_spanned};

use super::{calls, ends, implementation, import, refused, state_of, unlinted};
use crate::model::{Clock, Handled, Handler, Start, Trigger};

/// What follows the impl block.
pub(crate) fn expand(handled: &Handled) -> TokenStream {
    if refused::borrows(handled) {
        return refused::expand(handled);
    }
    let import = import(handled.krate.as_ref());
    let mut methods = Methods::default();
    for handler in &handled.handlers {
        methods.add(&handled.self_ty, handler);
    }
    for topic in &handled.sends {
        let topic = calls::typed(topic);
        methods.declare.push(quote!(__to.output(#topic);));
    }
    let Handled {
        conditions, self_ty, ..
    } = handled;
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
    let body = quote! {
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
    };
    let (span, _) = ends(self_ty);
    let processor = implementation(&outliving(handled), "Processor", self_ty, span, body);
    unlinted(conditions, &quote!(#import #processor))
}

/// The generics of the impl block, and that the type outlives every record: so its parameters need not say so.
fn outliving(handled: &Handled) -> Generics {
    let mut generics = handled.generics.clone();
    if generics.type_params().next().is_some() {
        let ty = &handled.self_ty;
        let (span, _) = ends(ty);
        let outlives = parse_quote_spanned!(span=> #ty: 'static);
        generics.make_where_clause().predicates.push(outlives);
    }
    generics
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

impl Methods {
    /// Adds what a handler gives to them.
    fn add(&mut self, this: &Type, handler: &Handler) {
        let conditions = &handler.conditions;
        match &handler.trigger {
            Trigger::Message { topic, start } => {
                // Numbered explicitly: a handler that is switched off does not shift the others'.
                let number = self.inputs.len();
                let declared = calls::typed(topic);
                let start = match start {
                    Start::Earliest => quote!(__kproc::Start::Earliest),
                    Start::Latest => quote!(__kproc::Start::Latest),
                };
                self.declare
                    .push(quote!(#(#conditions)* __to.input(#number, #declared, #start);));
                let body = calls::message(this, handler, topic);
                self.inputs.push(quote!(#(#conditions)* #number => { #body }));
            }
            Trigger::Every { millis, clock } => {
                let number = self.timers.len();
                let name = handler.ident.unraw().to_string();
                let clock = match clock {
                    Clock::Wall => quote!(__kproc::TimerClock::Wall),
                    Clock::Stream => quote!(__kproc::TimerClock::Stream),
                };
                self.declare.push(quote! {
                    #(#conditions)*
                    __kproc::Declare::add_timer(__to, __kproc::TimerSpec {
                        number: #number,
                        name: __kproc::Option::Some(#name),
                        period: __kproc::Duration::from_millis(#millis),
                        clock: #clock,
                    });
                });
                let body = calls::firing(this, handler, calls::Firing::Periodic);
                self.timers
                    .push(quote!(#(#conditions)* __kproc::Timer::Every(#number) => { #body }));
            }
            Trigger::Schedule => {
                self.declare
                    .push(quote!(#(#conditions)* __kproc::Declare::handles_scheduled(__to);));
                let tokens = calls::firing(this, handler, calls::Firing::Scheduled);
                self.schedules.push(Call {
                    conditions: conditions.clone(),
                    tokens,
                });
            }
            Trigger::Start => {
                self.starts.push(Call {
                    conditions: conditions.clone(),
                    tokens: calls::framing(this, handler),
                });
            }
            Trigger::Stop => {
                self.stops.push(Call {
                    conditions: conditions.clone(),
                    tokens: calls::framing(this, handler),
                });
            }
        }
    }
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
