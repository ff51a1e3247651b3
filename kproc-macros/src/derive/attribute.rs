//! `#[codec(format, crate = path)]`.

use quote::{ToTokens, quote};
use syn::{DeriveInput, Meta};

use crate::{
    errors::Errors,
    parse::options::{Owner, each},
};
use proc_macro2::TokenStream;

/// How values become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Postcard,
}

/// What the attribute says.
pub(super) struct Options {
    /// `None` after an error.
    pub(super) format: Option<Format>,
    /// Where kproc is.
    pub(super) krate: TokenStream,
}

const OWNER: Owner = Owner {
    name: "codec",
    known: &["json", "postcard", "crate"],
    elsewhere: &[],
    side: "",
};

impl Options {
    /// Reads the `#[codec(…)]` of the type; goes on after an error.
    pub(super) fn read(item: &DeriveInput, errors: &mut Errors) -> Self {
        let mut options = Self {
            format: None,
            krate: quote!(::kproc),
        };
        let before = errors.count();
        let mut attributes = item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("codec"));
        match attributes.next().map(|attribute| &attribute.meta) {
            Some(Meta::List(list)) => options.read_list(&list.tokens, errors),
            Some(meta) => errors.on(meta, "options go in parentheses: `#[codec(json)]`"),
            None => {}
        }
        for again in attributes {
            errors.on(
                again,
                "`#[codec]` is given twice: write everything into the first one",
            );
        }
        if options.format.is_none() && errors.count() == before {
            errors.on(
                &item.ident,
                "`#[derive(Codec)]` needs a format: add `#[codec(json)]` or `#[codec(postcard)]`",
            );
        }
        options
    }

    fn read_list(&mut self, tokens: &TokenStream, errors: &mut Errors) {
        each(&OWNER, tokens, errors, |value, errors| {
            let format = match value.name() {
                "json" => Format::Json,
                "postcard" => Format::Postcard,
                _ => {
                    self.krate = value
                        .path(errors)
                        .map_or(quote!(::kproc), ToTokens::into_token_stream);
                    return;
                }
            };
            if !value.flag(errors) {
                return;
            }
            match self.format {
                None => self.format = Some(format),
                Some(_) => errors.on(
                    value.whole(),
                    "a type has one format, and the one before this is it: keep one of them",
                ),
            }
        });
    }
}
