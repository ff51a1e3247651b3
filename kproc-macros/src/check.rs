//! The rules that no parser and no type can check, and their texts.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{
    Fields, FnArg, GenericParam, Lifetime, PatType, Receiver, ReceiverKind, Safety, Signature, Type,
    TypeImplTrait, ext::IdentExt, visit::Visit,
};

use crate::{
    attributes::{self, Helper},
    errors::Errors,
    known::{self, Form},
    model::{Declared, Field, Handled, Handler, StoreField, Trigger},
};

pub(crate) const WRONG_ITEM: &str = "`#[processor]` goes on a struct with named fields, `struct Totals { … }`, and on its impl block, `impl Totals { … }`";

/// The error for an enum or a union.
pub(crate) fn not_a_struct(what: &str) -> String {
    format!("{WRONG_ITEM}. {what} may be the type of a field")
}

/// The error for a struct without braces.
pub(crate) fn unnamed_fields(ident: &Ident, fields: &Fields) -> String {
    if fields.is_empty() {
        format!("a processor is a struct with braces, also if it has no fields: write `struct {ident} {{}}`")
    } else {
        format!("the fields of a processor have names: write `struct {ident} {{ name: Type, … }}`")
    }
}

/// The error for a field that would keep a context.
pub(crate) const KEPT_CONTEXT: &str = "a context is lent to a handler for one call, so no field can keep it: remove the field, and take `ctx: &mut Context<'_>` as the first argument of each handler that sends, and of what it calls";

/// Rules of the struct.
pub(crate) fn declared(declared: &Declared, errors: &mut Errors) {
    for parameter in &declared.generics.params {
        if let GenericParam::Lifetime(parameter) = parameter {
            let lifetime = &parameter.lifetime;
            let (kept, others): (Vec<_>, Vec<_>) = (declared.fields.iter())
                .filter(|field| mentions(&field.ty, lifetime))
                .partition(|field| field.keeps_context);
            // It is there for a context's sake only, of which all is said.
            if others.is_empty() && !kept.is_empty() {
                continue;
            }
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
            let value = name.value();
            if let Some(problem) = name_problem(&value) {
                let fix = another_name(&value, "name = …");
                errors.on(name, format_args!("{part}, and {problem}: {fix}"));
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
            // By its own name, or else by one that was given.
            let fix = if field.ident.unraw() == store.name {
                "name it by `#[state(name = \"…\")]`".to_owned()
            } else {
                another_name(&store.name, "name = …")
            };
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
                    "the store name `{}` is used by field `{}` already, and each store has its own changelog: give this one another name, `#[state(name = \"…\")]`",
                    store.name, first.ident
                ),
            );
        }
        earlier.push((field, store));
    }
}

/// What to write instead of a name that was given and cannot be one.
fn another_name(given: &str, option: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = given.chars().map(|c| if kept(c) { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() {
        format!("give one, or leave `{option}` out")
    } else {
        format!("write `\"{name}\"`, for example")
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
            format_args!("`{ty}` handles no message: mark the method that takes the records of a topic `#[on_message(TOPIC)]`"),
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
                        "`{topic}` is handled by `{0}` already, and a topic has one handler in a processor: call `{1}` from `{0}`, and remove the mark here",
                        first.ident, second.ident
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
                    "`{0}` is `#[{helper}]` already, and a processor has one such method: call `{1}` from `{0}`, and remove the mark here",
                    first.ident, second.ident
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
        let (name, instead, declared) = match parameter {
            GenericParam::Lifetime(_) => continue,
            GenericParam::Type(ty) => {
                let name = &ty.ident;
                (name, "write the type that it is".to_owned(), name.to_string())
            }
            GenericParam::Const(value) => {
                let (name, ty) = (&value.ident, value.ty.to_token_stream());
                let declared = format!("const {name}: {ty}");
                let instead = format!("write its value where it is used (or `{declared} = …;` in the body)");
                (name, instead, declared)
            }
        };
        errors.on(
            parameter,
            format_args!(
                "a handler has no generic parameters, for kproc would have to choose `{name}`: {instead}, or make it a parameter of the processor: `struct Name<{declared}> {{ … }}`"
            ),
        );
    }
    conditional_arguments(sig, errors);
    for argument in arguments(sig) {
        if let Some(lifetime) = static_lifetime(&argument.ty) {
            errors.on(
                lifetime,
                "what a handler is given lives for this call only, so nothing of it is `'static`: leave the lifetime out (`&str`), or write `'_` (`Order<'_>`)",
            );
        }
        if let Some(anonymous) = impl_trait(&argument.ty) {
            errors.on(
                anonymous,
                "a handler takes types, not `impl Trait`: write the type that it gets, such as `&str` or `i64`",
            );
        }
    }
    context_first(helper, sig, errors);
    if let Safety::Unsafe(token) = &sig.safety {
        errors.on(
            token,
            "a handler cannot be `unsafe`: kproc calls it, and knows no promise to keep. Remove `unsafe` here, and put what needs it into an `unsafe` block",
        );
    }
    if let Some(variadic) = &sig.variadic {
        errors.on(variadic, "a handler takes a fixed number of arguments");
    }
    number_of_arguments(helper, sig, errors);
    errors.count() == before
}

/// The macro counts arguments before the compiler has decided which of them are there.
fn conditional_arguments(sig: &Signature, errors: &mut Errors) {
    for argument in &sig.inputs {
        let (FnArg::Receiver(Receiver { attrs, .. }) | FnArg::Typed(PatType { attrs, .. })) = argument;
        if let Some(condition) = attributes::conditions(attrs).first() {
            errors.on(
                condition,
                "an argument of a handler is there or it is not: write two methods, each with its `#[cfg(…)]` above it and its mark",
            );
        }
    }
}

/// The one type that is known by its name: the compiler's advice for it would be `&mut &mut Context`, or none. One of
/// another name that is the same type is still refused, by the compiler.
fn context_first(helper: Helper, sig: &Signature, errors: &mut Errors) {
    let mut has_context = false;
    for (place, argument) in arguments(sig).enumerate() {
        let Some(form) = known::context(&argument.ty) else {
            continue;
        };
        // A record may well be of a type that is called so.
        if form == Form::Owned && helper == Helper::OnMessage {
            continue;
        }
        match (place, has_context) {
            (0, _) => {
                has_context = true;
                if form != Form::Mutable {
                    errors.on(
                        &argument.ty,
                        "the context is lent, and changed by what is sent and scheduled: write `&mut Context<'_>`",
                    );
                }
            }
            (_, true) => errors.on(
                argument,
                "there is one context, and it is the first argument: remove this one",
            ),
            (_, false) => errors.on(
                argument,
                format_args!(
                    "the context comes first: write `fn {}(&mut self, ctx: &mut Context<'_>, …)`",
                    sig.ident
                ),
            ),
        }
    }
}

fn receiver(sig: &Signature, errors: &mut Errors) {
    let name = &sig.ident;
    let others = sig.inputs.len() - usize::from(matches!(sig.inputs.first(), Some(FnArg::Receiver(_))));
    let right = match others {
        0 => format!("`fn {name}(&mut self)`"),
        _ => format!("`fn {name}(&mut self, …)`"),
    };
    match sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) => match &receiver.kind {
            ReceiverKind::Reference(..) => {}
            _ => errors.on(
                receiver,
                format_args!(
                    "a handler borrows the processor, which lives on: write {right}, and take out of a field by `std::mem::take(&mut self.field)` what is to be owned"
                ),
            ),
        },
        // On the first argument, for that is where `self` is missing.
        Some(FnArg::Typed(first)) => errors.on(
            first,
            format_args!("a handler takes `&mut self` first: {right}"),
        ),
        None => errors.on(name, format_args!("a handler takes `&mut self`: {right}")),
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
        Helper::OnStart | Helper::OnStop => (0, 1, "`ctx: &mut Context<'_>`, or nothing"),
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
    let elsewhere = match helper {
        Helper::OnMessage if count > most => {
            ". The rest of the record is in the context: `ctx.timestamp()`, `ctx.offset()`, `ctx.partition()`, `ctx.headers()`"
        }
        Helper::Every => ". (A `TimerId` comes to `#[on_schedule]` methods.)",
        Helper::OnStart | Helper::OnStop => {
            ". Times are in the context: `ctx.wall_time()`, `ctx.stream_time()`"
        }
        _ => "",
    };
    let text = format!(
        "`{}` has {has}; after `&mut self`, an `#[{}]` method takes {takes}{elsewhere}",
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

/// Whether a type has this lifetime in it.
fn mentions(ty: &Type, lifetime: &Lifetime) -> bool {
    struct Search<'a>(&'a Lifetime, bool);
    impl<'a> Visit<'a> for Search<'_> {
        fn visit_lifetime(&mut self, found: &'a Lifetime) {
            self.1 |= found.ident == self.0.ident;
        }
    }
    let mut search = Search(lifetime, false);
    search.visit_type(ty);
    search.1
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
