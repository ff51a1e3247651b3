//! The rules that no parser and no type can check, and their texts.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{
    Fields, FnArg, GenericParam, Lifetime, PatType, ReceiverKind, Safety, Signature, Type, TypeImplTrait,
    ext::IdentExt, visit::Visit,
};

use crate::{
    attributes::Helper,
    errors::Errors,
    model::{Declared, Field, Handled, Handler, StoreField, Trigger},
};

pub(crate) const WRONG_ITEM: &str =
    "`#[processor]` goes on a struct with named fields, and on its inherent impl block";

/// The error for a struct whose fields have no names.
pub(crate) fn unnamed_fields(ident: &Ident, fields: &Fields) -> String {
    let fix = match fields {
        Fields::Unit => format!("write `struct {ident} {{}}`"),
        _ => "give the fields names".to_owned(),
    };
    format!("{WRONG_ITEM}: {fix}")
}

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
    name(declared, errors);
    store_names(declared, errors);
}

fn name(declared: &Declared, errors: &mut Errors) {
    let part = "the name of a processor is part of the names of its changelog topics";
    match &declared.name {
        Some(name) => {
            if let Some(problem) = name_problem(&name.value()) {
                errors.on(name, format_args!("{part}, and {problem}"));
            }
        }
        None => {
            if let Some(problem) = name_problem(&declared.ident.unraw().to_string()) {
                let fix = "name it by `#[processor(name = \"…\")]`";
                errors.on(&declared.ident, format_args!("{part}, and {problem}: {fix}"));
            }
        }
    }
}

fn store_names(declared: &Declared, errors: &mut Errors) {
    let mut earlier: Vec<(&Field, &StoreField)> = Vec::new();
    for field in &declared.fields {
        let Some(store) = &field.store else { continue };
        if let Some(problem) = name_problem(&store.name) {
            let part = "the name of a store is part of the name of its changelog topic";
            let fix = "name it by `#[state(name = \"…\")]`";
            errors.at(store.named_at, format_args!("{part}, and {problem}: {fix}"));
        }
        // Under conditions perhaps only one of the two is there.
        let always = |other: &Field| other.conditions.is_empty() && field.conditions.is_empty();
        let same = earlier
            .iter()
            .find(|(other, named)| named.name == store.name && always(other));
        if let Some((first, _)) = same {
            errors.at(
                store.named_at,
                format_args!(
                    "the store name `{}` is used by field `{}` already: each store has its own changelog",
                    store.name, first.ident
                ),
            );
        }
        earlier.push((field, store));
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
        "Kafka does not allow {bad:?} there (only ASCII letters, digits, `.`, `_` and `-`)"
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
        let earlier = handled.handlers[..number].iter();
        for first in earlier.filter(|first| always_both(first, second)) {
            once(first, second, errors);
        }
    }
}

/// Whether two handlers are there in any case: under conditions perhaps only one of them is.
fn always_both(first: &Handler, second: &Handler) -> bool {
    first.conditions.is_empty() && second.conditions.is_empty()
}

/// A topic has one handler; starting, stopping and scheduled timers have one each.
fn once(first: &Handler, second: &Handler, errors: &mut Errors) {
    match (&first.trigger, &second.trigger) {
        (Trigger::Message { topic, .. }, Trigger::Message { topic: again, .. }) => {
            let topic = topic.to_token_stream().to_string();
            if topic == again.to_token_stream().to_string() {
                errors.on(
                    again,
                    format_args!(
                        "`{topic}` is handled by `{}` already: a topic has one handler in a processor",
                        first.ident
                    ),
                );
            }
        }
        (Trigger::Every { .. }, _) => {}
        (one, other) if one.helper() == other.helper() => {
            let helper = one.helper().name();
            errors.on(
                &second.ident,
                format_args!(
                    "`{}` is `#[{helper}]` already: a processor has one such method",
                    first.ident
                ),
            );
        }
        _ => {}
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
        if let Some(lifetime) = static_lifetime(&argument.ty) {
            errors.on(
                lifetime,
                "what a handler is given lives for this call only, so nothing of it is `'static`: leave the lifetime out, or write `'_`",
            );
        }
        if let Some(anonymous) = impl_trait(&argument.ty) {
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
    context_first(helper, sig, errors);
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

/// The one type that is known by its name: the compiler's advice for it would be `&mut &mut Context`. One of
/// another name that is the same type is still refused, by the compiler.
fn context_first(helper: Helper, sig: &Signature, errors: &mut Errors) {
    let is_context = |ty: &Type| match ty {
        Type::Reference(reference) if reference.mutability.is_some() => match &*reference.elem {
            Type::Path(path) => path
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "Context"),
            _ => false,
        },
        _ => false,
    };
    let twice = arguments(sig).next().is_some_and(|first| is_context(&first.ty));
    for argument in arguments(sig).skip(1).filter(|argument| is_context(&argument.ty)) {
        if twice {
            errors.on(
                argument,
                "there is one context, and it is the first argument: remove this one",
            );
            continue;
        }
        errors.on(
            argument,
            format_args!(
                "the context comes first: an `#[{}]` method takes `(&mut self, ctx: &mut Context<'_>, …)`",
                helper.name()
            ),
        );
    }
}

fn receiver(sig: &Signature, errors: &mut Errors) {
    let name = &sig.ident;
    match sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) => match &receiver.kind {
            ReceiverKind::Reference(..) => {}
            _ => errors.on(
                receiver,
                format_args!("a handler borrows the processor: `fn {name}(&mut self, …)`"),
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
        Helper::Processor | Helper::State => return,
    };
    let count = arguments(sig).count();
    if (least..=most).contains(&count) {
        return;
    }
    let has = match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        _ => format!("{count} arguments"),
    };
    let text = format!(
        "`{}` has {has}; after `&mut self`, an `#[{}]` method takes {takes}",
        sig.ident,
        helper.name()
    );
    match arguments(sig).nth(most) {
        Some(first_too_many) => errors.on(first_too_many, text),
        None => errors.on(&sig.ident, text),
    }
}

/// The `impl Trait` somewhere in a type.
fn impl_trait(ty: &Type) -> Option<&TypeImplTrait> {
    struct Search<'a>(Option<&'a TypeImplTrait>);
    impl<'a> Visit<'a> for Search<'a> {
        fn visit_type_impl_trait(&mut self, found: &'a TypeImplTrait) {
            self.0.get_or_insert(found);
        }
    }
    let mut search = Search(None);
    search.visit_type(ty);
    search.0
}

/// The `'static` somewhere in a type. (The compiler's own word for it would speak of generated code.)
fn static_lifetime(ty: &Type) -> Option<&Lifetime> {
    struct Search<'a>(Option<&'a Lifetime>);
    impl<'a> Visit<'a> for Search<'a> {
        fn visit_lifetime(&mut self, lifetime: &'a Lifetime) {
            if lifetime.ident == "static" {
                self.0.get_or_insert(lifetime);
            }
        }
    }
    let mut search = Search(None);
    search.visit_type(ty);
    search.0
}
