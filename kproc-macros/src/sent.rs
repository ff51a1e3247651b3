//! What a handler's body sends, where the compiler cannot say what is wrong: it asks for the type of a bare `None`, and takes a
//! value for a key if there is no key.
//!
//! A body is not parsed: it may be half-written, and belongs to the compiler. What may be here: calls `ctx.send(…)` and
//! `ctx.message(…)` of the handler's own context, found among the body's tokens. The error takes the place of the argument
//! that is wrong, or that is missing; all else stays, so that editors complete in it.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Error, FnArg, Pat, Signature};

use crate::{
    attributes::split_at_commas,
    known::{self, Form},
};

/// The name of the context among a handler's arguments.
pub(crate) fn context(sig: &Signature) -> Option<&Ident> {
    sig.inputs.iter().find_map(|argument| match argument {
        FnArg::Typed(argument) if known::context(&argument.ty) == Some(Form::Mutable) => match &*argument.pat
        {
            Pat::Ident(name) => Some(&name.ident),
            _ => None,
        },
        _ => None,
    })
}

/// The body with an error in each call that has one. `None`: there is nothing to say.
pub(crate) fn checked(body: &TokenTree, ctx: &Ident) -> Option<TokenTree> {
    let TokenTree::Group(group) = body else {
        return None;
    };
    let mut reader = Reader { ctx, found: false };
    let tokens = reader.read(group.stream())?;
    reader.found.then(|| in_group(group, tokens).into())
}

struct Reader<'a> {
    ctx: &'a Ident,
    found: bool,
}

impl Reader<'_> {
    /// `None`: the name of the context may be that of something else there.
    fn read(&mut self, tokens: TokenStream) -> Option<TokenStream> {
        let mut tokens: Vec<_> = tokens.into_iter().collect();
        for at in 0..tokens.len() {
            if self.is_context(&tokens[at]) && is_declared(&tokens, at) {
                return None;
            }
            let TokenTree::Group(group) = &tokens[at] else {
                continue;
            };
            let mut inside = self.read(group.stream())?;
            if let Some(method) = self.method(&tokens[..at], group) {
                inside = self.arguments(&method, inside);
            }
            tokens[at] = in_group(group, inside).into();
        }
        Some(tokens.into_iter().collect())
    }

    fn is_context(&self, token: &TokenTree) -> bool {
        matches!(token, TokenTree::Ident(name) if name == self.ctx)
    }

    /// The method's name, if these are `ctx.send` before its arguments.
    fn method(&self, before: &[TokenTree], arguments: &Group) -> Option<Ident> {
        let [earlier @ .., ctx, dot, TokenTree::Ident(method)] = before else {
            return None;
        };
        let is_call = arguments.delimiter() == Delimiter::Parenthesis
            && self.is_context(ctx)
            && is_punct(Some(dot), '.')
            && !is_punct(earlier.last(), '.')
            && (method == "send" || method == "message");
        is_call.then(|| method.clone())
    }

    /// The arguments of such a call, with an error if something is wrong with them.
    fn arguments(&mut self, method: &Ident, tokens: TokenStream) -> TokenStream {
        let mut arguments = split_at_commas(tokens.clone());
        if arguments.last().is_some_and(TokenStream::is_empty) {
            arguments.pop();
        }
        match arguments.as_mut_slice() {
            [topic, rest] => {
                let message = format!(
                    "`{method}` takes a topic, a key and a value: `{}.{method}(&TOPIC, key, &value)`. A record without a key has the key `Null`",
                    self.ctx
                );
                let missing = error(&*rest, &message);
                self.found = true;
                quote!(#topic, #missing, #rest)
            }
            [_, key, value] => {
                let nulls = [
                    (key, "`None` alone has no type: no key is written `Null`"),
                    (
                        value,
                        "`None` alone has no type: no value, a tombstone, is written `Null`",
                    ),
                ];
                let mut any = false;
                for (argument, message) in nulls {
                    if is_none(argument) {
                        *argument = error(&*argument, message);
                        any = true;
                    }
                }
                self.found |= any;
                if any { quote!(#(#arguments),*) } else { tokens }
            }
            _ => tokens,
        }
    }
}

/// Whether the name here is that of something new: then calls of it are none of ours.
fn is_declared(tokens: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let after = tokens.get(at + 1);
    let compared = is_punct(tokens.get(at + 2), '=');
    (before.is_some_and(declares) && !borrowed(tokens, at))
        || is_punct(before, '|')
        || (is_punct(after, '=') && !compared)
        || is_punct(after, '@')
}

/// The words before a new name.
fn declares(token: &TokenTree) -> bool {
    let words = ["let", "mut", "ref", "for"];
    matches!(token, TokenTree::Ident(name) if words.iter().any(|word| name == word))
}

/// `&mut ctx` borrows it, which declares nothing.
fn borrowed(tokens: &[TokenTree], at: usize) -> bool {
    at >= 2 && is_punct(Some(&tokens[at - 2]), '&')
}

fn is_none(argument: &TokenStream) -> bool {
    let mut tokens = argument.clone().into_iter();
    matches!((tokens.next(), tokens.next()), (Some(TokenTree::Ident(word)), None) if word == "None")
}

fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

/// An expression of any type that is an error on these tokens.
fn error(tokens: impl ToTokens, message: &str) -> TokenStream {
    Error::new_spanned(tokens, message).to_compile_error()
}

fn in_group(group: &Group, tokens: TokenStream) -> Group {
    let mut new = Group::new(group.delimiter(), tokens);
    new.set_span(group.span());
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    /// The errors in a body, in order, and what is left of it.
    fn errors(body: TokenStream) -> Vec<String> {
        let body = TokenTree::Group(Group::new(Delimiter::Brace, body));
        let ctx = Ident::new("ctx", Span::call_site());
        let text = checked(&body, &ctx)
            .map(|checked| checked.to_string())
            .unwrap_or_default();
        let after = text.split("compile_error ! {").skip(1);
        after
            .map(|text| text.split('"').nth(1).unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn a_bare_none_is_found_wherever_it_is_sent() {
        let value = "`None` alone has no type: no value, a tombstone, is written `Null`";
        let key = "`None` alone has no type: no key is written `Null`";
        assert_eq!(errors(quote!(ctx.send(&A, word, None)?;)), [value]);
        assert_eq!(errors(quote!(ctx.message(&A, None, &n).send()?;)), [key]);
        assert_eq!(
            errors(quote!(if n > 0 {
                for i in 0..n {
                    ctx.send(&A, None, None)?;
                }
            })),
            [key, value]
        );
        assert_eq!(errors(quote!(other(|| { ctx.send(&A, f(x, y), None) }))), [value]);
    }

    #[test]
    fn a_record_without_key_is_found_and_stays() {
        let found = errors(quote!(ctx.send(&A, &n)?;));
        assert!(
            found.len() == 1 && found[0].starts_with("`send` takes a topic, a key and a value"),
            "{found:?}"
        );
        let body = TokenTree::Group(Group::new(Delimiter::Brace, quote!(ctx.send(&A, wo))));
        let checked = checked(&body, &Ident::new("ctx", Span::call_site())).expect("an error");
        assert!(checked.to_string().contains("wo"), "{checked}");
    }

    #[test]
    fn what_may_be_right_is_left_alone() {
        for right in [
            quote!(ctx.send(&A, word, &n)?;),
            quote!(ctx.send(&A, Some(word), None::<&i64>)?;),
            quote!(self.ctx.send(a, None)?;),
            quote!(other.send(a, None)?;),
            quote!(ctx.send),
            quote!(ctx.send(a)),
            quote!(let ctx = other; ctx.send(a, None);),
            quote!(let mut ctx: Other = other; ctx.send(a, None);),
            quote!(all.map(|ctx| ctx.send(a, None))),
            quote!(for ctx in all {
                ctx.send(a, None)
            }),
        ] {
            assert_eq!(errors(right.clone()), [""; 0], "{right}");
        }
        assert_eq!(errors(quote!(help(&mut ctx); ctx.send(&A, n);)).len(), 1);
    }
}
