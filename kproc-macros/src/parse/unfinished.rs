//! What a user is still writing. The compiler parses an item before it gives it to us, reports what it does not
//! understand, and gives us the tokens all the same: to say it again would be a second error for one mistake.
//!
//! What may be here: finding the end of what cannot be read, and whether the compiler has certainly refused it. Where
//! that is not certain, for it may know newer syntax than we do, we must say that we cannot read it.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::{
    Attribute, Data, DataStruct, DeriveInput, Field, Fields, FieldsNamed, Generics, Path, Token, braced,
    parse::{ParseStream, Parser, discouraged::Speculative},
    punctuated::Punctuated,
};

use crate::{
    attributes::{self, Angles},
    errors::Errors,
};

/// The tokens up to the end of an item of a block, or to the attributes of the next one.
pub(super) fn item(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && (tokens.is_empty() || !input.peek(Token![#])) {
        let token: TokenTree = input.parse()?;
        // A block in `<>` is an argument, and no body.
        let is_body = matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
            && !input.peek(Token![>])
            && !input.peek(Token![,]);
        let is_last = is_punct(&token, ';') || is_body;
        tokens.append(token);
        if is_last {
            break;
        }
    }
    Ok(tokens)
}

/// How far a function is that we cannot read.
pub(super) enum Progress {
    /// The compiler has refused it and would do so again, in other words.
    Begun,
    /// The compiler has refused it and knows how to go on.
    Nearly,
    /// It is perhaps right, and newer than we are.
    Perhaps,
}

/// Looks for a body, for the type behind the arrow, and for the types of the arguments.
pub(super) fn function(tokens: &TokenStream) -> Progress {
    let tokens: Vec<_> = tokens.clone().into_iter().collect();
    let signature = match tokens.split_last() {
        Some((TokenTree::Group(body), signature)) if body.delimiter() == Delimiter::Brace => signature,
        _ => return Progress::Begun,
    };
    // The conditions of a `where` may end with a comma.
    let has_comma = signature.last().is_some_and(|token| is_punct(token, ','));
    if ends_early(signature) && !has_comma {
        return Progress::Begun;
    }
    // It has a meaning elsewhere only.
    let is_safe = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "safe");
    let mut qualifiers = signature.iter().take_while(|token| !is_fn(token));
    if qualifiers.any(is_safe) {
        return Progress::Nearly;
    }
    let Some(arguments) = attributes::arguments_of(signature.iter().cloned()) else {
        return Progress::Begun;
    };
    let is_half = |argument: &Vec<TokenTree>| match argument.as_slice() {
        [TokenTree::Ident(name)] => name != "self",
        tokens => ends_early(tokens),
    };
    if split_outside_angles(arguments).iter().any(is_half) {
        Progress::Nearly
    } else {
        Progress::Perhaps
    }
}

fn is_fn(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(word) if word == "fn")
}

/// Whether no type ends like this.
fn ends_early(tokens: &[TokenTree]) -> bool {
    matches!(tokens.last(), Some(TokenTree::Punct(punct)) if matches!(punct.as_char(), ':' | '<' | '&' | '=' | '+' | ','))
        || matches!(tokens, [.., minus, arrow] if is_punct(minus, '-') && is_punct(arrow, '>'))
}

fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

/// The parts between commas that are in no brackets, `<>` among them.
fn split_outside_angles(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    let mut angles = Angles::default();
    for token in tokens {
        if is_punct(&token, ',') && !angles.are_open() {
            parts.push(Vec::new());
            continue;
        }
        angles.pass(&token);
        if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    parts
}

/// A struct without the fields that cannot be read; and these, without our marks, unless the compiler has certainly
/// refused them. `None` if more than fields is unfinished.
pub(crate) fn structure(
    tokens: &TokenStream,
    krate: Option<&Path>,
    errors: &mut Errors,
) -> Option<(DeriveInput, TokenStream)> {
    let read = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let struct_token = input.parse()?;
        let ident = input.parse()?;
        let mut generics: Generics = input.parse()?;
        generics.where_clause = input.parse()?;
        let content;
        let brace_token = braced!(content in input);
        let mut named = Punctuated::new();
        let mut rest = TokenStream::new();
        while !content.is_empty() {
            let ahead = content.fork();
            if let Ok(field) = Field::parse_named(&ahead) {
                content.advance_to(&ahead);
                named.push(field);
                // A comma that is missing, or is none, has been told of.
                if content.peek(Token![,]) || content.peek(Token![;]) {
                    content.parse::<TokenTree>()?;
                }
            } else {
                rest.extend(unreadable_field(&content, krate, errors)?);
            }
        }
        let fields = Fields::Named(FieldsNamed { brace_token, named });
        let data = Data::Struct(DataStruct {
            struct_token,
            fields,
            semi_token: None,
        });
        let item = DeriveInput {
            attrs,
            vis,
            ident,
            generics,
            data,
        };
        Ok((item, rest))
    };
    read.parse2(tokens.clone()).ok()
}

/// The tokens up to the next comma, if they are perhaps a field. One that is marked must not be passed over in silence.
fn unreadable_field(
    input: ParseStream<'_>,
    krate: Option<&Path>,
    errors: &mut Errors,
) -> syn::Result<TokenStream> {
    let ahead = input.fork();
    let mut attrs = input.call(Attribute::parse_outer)?;
    let is_marked = !attributes::take(&mut attrs, krate).is_empty();
    let mut field: Vec<TokenTree> = Vec::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        field.push(input.parse()?);
    }
    let comma: Option<Token![,]> = input.parse()?;
    let has_type = field.iter().any(|token| is_punct(token, ':'));
    let opened = field.iter().filter(|token| is_punct(token, '<')).count();
    let closed = field.iter().filter(|token| is_punct(token, '>')).count();
    let is_open = opened > closed;
    let is_certain = !has_type || is_open || ends_early(&field);
    if is_certain && input.is_empty() && (comma.is_none() || is_open) {
        // At another bracket than it was, the compiler would not know what it has said already.
        return Ok(TokenStream::new());
    }
    if is_marked
        && !is_certain
        && let Err(error) = Field::parse_named(&ahead)
    {
        errors.add(error);
    }
    let mut tokens = TokenStream::new();
    tokens.append_all(attrs);
    tokens.append_all(field);
    comma.to_tokens(&mut tokens);
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(function: &str) -> &'static str {
        let tokens = item.parse_str(function).unwrap();
        assert_eq!(
            tokens.to_string(),
            function.parse::<TokenStream>().unwrap().to_string()
        );
        match super::function(&tokens) {
            Progress::Begun => "begun",
            Progress::Nearly => "nearly",
            Progress::Perhaps => "perhaps",
        }
    }

    /// In syntax of the future, which is `become` here: whoever has marked it must hear that it is not read.
    #[test]
    fn what_may_be_right_is_not_taken_for_unfinished() {
        for function in [
            "pub(crate) fn add(&mut self, n: become i64) { }",
            "pub(in a::b) fn add(&mut self, n: become i64) { }",
            "fn add<F: Fn(u8) -> u8>(&mut self, f: become F) { }",
            "fn add(&mut self, n: become i64) where i64: Copy, { }",
            "fn add(&mut self, n: become i64) -> Rows<{ 2 }> { }",
            "fn add(&mut self, n: become i64) -> Rows<{ 2 }, 3> { }",
        ] {
            assert_eq!(progress(function), "perhaps", "{function}");
        }
        for (function, expected) in [
            ("pub(crate) fn add", "begun"),
            ("fn add(&mut self) -> { }", "begun"),
            ("fn add(&mut self) -> Result<{ }", "begun"),
            ("pub(crate) fn add(&mut self, n) { }", "nearly"),
            ("fn add(&mut self, n:) { }", "nearly"),
        ] {
            assert_eq!(progress(function), expected, "{function}");
        }
    }
}
