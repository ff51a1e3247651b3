//! The rules that no parser and no type can check, and their texts.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{
    FnArg, GenericParam, Lifetime, PatType, ReceiverKind, Safety, Signature, Type, ext::IdentExt,
    visit::Visit,
};

use crate::{
    attributes::Helper,
    errors::Errors,
    model::{Declared, Handled, Trigger},
};

pub(crate) const WRONG_ITEM: &str =
    "`#[processor]` goes on a struct with named fields, and on its inherent impl block";

/// Rules of the struct.
pub(crate) fn declared(declared: &Declared, errors: &mut Errors) {
    for parameter in &declared.generics.params {
        if let GenericParam::Lifetime(parameter) = parameter {
            let lifetime = &parameter.lifetime;
            errors.on(
                lifetime,
                format_args!(
                    "a processor cannot borrow: it outlives every record. Remove `{lifetime}` and own what the fields hold (`String` instead of `&str`)"
                ),
            );
        }
    }
    match &declared.name {
        Some(name) => {
            if let Some(problem) = name_problem(&name.value()) {
                errors.on(
                    name,
                    format_args!(
                        "the name of a processor is part of the names of its changelog topics, and {problem}"
                    ),
                );
            }
        }
        None => {
            if let Some(problem) = name_problem(&declared.ident.unraw().to_string()) {
                errors.on(
                    &declared.ident,
                    format_args!(
                        "the name of a processor is part of the names of its changelog topics, and {problem}: name it by `#[processor(name = \"…\")]`"
                    ),
                );
            }
        }
    }
    let mut seen: Vec<(&str, &Ident, bool)> = Vec::new();
    for field in &declared.fields {
        let Some(store) = &field.store else { continue };
        if let Some(problem) = name_problem(&store.name) {
            errors.at(
                store.named_at,
                format_args!(
                    "the name of a store is part of the name of its changelog topic, and {problem}: name it by `#[state(name = \"…\")]`"
                ),
            );
        }
        let conditional = !field.conditions.is_empty();
        let same = |(name, _, other): &&(&str, &Ident, bool)| *name == store.name && !(conditional || *other);
        if let Some((name, first, _)) = seen.iter().find(same) {
            errors.at(
                store.named_at,
                format_args!("the store name `{name}` is used by field `{first}` already: each store has its own changelog"),
            );
        }
        seen.push((&store.name, &field.ident, conditional));
    }
}

/// Why this cannot be part of the name of a topic, if it cannot.
fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it cannot be empty".to_owned());
    }
    let bad = name
        .chars()
        .find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))?;
    Some(format!(
        "Kafka does not allow {bad:?} in those: only ASCII letters, digits, `.`, `_` and `-`"
    ))
}

/// Rules of the impl block as a whole. `wants_messages`: a method is marked `#[on_message]`, rightly or not.
pub(crate) fn handled(handled: &Handled, wants_messages: bool, errors: &mut Errors) {
    if !wants_messages {
        let ty = handled.self_ty.to_token_stream();
        errors.on(
            &handled.self_ty,
            format_args!("`{ty}` handles no message: mark a method `#[on_message(TOPIC)]`"),
        );
    }
    for (number, second) in handled.handlers.iter().enumerate() {
        for first in &handled.handlers[..number] {
            // Under conditions only one of the two may be there.
            if !(first.conditions.is_empty() && second.conditions.is_empty()) {
                continue;
            }
            match (&first.trigger, &second.trigger) {
                (Trigger::Message { topic, .. }, Trigger::Message { topic: again, .. }) => {
                    let (topic, text) = (
                        topic.to_token_stream().to_string(),
                        again.to_token_stream().to_string(),
                    );
                    if topic == text {
                        errors.on(
                            again,
                            format_args!("`{topic}` is handled by `{}` already: a topic has one handler in a processor", first.ident),
                        );
                    }
                }
                (Trigger::Every { .. }, Trigger::Every { .. }) => {}
                (one, other) if one.helper() == other.helper() => {
                    let helper = one.helper().name();
                    errors.on(
                        &second.ident,
                        format_args!(
                            "`{}` is the `#[{helper}]` already: a processor has one",
                            first.ident
                        ),
                    );
                }
                _ => {}
            }
        }
    }
}

/// The arguments after `self`.
pub(crate) fn arguments(sig: &Signature) -> impl Iterator<Item = &PatType> {
    sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    })
}

/// Rules of a handler's signature. What types its arguments have is left to the compiler.
pub(crate) fn signature(helper: Helper, sig: &Signature, errors: &mut Errors) -> bool {
    let before = errors.count();
    receiver(sig, errors);
    for parameter in &sig.generics.params {
        let what = match parameter {
            GenericParam::Lifetime(_) => continue,
            GenericParam::Type(parameter) => &parameter.ident,
            GenericParam::Const(parameter) => &parameter.ident,
        };
        errors.on(
            parameter,
            format_args!("a handler has no parameters of its own: the topic says what it takes; make the processor generic over `{what}`, or write the type"),
        );
    }
    for argument in arguments(sig) {
        if let Type::ImplTrait(anonymous) = &*argument.ty {
            errors.on(
                anonymous,
                "a handler takes types, not `impl Trait`: the topic says which one it gets",
            );
        }
        if let Some(attr) = argument
            .attrs
            .iter()
            .find(|a| a.path().is_ident("cfg") || a.path().is_ident("cfg_attr"))
        {
            errors.on(
                attr,
                "an argument of a handler cannot be conditional: write two methods, each with its `#[cfg]`",
            );
        }
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.on(
            token,
            "a handler cannot be `unsafe`: kproc calls it, and knows no promise to keep",
        );
    }
    if let Some(variadic) = &sig.variadic {
        errors.on(variadic, "a handler takes a fixed number of arguments");
    }
    number_of_arguments(helper, sig, errors);
    errors.count() == before
}

fn receiver(sig: &Signature, errors: &mut Errors) {
    let name = &sig.ident;
    match sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) => match &receiver.kind {
            ReceiverKind::Reference(..) => {}
            _ => errors.on(
                receiver,
                format_args!("a handler takes `&mut self`: `{name}` is called for every record anew"),
            ),
        },
        // On the first argument, for that is where `self` is missing.
        Some(FnArg::Typed(first)) => errors.on(
            first,
            format_args!("a handler takes `&mut self` first: `fn {name}(&mut self, …)`"),
        ),
        None => errors.on(
            name,
            format_args!("a handler takes `&mut self`: `fn {name}(&mut self, …)`"),
        ),
    }
}

fn number_of_arguments(helper: Helper, sig: &Signature, errors: &mut Errors) {
    let (least, most, takes) = match helper {
        Helper::OnMessage => (
            1,
            3,
            "`(value)`, `(key, value)`, `(ctx, value)` or `(ctx, key, value)`",
        ),
        Helper::Every => (
            0,
            2,
            "`ctx: &mut Context<'_>` and `now: Timestamp`, both optional",
        ),
        Helper::OnSchedule => (
            0,
            3,
            "`ctx: &mut Context<'_>`, `timer: TimerId` and `now: Timestamp`, all optional",
        ),
        Helper::OnStart | Helper::OnStop => (0, 1, "`ctx: &mut Context<'_>` or nothing"),
        Helper::State => return,
    };
    let count = arguments(sig).count();
    if (least..=most).contains(&count) {
        return;
    }
    let plural = if count == 1 { "argument" } else { "arguments" };
    let text = format!(
        "`{}` has {count} {plural}; after `&mut self`, an `#[{}]` method takes {takes}",
        sig.ident,
        helper.name()
    );
    match arguments(sig).nth(most) {
        Some(first_too_many) => errors.on(first_too_many, text),
        None => errors.on(&sig.ident, text),
    }
}

/// Whether a type says `'static` somewhere.
pub(crate) fn mentions_static(ty: &Type) -> bool {
    struct Search(bool);
    impl<'a> Visit<'a> for Search {
        fn visit_lifetime(&mut self, lifetime: &'a Lifetime) {
            self.0 |= lifetime.ident == "static";
        }
    }
    let mut search = Search(false);
    search.visit_type(ty);
    search.0
}
