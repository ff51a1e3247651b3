//! What stands in the parentheses of an attribute.
//!
//! Everything here goes on after an error, so that one build shows all of them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, LitStr, Meta, MetaList, Path, PathArguments, Token, Type, parenthesized,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
};

use super::options::{Owner, Value, each, each_part, is_comma};
use crate::{
    attributes::{Helper, IMPL_OPTIONS, STARTS, STRUCT_OPTIONS, nearest, split_at_commas},
    duration,
    errors::Errors,
    model::{Clock, Start},
};

/// `#[processor(…)]` on the struct.
#[derive(Default)]
pub(crate) struct StructOptions {
    pub(crate) krate: Option<Path>,
    pub(crate) name: Option<LitStr>,
}

impl StructOptions {
    pub(crate) fn read(tokens: &TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let owner = Owner {
            name: "processor",
            known: STRUCT_OPTIONS,
            elsewhere: IMPL_OPTIONS,
            side: "the impl block",
        };
        each(&owner, tokens, errors, |value, errors| match value.name() {
            "crate" => options.krate = value.path(errors),
            _ => options.name = value.string(errors),
        });
        options
    }
}

/// `#[processor(…)]` on the impl block.
#[derive(Default)]
pub(crate) struct ImplOptions {
    pub(crate) krate: Option<Path>,
    pub(crate) sends: Vec<Expr>,
}

impl ImplOptions {
    pub(crate) fn read(tokens: &TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let owner = Owner {
            name: "processor",
            known: IMPL_OPTIONS,
            elsewhere: STRUCT_OPTIONS,
            side: "the struct",
        };
        each(&owner, tokens, errors, |value, errors| match value.name() {
            "crate" => options.krate = value.path(errors),
            _ => options.sends = topics(value, errors),
        });
        options
    }
}

/// `#[state(…)]`.
pub(crate) struct StateOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) changelog: bool,
}

impl StateOptions {
    pub(crate) fn read(meta: &Meta, errors: &mut Errors) -> Self {
        let mut options = Self {
            name: None,
            changelog: true,
        };
        let tokens = list(meta, errors);
        each(
            &Owner::of(Helper::State),
            &tokens,
            errors,
            |value, errors| match value.name() {
                "name" => options.name = value.string(errors),
                _ => options.changelog = value.boolean(errors).unwrap_or(true),
            },
        );
        options
    }
}

/// `#[on_message(TOPIC, …)]`; `None` without a usable topic.
pub(crate) fn on_message(meta: &Meta, errors: &mut Errors) -> Option<(Expr, Start)> {
    let missing = "`#[on_message]` needs the topic that it handles: `#[on_message(ORDERS)]`";
    let arguments = in_parentheses(meta, missing, "#[on_message(ORDERS)]", errors)?;
    if let Some(message) = a_type(&arguments.tokens) {
        errors.on(&arguments.tokens, message);
        return None;
    }
    let mut topic = None;
    let mut rest = TokenStream::new();
    let named =
        |input: ParseStream<'_>| input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
    let read = |input: ParseStream<'_>| {
        if input.is_empty() {
            return Ok(());
        }
        if !named(input) {
            let no_topic = |error: syn::Error| {
                syn::Error::new(
                    error.span(),
                    "the topic is a constant or another expression: `#[on_message(ORDERS)]`",
                )
            };
            topic = Some(input.parse::<Expr>().map_err(no_topic)?);
            if !input.is_empty() {
                let no_comma = |error: syn::Error| {
                    syn::Error::new(error.span(), "a comma is missing between the topic and this")
                };
                input.parse::<Token![,]>().map_err(no_comma)?;
            }
        }
        rest = input.parse()?;
        Ok(())
    };
    // With the parentheses: what ends too early is an error at the closing one.
    if let Err(error) = arguments.parse_args_with(read) {
        errors.add(error);
        return None;
    }
    if topic.is_none()
        && let Some(part) = topic_elsewhere(&rest)
    {
        errors.on(
            part,
            "the topic comes first, and without a name: `#[on_message(ORDERS, …)]`",
        );
        return None;
    }
    let mut start = Start::Earliest;
    let rest = without_topics(&rest, errors);
    each(&Owner::of(Helper::OnMessage), &rest, errors, |value, errors| {
        if value.word(&STARTS, errors) == Some("latest") {
            start = Start::Latest;
        }
    });
    match topic {
        None => {
            errors.on(meta, missing);
            None
        }
        Some(topic) => typed_topic(&topic, errors).then_some((topic, start)),
    }
}

/// What is wrong with `Topic<K, V>`, a type, if that was written.
fn a_type(tokens: &TokenStream) -> Option<String> {
    let Ok(Type::Path(ty)) = syn::parse2::<Type>(tokens.clone()) else {
        return None;
    };
    match &ty.path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) if arguments.colon2_token.is_none() => {
            let ty = tokens_as_written(tokens);
            Some(format!(
                "a topic is a constant, not a type: declare `const ORDERS: {ty} = Topic::new(\"orders\");` and write `ORDERS` here"
            ))
        }
        _ => None,
    }
}

/// `Topic<String, i64>` for `Topic < String , i64 >`.
fn tokens_as_written(tokens: &TokenStream) -> String {
    let mut text = tokens.to_string();
    for (spaced, written) in [(" < ", "<"), (" >", ">"), (" ,", ","), (" :: ", "::")] {
        text = text.replace(spaced, written);
    }
    text
}

/// The topic that was written behind an option, or as one: `start = latest, ORDERS`, `topic = ORDERS`.
fn topic_elsewhere(options: &TokenStream) -> Option<TokenStream> {
    let known = Helper::OnMessage.options();
    split_at_commas(options.clone()).into_iter().find(|part| {
        let mut tokens = part.clone().into_iter();
        match tokens.next() {
            Some(TokenTree::Ident(name)) => {
                let name = name.to_string();
                let is_topic = name == "topic" || name == "topics" || tokens.next().is_none();
                is_topic && nearest(&name, known).is_none()
            }
            _ => false,
        }
    })
}

/// The options without what can only be another topic: a constant.
fn without_topics(options: &TokenStream, errors: &mut Errors) -> TokenStream {
    let is_constant = |part: &TokenStream| {
        let path = syn::parse2::<Path>(part.clone());
        let name = path
            .ok()
            .and_then(|path| Some(path.segments.last()?.ident.to_string()));
        name.is_some_and(|name| name.chars().all(|c| !c.is_lowercase()))
    };
    let mut rest = TokenStream::new();
    let mut commas = options.clone().into_iter().filter(is_comma);
    for part in split_at_commas(options.clone()) {
        let comma = commas.next();
        if is_constant(&part) {
            let topic = &part;
            errors.on(
                topic,
                format_args!(
                    "a method handles one topic: write another method, marked `#[on_message({})]`",
                    tokens_as_written(topic)
                ),
            );
            continue;
        }
        rest.extend(part);
        rest.extend(comma);
    }
    rest
}

/// Whether this may be a topic. A literal cannot: it has no types.
fn typed_topic(topic: &Expr, errors: &mut Errors) -> bool {
    if let Expr::Reference(reference) = topic {
        let name = tokens_as_written(&reference.expr.to_token_stream());
        errors.on(
            topic,
            format_args!("a topic is named and not lent: write `{name}`"),
        );
        return false;
    }
    let Expr::Lit(literal) = topic else { return true };
    let name = match &literal.lit {
        syn::Lit::Str(name) => name.value(),
        _ => "orders".to_owned(),
    };
    let constant: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    errors.on(
        topic,
        format_args!(
            "expected a typed topic: declare `const {constant}: Topic<K, V> = Topic::new(\"{name}\");` with the types of its keys and values, and write `{constant}` here"
        ),
    );
    false
}

/// `#[every("10s", …)]`: milliseconds and clock; `None` without a usable period.
pub(crate) fn every(meta: &Meta, errors: &mut Errors) -> Option<(u64, Clock)> {
    let missing = "`#[every]` needs a period: `#[every(\"10s\")]`, or `#[every(\"10s\", stream_time)]`";
    let arguments = in_parentheses(meta, missing, "#[every(\"10s\")]", errors)?;
    let parts = split_at_commas(arguments.tokens.clone());
    let period = |part: &TokenStream| syn::parse2::<LitStr>(part.clone()).ok();
    let (first, rest) = parts.split_first()?;
    if period(first).is_none()
        && let Some(text) = rest.iter().find_map(period)
    {
        let message = format_args!("the period comes first: `#[every({}, …)]`", text.token());
        errors.on(text, message);
        return None;
    }
    let mut options = Vec::new();
    for part in rest {
        match period(part) {
            Some(text) => errors.on(
                &text,
                format_args!(
                    "a method has one period: write another method for `{}`",
                    text.token()
                ),
            ),
            None => options.push(part.clone()),
        }
    }
    let mut clock = Clock::Wall;
    each_part(&Owner::of(Helper::Every), options, errors, |value, errors| {
        if value.flag(errors) {
            clock = Clock::Stream;
        }
    });
    if first.is_empty() {
        errors.on(meta, missing);
        return None;
    }
    let Some(text) = period(first) else {
        errors.on(first, no_period(first));
        return None;
    };
    match duration::parse(&text.value()) {
        Ok(millis) => Some((millis, clock)),
        Err(problem) => {
            errors.on(&text, problem);
            None
        }
    }
}

/// What is wrong with something that is no text.
fn no_period(tokens: &TokenStream) -> String {
    let named = |input: ParseStream<'_>| {
        input.parse::<syn::Ident>()?;
        input.parse::<Token![=]>()?;
        input.parse::<LitStr>()
    };
    if let Ok(text) = named.parse2(tokens.clone()) {
        return format!("the period has no name: write `#[every({})]`", text.token());
    }
    let example = quoted(tokens);
    let is_literal = matches!(tokens.clone().into_iter().next(), Some(TokenTree::Literal(_)));
    let computed = if is_literal {
        ""
    } else {
        "; for one that is computed there is `ctx.schedule(duration, TimerClock::Wall)`"
    };
    format!("a period is a text in quotes, and written here: `#[every(\"{example}\")]`{computed}")
}

/// What was meant by a period that is not in quotes: `10s` for `10s`, `10` and anything else.
fn quoted(tokens: &TokenStream) -> String {
    let text: String = tokens
        .to_string()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    if duration::parse(&text).is_ok() {
        text
    } else {
        "10s".to_owned()
    }
}

/// Refuses arguments.
pub(crate) fn none(meta: &Meta, helper: Helper, errors: &mut Errors) {
    let (tokens, text) = match meta {
        Meta::Path(_) => return,
        Meta::List(list) if list.tokens.is_empty() => return,
        Meta::List(list) => (
            list.tokens.clone(),
            syn::parse2::<LitStr>(list.tokens.clone()).ok(),
        ),
        Meta::NameValue(pair) => (pair.value.to_token_stream(), None),
    };
    let name = helper.name();
    let period = text.filter(|text| duration::parse(&text.value()).is_ok());
    let hint = period.map(|text| format!("; a period is the argument of `#[every({})]`", text.token()));
    errors.on(
        tokens,
        format_args!(
            "`#[{name}]` takes no options: write it alone{}",
            hint.unwrap_or_default()
        ),
    );
}

/// The arguments of an attribute that needs some. `example`: the attribute with the least of them.
fn in_parentheses<'a>(
    meta: &'a Meta,
    missing: &str,
    example: &str,
    errors: &mut Errors,
) -> Option<&'a MetaList> {
    match meta {
        Meta::List(arguments) => return Some(arguments),
        Meta::Path(_) => errors.on(meta, missing),
        Meta::NameValue(pair) => errors.on(
            pair.value.to_token_stream(),
            format_args!("arguments go in parentheses: `{example}`"),
        ),
    }
    None
}

/// The tokens in the parentheses, if there are any.
fn list(meta: &Meta, errors: &mut Errors) -> TokenStream {
    match meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => {
            let name = pair
                .path
                .segments
                .last()
                .map(|segment| segment.ident.to_string())
                .unwrap_or_default();
            let value = pair.value.to_token_stream();
            let text = syn::parse2::<LitStr>(value.clone())
                .map_or_else(|_| "\"…\"".to_owned(), |text| text.token().to_string());
            errors.on(
                value,
                format_args!("options go in parentheses: `#[{name}(name = {text})]`"),
            );
            TokenStream::new()
        }
    }
}

/// `sends(TOPIC, …)`
fn topics(value: &Value, errors: &mut Errors) -> Vec<Expr> {
    let rest: Vec<_> = value.rest().clone().into_iter().collect();
    if !matches!(rest.as_slice(), [TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis) {
        errors.on(
            value.whole(),
            format_args!("`{0}` takes topics: `{0}(TOTALS, ALERTS)`", value.name()),
        );
        return Vec::new();
    }
    let read = |input: ParseStream<'_>| {
        let topics;
        parenthesized!(topics in input);
        topics.call(Punctuated::<Expr, Token![,]>::parse_terminated)
    };
    let no_topics = |error: syn::Error| {
        let message = "topics are constants, separated by commas: `sends(TOTALS, ALERTS)`";
        syn::Error::new(error.span(), message)
    };
    let topics = errors.ok(read.parse2(value.rest().clone()).map_err(no_topics));
    topics
        .into_iter()
        .flatten()
        .filter(|topic| typed_topic(topic, errors))
        .collect()
}
