//! `#[processor]`: which half of a processor it stands on, and the way through parse, model, check and expand.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, DeriveInput, Token, Type, Visibility,
    parse::{ParseStream, Parser},
};

use crate::{
    attributes::{self, Helper, Place},
    errors::Errors,
    expand,
    model::{Declared, Handled},
    parse::{
        arguments::StructOptions,
        item::{BlockItem, ImplBlock},
        unfinished,
    },
};

/// What the attribute stands on.
enum Half {
    Struct,
    Impl,
    Other,
}

/// The whole expansion of `#[processor(options)] item`.
pub(crate) fn expand(options: &TokenStream, item: &TokenStream) -> TokenStream {
    match half.parse2(item.clone()) {
        Ok(Half::Struct) => on_struct(options, item),
        Ok(Half::Impl) => on_impl(options, item),
        Ok(Half::Other) | Err(_) => {
            let mut errors = Errors::default();
            let first_line = first_line(item);
            let is_fn = |token| matches!(token, TokenTree::Ident(word) if word == "fn");
            let place = if first_line.clone().into_iter().any(is_fn) {
                Place::Method
            } else {
                Place::Item
            };
            errors.on(first_line, Helper::Processor.misplaced(place));
            with_errors(item, &errors)
        }
    }
}

/// Looks at what comes after attributes and visibility.
fn half(input: ParseStream<'_>) -> syn::Result<Half> {
    input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    let half = if input.peek(Token![struct]) || input.peek(Token![enum]) {
        Half::Struct
    } else if input.peek(Token![impl]) || (input.peek(Token![unsafe]) && input.peek2(Token![impl])) {
        Half::Impl
    } else if input.peek(Token![union]) && input.peek2(syn::Ident) {
        Half::Struct
    } else {
        Half::Other
    };
    input.parse::<TokenStream>()?;
    Ok(half)
}

fn on_struct(options: &TokenStream, tokens: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let (mut item, rest) = match syn::parse2::<DeriveInput>(tokens.clone()) {
        Ok(item) => (item, TokenStream::new()),
        Err(error) => {
            let krate = StructOptions::read(options, &mut Errors::default()).krate;
            let Some(read) = unfinished::structure(tokens, krate.as_ref(), &mut errors) else {
                errors.add(error);
                return with_errors(tokens, &errors);
            };
            read
        }
    };
    let declared = Declared::of(options, &mut item, &mut errors);
    let state = expand::state::expand(&declared);
    let item = with_fields(item.into_token_stream(), &rest);
    with_errors(&quote!(#item #state), &errors)
}

/// The struct with more tokens behind its fields.
fn with_fields(item: TokenStream, more: &TokenStream) -> TokenStream {
    if more.is_empty() {
        return item;
    }
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    if let Some(TokenTree::Group(fields)) = tokens.last_mut() {
        let inside = fields.stream();
        let comma = (!inside.is_empty()).then(|| quote!(,));
        let mut all = Group::new(fields.delimiter(), quote!(#inside #comma #more));
        all.set_span(fields.span());
        *fields = all;
    }
    tokens.into_iter().collect()
}

fn on_impl(options: &TokenStream, tokens: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(mut block) = errors.ok(syn::parse2::<ImplBlock>(tokens.clone())) else {
        return with_errors(tokens, &errors);
    };
    if let Some((of_trait, _)) = &block.of_trait {
        let name = of_trait.to_string().replace(' ', "");
        errors.on(
            of_trait,
            format_args!(
                "`#[processor]` goes on the struct and on an impl block of its own, not on an impl of `{name}`: put the handlers into `impl {} {{ … }}`",
                block.self_ty.to_token_stream()
            ),
        );
        strip(&mut block);
        return with_errors(&block.into_token_stream(), &errors);
    }
    if !is_named(&block.self_ty) {
        errors.on(
            &block.self_ty,
            "`#[processor]` goes on the impl block of a struct: write the name of one here",
        );
        strip(&mut block);
        return with_errors(&block.into_token_stream(), &errors);
    }
    let handled = Handled::of(options, &mut block, &mut errors);
    let processor = expand::handlers::expand(&handled);
    with_errors(&quote!(#block #processor), &errors)
}

/// Whether a type has a name, as a struct has.
fn is_named(ty: &Type) -> bool {
    match ty {
        Type::Path(_) => true,
        Type::Group(group) => is_named(&group.elem),
        Type::Paren(paren) => is_named(&paren.elem),
        _ => false,
    }
}

/// Takes all our attributes from a block that is no processor's.
fn strip(block: &mut ImplBlock) {
    for item in &mut block.items {
        match item {
            BlockItem::Method(method) => attributes::take(&mut method.attrs, None),
            BlockItem::Other { attrs, .. } | BlockItem::Unreadable { attrs, .. } => {
                attributes::take(attrs, None)
            }
        };
    }
}

/// The user's item always comes out, whatever is wrong with it: else everything that uses it would fail, too.
fn with_errors(item: &TokenStream, errors: &Errors) -> TokenStream {
    let errors = errors.to_compile_errors();
    quote!(#item #errors)
}

/// An item without its attributes and its body, to be underlined.
fn first_line(item: &TokenStream) -> TokenStream {
    let is_body =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let head = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        let rest: TokenStream = input.parse()?;
        Ok(rest.into_iter().take_while(|token| !is_body(token)).collect())
    };
    head.parse2(item.clone()).unwrap_or_else(|_| item.clone())
}

#[cfg(test)]
mod orders;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod tests;
