//! Options, which all attributes read alike: names with what follows them, separated by commas.
//!
//! What may be here: how options are read, and what is said of those that cannot be. Which options an attribute has, and what
//! they mean, is said where it is read.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    LitBool, LitStr, Path, Token, parenthesized,
    parse::{ParseStream, Parser},
};

use crate::{
    attributes::{Helper, nearest, split_at_commas, written},
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
        if let Some(option) = negated(part)
            && self.known.contains(&option.as_str())
        {
            return format!("an option is switched off by a value: write `{option} = false`");
        }
        match self.known {
            [] => "expected the name of an option: there are none".to_owned(),
            [only] => format!("expected the name of an option: there is `{}`", written(only)),
            known => format!("expected the name of an option: there are {}", and(known)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let owner = self.name;
        if self.elsewhere.contains(&name) {
            return format!("`{name}` goes in the `#[{owner}(…)]` on {}", self.side);
        }
        if owner == "every" && name.to_lowercase().starts_with("wall") {
            return format!("`#[every]` goes by the wall clock of itself: remove `{name}`");
        }
        let hint = match (nearest(name, self.known), self.known) {
            (Some(near), _) => format!("; did you mean `{near}`?"),
            (None, []) => format!(": `#[{owner}]` has none"),
            (None, known) => format!(": `#[{owner}]` has {}", and(known)),
        };
        format!("unknown option `{name}`{hint}")
    }
}

/// `changelog` in `!changelog`.
fn negated(part: &TokenStream) -> Option<String> {
    let read = |input: ParseStream<'_>| {
        input.parse::<Token![!]>()?;
        input.parse::<Ident>()
    };
    Some(read.parse2(part.clone()).ok()?.to_string())
}

/// `` `a = b`, `c` and `d` ``
fn and(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{}`", written(name))).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// `` `start = a` (this) or `start = b` (that) ``
fn choices(name: &str, words: &[(&str, &str)]) -> String {
    let all: Vec<_> = words
        .iter()
        .map(|(word, meaning)| format!("`{name} = {word}` ({meaning})"))
        .collect();
    all.join(" or ")
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
                format_args!("`{0}` takes a text in quotes: `{0} = \"…\"`", self.text),
            );
        }
        value
    }

    pub(super) fn boolean(&self, errors: &mut Errors) -> Option<bool> {
        let value = self.assigned::<LitBool>().map(|value| value.value);
        if value.is_none() {
            errors.on(
                self.wrong(),
                format_args!(
                    "`{0}` is on or off: write `{0} = true` or `{0} = false`",
                    self.text
                ),
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
                format_args!("`{0}` takes the path of kproc: `{0} = facade::kproc`. Leave it out if kproc is a dependency of this crate", self.text),
            );
        }
        path
    }

    /// One of the words after `=`. They come with what they mean.
    pub(super) fn word(
        &self,
        words: &[(&'static str, &'static str)],
        errors: &mut Errors,
    ) -> Option<&'static str> {
        let bare = self.assigned::<Ident>().map(|word| word.to_string());
        let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let found = bare
            .as_ref()
            .and_then(|word| names.iter().find(|known| *known == word));
        if found.is_none() {
            let name = &self.text;
            let given = bare.or_else(|| self.almost_a_word());
            let text = match given.as_ref().map(|given| (given, nearest(given, &names))) {
                Some((given, Some(near))) if given == near => format!("write `{name} = {near}`"),
                Some((given, Some(near))) => {
                    format!("unknown {name} `{given}`: did you mean `{name} = {near}`?")
                }
                Some((given, None)) => format!("unknown {name} `{given}`: there is {}", choices(name, words)),
                None => format!("`{name}` takes a word: {}", choices(name, words)),
            };
            errors.on(self.wrong(), text);
        }
        found.copied()
    }

    /// The word that was given as a text or in parentheses.
    fn almost_a_word(&self) -> Option<String> {
        if let Some(text) = self.assigned::<LitStr>() {
            return Some(text.value());
        }
        let read = |input: ParseStream<'_>| {
            let word;
            parenthesized!(word in input);
            word.parse::<Ident>()
        };
        Some(read.parse2(self.rest.clone()).ok()?.to_string())
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
