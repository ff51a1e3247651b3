//! The vocabulary: every attribute and every option that users may write, in one place.
//!
//! What may be here: names, where they may stand, and how to find them among an item's attributes. What an
//! attribute's arguments mean is the business of `parse`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, Meta, Path, parse_quote, spanned::Spanned};

use crate::check;

/// An attribute that is looked for inside a `#[processor]` item. All but `processor` itself have a meaning there only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    Processor,
    State,
    OnMessage,
    Every,
    OnStart,
    OnStop,
    OnSchedule,
}

/// What a helper attribute may be written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Item,
    Field,
    Method,
}

impl Helper {
    pub(crate) const ALL: [Self; 7] = [
        Self::Processor,
        Self::State,
        Self::OnMessage,
        Self::Every,
        Self::OnStart,
        Self::OnStop,
        Self::OnSchedule,
    ];

    /// As users write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::State => "state",
            Self::OnMessage => "on_message",
            Self::Every => "every",
            Self::OnStart => "on_start",
            Self::OnStop => "on_stop",
            Self::OnSchedule => "on_schedule",
        }
    }

    /// Where it may stand.
    pub(crate) fn place(self) -> Place {
        match self {
            Self::Processor => Place::Item,
            Self::State => Place::Field,
            _ => Place::Method,
        }
    }

    /// Its options, by name. (The topic and the period are not options: they come first and have no name.)
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            Self::State => &["name", "changelog"],
            Self::OnMessage => &["start"],
            Self::Every => &["stream_time"],
            Self::Processor | Self::OnStart | Self::OnStop | Self::OnSchedule => &[],
        }
    }

    /// The error for one that was written at a place where it means nothing.
    pub(crate) fn misplaced(self, at: Place) -> String {
        match self {
            Self::Processor => {
                let instead = match at {
                    Place::Item => "",
                    Place::Field => ". A field that is state is marked `#[state]`",
                    Place::Method => ". A method is marked by what it is called for: `#[on_message(TOPIC)]`",
                };
                format!("{}{instead}", check::WRONG_ITEM)
            }
            Self::State => "`#[state]` goes on a field of a struct marked `#[processor]`, such as `totals: Table<String, i64>`, and nowhere else".to_owned(),
            _ => format!(
                "`#[{}]` goes on a method, `fn name(&mut self, …)`, in an impl block marked `#[processor]`, and nowhere else",
                self.name()
            ),
        }
    }
}

/// Options of `#[processor]` on the struct.
pub(crate) const STRUCT_OPTIONS: &[&str] = &["name", "crate"];
/// Options of `#[processor]` on the impl block.
pub(crate) const IMPL_OPTIONS: &[&str] = &["sends", "crate"];
/// Values of `start`, and what they mean.
pub(crate) const STARTS: [(&str, &str); 2] = [
    ("earliest", "with the first record there is"),
    ("latest", "with what comes after the application first ran"),
];

/// An option as it is written.
pub(crate) fn written(option: &str) -> &str {
    match option {
        "name" => "name = \"…\"",
        "crate" => "crate = path",
        "sends" => "sends(TOPIC)",
        "changelog" => "changelog = false",
        "start" => "start = latest",
        flag => flag,
    }
}

/// A helper attribute that was found, and taken from its item.
pub(crate) struct Found {
    pub(crate) helper: Helper,
    pub(crate) meta: Meta,
    /// `#[cfg(…)]` for a helper that came out of `#[cfg_attr(…, helper)]`.
    pub(crate) condition: Option<Attribute>,
}

impl Found {
    pub(crate) fn span(&self) -> Span {
        self.meta.path().span()
    }
}

/// Takes the helper attributes from an item's attributes, wherever they stand among the others.
pub(crate) fn take(attrs: &mut Vec<Attribute>, krate: Option<&Path>) -> Vec<Found> {
    let mut found = Vec::new();
    attrs.retain_mut(|attr| {
        if let Some(helper) = helper(attr.path(), krate) {
            found.push(Found {
                helper,
                meta: attr.meta.clone(),
                condition: None,
            });
            return false;
        }
        take_conditional(attr, krate, &mut found)
    });
    found
}

/// Takes helpers out of `#[cfg_attr(predicate, helper, other)]`. Returns whether anything else is left in it.
fn take_conditional(attr: &mut Attribute, krate: Option<&Path>, found: &mut Vec<Found>) -> bool {
    let Some((predicate, metas)) = conditional(attr) else {
        return true;
    };
    let mut rest = Vec::new();
    let all = metas.len();
    for tokens in metas {
        let meta = syn::parse2::<Meta>(tokens.clone()).ok();
        let helper = meta.as_ref().and_then(|meta| helper(meta.path(), krate));
        match (meta, helper) {
            (Some(meta), Some(helper)) => {
                found.push(Found {
                    helper,
                    meta,
                    condition: Some(parse_quote!(#[cfg(#predicate)])),
                });
            }
            _ => rest.push(tokens),
        }
    }
    if rest.len() < all {
        if rest.is_empty() {
            return false;
        }
        *attr = parse_quote!(#[cfg_attr(#predicate, #(#rest),*)]);
    }
    true
}

/// The parts of `#[cfg_attr(predicate, meta, …)]`.
fn conditional(attr: &Attribute) -> Option<(TokenStream, Vec<TokenStream>)> {
    let Meta::List(list) = &attr.meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let mut parts = split_at_commas(list.tokens.clone()).into_iter();
    let predicate = parts.next()?;
    Some((predicate, parts.filter(|part| !part.is_empty()).collect()))
}

/// The attributes that decide whether the item is there at all: they are copied to what is generated for it.
pub(crate) fn conditions(attrs: &[Attribute]) -> Vec<Attribute> {
    let mut conditions = Vec::new();
    for attr in attrs {
        if attr.path().is_ident("cfg") {
            conditions.push(attr.clone());
        } else if let Some((predicate, metas)) = conditional(attr) {
            let is_cfg = |tokens: &TokenStream| {
                syn::parse2::<Meta>(tokens.clone()).is_ok_and(|meta| meta.path().is_ident("cfg"))
            };
            let cfgs: Vec<_> = metas.into_iter().filter(is_cfg).collect();
            if !cfgs.is_empty() {
                conditions.push(parse_quote!(#[cfg_attr(#predicate, #(#cfgs),*)]));
            }
        }
    }
    conditions
}

/// `on_message`, `kproc::on_message`, `kproc::prelude::on_message`, or through the path given by `crate = …`.
fn helper(path: &Path, krate: Option<&Path>) -> Option<Helper> {
    let names = idents(path);
    let (last, qualifier) = names.split_last()?;
    let helper = Helper::ALL.into_iter().find(|helper| **last == helper.name())?;
    let is_ours = match qualifier {
        [] => path.leading_colon.is_none(),
        [first, ..] if *first == "kproc" => true,
        _ => krate.is_some_and(|krate| qualifier.starts_with(&idents(krate))),
    };
    is_ours.then_some(helper)
}

fn idents(path: &Path) -> Vec<&Ident> {
    path.segments.iter().map(|segment| &segment.ident).collect()
}

/// Splits tokens at the commas that are not inside brackets of any kind but `<>`.
pub(crate) fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => parts.push(TokenStream::new()),
            token => parts.last_mut().expect("there is always one").extend([token]),
        }
    }
    parts
}

/// Whether an attribute that is not ours was perhaps meant to be: the compiler will say that it does not know it, and
/// nothing else should be said because of it.
pub(crate) fn perhaps_meant(attrs: &[Attribute], place: Place) -> bool {
    let names: Vec<_> = Helper::ALL
        .into_iter()
        .filter(|helper| helper.place() == place)
        .map(Helper::name)
        .collect();
    attrs
        .iter()
        .filter_map(|attr| attr.path().get_ident())
        .any(|ident| nearest(&ident.to_string(), &names).is_some())
}

/// A helper attribute that the compiler has reached: it stands outside of any processor.
pub(crate) fn stray(helper: Helper, item: &TokenStream) -> TokenStream {
    let message = match helper.place() {
        Place::Method if is_method(item) => {
            let mark = helper.name();
            // A processor without it would be the next error.
            let another = match helper {
                Helper::OnMessage => "",
                _ => {
                    "; if no method is marked `#[on_message(TOPIC)]` yet, add one: `fn add(&mut self, key: &str, value: i64)`"
                }
            };
            format!(
                "`#[{mark}]` needs a processor around it: write `#[processor]` above this `impl`, and above its struct `struct Name {{ … }}`{another}"
            )
        }
        _ => helper.misplaced(Place::Item),
    };
    // At the attribute, as the user's own code: the compiler would otherwise add that a macro has made the error.
    let users = item.clone().into_iter().next().map(|token| token.span());
    let place = users.map_or(Span::call_site(), |span| span.located_at(Span::call_site()));
    let error = syn::Error::new(place, message).to_compile_error();
    quote!(#item #error)
}

/// Whether these are a function that takes `self`.
fn is_method(item: &TokenStream) -> bool {
    arguments_of(item.clone()).is_some_and(|arguments| {
        let first = split_at_commas(arguments).swap_remove(0);
        first
            .into_iter()
            .any(|token| matches!(token, TokenTree::Ident(word) if word == "self"))
    })
}

/// What is between the parentheses of a function: not in those of its visibility, nor of its generic parameters.
pub(crate) fn arguments_of(function: impl IntoIterator<Item = TokenTree>) -> Option<TokenStream> {
    let mut tokens = function.into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word == "fn"))?;
    let mut angles = Angles::default();
    tokens.find_map(|token| match &token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis && !angles.are_open() => {
            Some(group.stream())
        }
        _ => {
            angles.pass(&token);
            None
        }
    })
}

/// Which `<>` are open, which are no brackets to the compiler's tokens.
#[derive(Default)]
pub(crate) struct Angles {
    depth: usize,
    /// The `>` of an arrow closes nothing.
    after_minus: bool,
}

impl Angles {
    pub(crate) fn are_open(&self) -> bool {
        self.depth > 0
    }

    pub(crate) fn pass(&mut self, token: &TokenTree) {
        let punct = match token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        };
        match punct {
            Some('<') => self.depth += 1,
            Some('>') if !self.after_minus => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.after_minus = punct == Some('-');
    }
}

/// The nearest of the known names, if it is near enough to have been meant.
pub(crate) fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let name = name.to_lowercase().replace('-', "_");
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&name, known), *known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min()
        .map(|(_, known)| known)
}
