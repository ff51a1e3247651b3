//! Options, which all attributes read alike: names with what follows them, separated by commas.
//!
//! What may be here: how options are read, and what is said of those that cannot be. Which options an attribute has, and what
//! they mean, is said where it is read.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    LitBool, LitStr, Path, Token,
    parse::{ParseStream, Parser},
};

use crate::{
    attributes::{Helper, nearest, split_at_commas},
    errors::Errors,
};

/// The attribute whose options are read.
pub(crate) struct Owner {
    pub(crate) name: &'static str,
    pub(crate) known: &'static [&'static str],
    /// Options that belong to the other half of a processor, and what that is.
    pub(crate) elsewhere: &'static [&'static str],
    pub(crate) side: &'static str,
}

impl Owner {
    pub(super) fn of(helper: Helper) -> Self {
        Self {
            name: helper.name(),
            known: helper.options(),
            elsewhere: &[],
            side: "",
        }
    }

    /// The error for something that has no name in front.
    fn no_name(&self, part: &TokenStream) -> String {
        if let Ok(text) = syn::parse2::<LitStr>(part.clone()) {
            if self.known.contains(&"name") {
                return format!("a text needs the option's name: `name = {}`", text.token());
            }
            if let Some(word) = self.known.iter().find(|known| **known == text.value()) {
                return format!("this is a word, not a text: write `{word}` without the quotes");
            }
        }
        match self.known {
            [] => "expected the name of an option: there are none".to_owned(),
            [only] => format!("expected the name of an option: there is `{only}`"),
            known => format!("expected the name of an option: there are {}", and(known)),
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
    take: impl FnMut(&Value, &mut Errors),
) {
    let mut commas = tokens.clone().into_iter().filter(is_comma);
    let mut parts = Vec::new();
    let mut all = split_at_commas(tokens.clone()).into_iter().peekable();
    while let Some(part) = all.next() {
        let comma = commas.next();
        match comma {
            Some(comma) if part.is_empty() => errors.on(comma, "nothing stands before this comma: remove it"),
            // A trailing comma, or nothing at all.
            _ if part.is_empty() && all.peek().is_none() => {}
            _ => parts.push(part),
        }
    }
    each_part(owner, parts, errors, take);
}

pub(super) fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

/// The same for options that were separated already.
pub(super) fn each_part(
    owner: &Owner,
    parts: Vec<TokenStream>,
    errors: &mut Errors,
    mut take: impl FnMut(&Value, &mut Errors),
) {
    let mut seen: Vec<String> = Vec::new();
    for part in parts {
        let mut tokens = part.clone().into_iter();
        let ident = match tokens.next() {
            None => continue,
            Some(TokenTree::Ident(ident)) => ident,
            Some(_) => {
                errors.on(&part, owner.no_name(&part));
                continue;
            }
        };
        let value = Value {
            text: ident.to_string(),
            ident,
            rest: tokens.collect(),
        };
        if !owner.known.contains(&value.name()) {
            errors.on(&value.ident, owner.unknown(value.name()));
        } else if seen.contains(&value.text) {
            errors.on(
                &value.ident,
                format_args!(
                    "`{}` is given twice: remove this one, or the one before",
                    value.text
                ),
            );
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

    /// What follows the name.
    pub(super) fn rest(&self) -> &TokenStream {
        &self.rest
    }

    /// All of it, for errors.
    pub(crate) fn whole(&self) -> TokenStream {
        let mut whole = self.ident.to_token_stream();
        whole.extend(self.rest.clone());
        whole
    }

    /// What is wrong if the value is: what follows `=`, or all of it.
    fn wrong(&self) -> TokenStream {
        let mut rest = self.rest.clone().into_iter();
        match rest.next() {
            Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
                let value: TokenStream = rest.collect();
                if value.is_empty() { self.whole() } else { value }
            }
            _ => self.whole(),
        }
    }

    /// What follows `=`.
    fn assigned<T: syn::parse::Parse>(&self) -> Option<T> {
        let read = |input: ParseStream<'_>| {
            input.parse::<Token![=]>()?;
            input.parse::<T>()
        };
        read.parse2(self.rest.clone()).ok()
    }

    pub(super) fn string(&self, errors: &mut Errors) -> Option<LitStr> {
        let value = self.assigned();
        if value.is_none() {
            errors.on(
                self.wrong(),
                format_args!("`{0}` takes a text: `{0} = \"…\"`", self.text),
            );
        }
        value
    }

    pub(super) fn boolean(&self, errors: &mut Errors) -> Option<bool> {
        let value = self.assigned::<LitBool>().map(|value| value.value);
        if value.is_none() {
            errors.on(
                self.wrong(),
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
                self.wrong(),
                format_args!("`{0}` takes the path of kproc: `{0} = facade::kproc`", self.text),
            );
        }
        path
    }

    /// One of the words after `=`.
    pub(super) fn word(&self, words: &[&'static str], errors: &mut Errors) -> Option<&'static str> {
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
            errors.on(self.wrong(), format_args!("`{name}` is {choices}{hint}"));
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
}
