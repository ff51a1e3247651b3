//! What stands in the parentheses of an attribute.
//!
//! Everything here goes on after an error, so that one build shows all of them.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, LitBool, LitStr, Meta, Path, Token,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
};

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
            _ => options.sends = value.topics(errors),
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
    let Meta::List(arguments) = meta else {
        errors.on(meta, missing);
        return None;
    };
    let mut topic = None;
    let mut rest = TokenStream::new();
    let named =
        |input: ParseStream<'_>| input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
    let read = |input: ParseStream<'_>| {
        if input.is_empty() {
            return Ok(());
        }
        if !named(input) {
            topic = Some(input.parse::<Expr>()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        rest = input.parse()?;
        Ok(())
    };
    if let Err(error) = read.parse2(arguments.tokens.clone()) {
        errors.add(error);
        return None;
    }
    let mut start = Start::Earliest;
    each(&Owner::of(Helper::OnMessage), &rest, errors, |value, errors| {
        if value.word(STARTS, errors) == Some("latest") {
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

/// Whether this may be a topic. A literal cannot: it has no types.
fn typed_topic(topic: &Expr, errors: &mut Errors) -> bool {
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
    let Meta::List(arguments) = meta else {
        errors.on(meta, missing);
        return None;
    };
    let mut parts = arguments.tokens.clone().into_iter();
    let first: TokenStream = parts.by_ref().take_while(|token| !is_comma(token)).collect();
    let rest: TokenStream = parts.collect();
    let mut clock = Clock::Wall;
    each(&Owner::of(Helper::Every), &rest, errors, |value, errors| {
        if value.flag(errors) {
            clock = Clock::Stream;
        }
    });
    if first.is_empty() {
        errors.on(meta, missing);
        return None;
    }
    let Ok(text) = syn::parse2::<LitStr>(first.clone()) else {
        errors.on(
            &first,
            format_args!("a period is a text in quotes: `#[every(\"{}\")]`", quoted(&first)),
        );
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

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

/// Refuses arguments.
pub(crate) fn none(helper: Helper, meta: &Meta, errors: &mut Errors) {
    let tokens = list(meta, errors);
    if !tokens.is_empty() {
        errors.on(tokens, format_args!("`#[{}]` takes no options", helper.name()));
    }
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
            errors.on(meta, format_args!("options go in parentheses: `#[{name}(…)]`"));
            TokenStream::new()
        }
    }
}

/// The attribute whose options are read.
pub(crate) struct Owner {
    pub(crate) name: &'static str,
    pub(crate) known: &'static [&'static str],
    /// Options that belong to the other half of a processor, and what that is.
    pub(crate) elsewhere: &'static [&'static str],
    pub(crate) side: &'static str,
}

impl Owner {
    fn of(helper: Helper) -> Self {
        Self {
            name: helper.name(),
            known: helper.options(),
            elsewhere: &[],
            side: "",
        }
    }

    fn unknown(&self, name: &str) -> String {
        let owner = self.name;
        if self.elsewhere.contains(&name) {
            return format!("`{name}` goes in the `#[{owner}(…)]` on {}", self.side);
        }
        let hint = match (nearest(name, self.known), self.known) {
            (Some(near), _) => format!("; did you mean `{near}`?"),
            (None, []) => format!(": `#[{owner}]` has none"),
            (None, known) => format!(": `#[{owner}]` has {}", and(known)),
        };
        format!("unknown option `{name}`{hint}")
    }
}

/// `` `a`, `b` and `c` ``
fn and(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// One option: its name and what follows it.
pub(crate) struct Value {
    ident: Ident,
    text: String,
    rest: TokenStream,
}

/// Calls `take` for each known option, once.
pub(crate) fn each(
    owner: &Owner,
    tokens: &TokenStream,
    errors: &mut Errors,
    mut take: impl FnMut(&Value, &mut Errors),
) {
    let mut seen: Vec<String> = Vec::new();
    let parts = split_at_commas(tokens.clone());
    let last = parts.len() - 1;
    for (number, part) in parts.into_iter().enumerate() {
        let mut part = part.into_iter();
        let ident = match part.next() {
            // A trailing comma, or nothing at all.
            None if number == last => continue,
            None => {
                errors.on(tokens, "an option is missing before a comma");
                continue;
            }
            Some(TokenTree::Ident(ident)) => ident,
            Some(other) => {
                let all: TokenStream = std::iter::once(other).chain(part).collect();
                let known = match owner.known {
                    [] => "there are none".to_owned(),
                    known => format!("there is {}", and(known)),
                };
                errors.on(all, format_args!("expected the name of an option: {known}"));
                continue;
            }
        };
        let value = Value {
            text: ident.to_string(),
            ident,
            rest: part.collect(),
        };
        if !owner.known.contains(&value.name()) {
            errors.on(&value.ident, owner.unknown(value.name()));
        } else if seen.contains(&value.text) {
            errors.on(&value.ident, format_args!("`{}` is given twice", value.text));
        } else {
            seen.push(value.text.clone());
            take(&value, errors);
        }
    }
}

impl Value {
    pub(crate) fn name(&self) -> &str {
        &self.text
    }

    /// All of it, for errors.
    pub(crate) fn whole(&self) -> TokenStream {
        let mut whole = self.ident.to_token_stream();
        whole.extend(self.rest.clone());
        whole
    }

    /// What follows `=`.
    fn assigned<T: syn::parse::Parse>(&self) -> Option<T> {
        let read = |input: ParseStream<'_>| {
            input.parse::<Token![=]>()?;
            input.parse::<T>()
        };
        read.parse2(self.rest.clone()).ok()
    }

    fn string(&self, errors: &mut Errors) -> Option<LitStr> {
        let value = self.assigned();
        if value.is_none() {
            errors.on(
                self.whole(),
                format_args!("`{0}` takes a text: `{0} = \"…\"`", self.text),
            );
        }
        value
    }

    fn boolean(&self, errors: &mut Errors) -> Option<bool> {
        let value = self.assigned::<LitBool>().map(|value| value.value);
        if value.is_none() {
            errors.on(
                self.whole(),
                format_args!("`{0}` is `{0} = true` or `{0} = false`", self.text),
            );
        }
        value
    }

    /// A path; in quotes, too, as other macros want it.
    pub(crate) fn path(&self, errors: &mut Errors) -> Option<Path> {
        let path = if let Some(text) = self.assigned::<LitStr>() {
            text.parse_with(Path::parse_mod_style).ok()
        } else {
            let read = |input: ParseStream<'_>| {
                input.parse::<Token![=]>()?;
                input.call(Path::parse_mod_style)
            };
            read.parse2(self.rest.clone()).ok()
        };
        if path.is_none() {
            errors.on(
                self.whole(),
                format_args!("`{0}` takes the path of kproc: `{0} = facade::kproc`", self.text),
            );
        }
        path
    }

    /// One of the words after `=`.
    fn word(&self, words: &[&'static str], errors: &mut Errors) -> Option<&'static str> {
        let quoted = self.assigned::<LitStr>().map(|text| text.value());
        let bare = self.assigned::<Ident>().map(|word| word.to_string());
        let found = bare
            .as_ref()
            .and_then(|word| words.iter().find(|known| *known == word));
        if found.is_none() {
            let name = &self.text;
            let near = bare.or(quoted).and_then(|word| nearest(&word, words));
            let hint = near.map(|near| format!(": did you mean `{name} = {near}`?"));
            let hint = hint.unwrap_or_default();
            let choices = and(words).replace(" and ", " or ");
            errors.on(self.whole(), format_args!("`{name}` is {choices}{hint}"));
        }
        found.copied()
    }

    /// Nothing follows.
    pub(crate) fn flag(&self, errors: &mut Errors) -> bool {
        if !self.rest.is_empty() {
            errors.on(
                self.whole(),
                format_args!("`{0}` takes no value: write `{0}` alone", self.text),
            );
        }
        self.rest.is_empty()
    }

    /// `(TOPIC, …)`
    fn topics(&self, errors: &mut Errors) -> Vec<Expr> {
        let rest: Vec<_> = self.rest.clone().into_iter().collect();
        let [TokenTree::Group(group)] = rest.as_slice() else {
            errors.on(
                self.whole(),
                format_args!("`{0}` takes topics: `{0}(TOTALS, ALERTS)`", self.text),
            );
            return Vec::new();
        };
        let topics = errors.ok(Punctuated::<Expr, Token![,]>::parse_terminated.parse2(group.stream()));
        topics
            .into_iter()
            .flatten()
            .filter(|topic| typed_topic(topic, errors))
            .collect()
    }
}
