//! `impl Processor` for a type that cannot be one, because it borrows.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Type, parse::Parse, parse_quote};

use super::{import, state_of, unlinted};
use crate::model::Handled;

/// Whether the processor's type has lifetimes. The struct's half refuses them.
pub(super) fn borrows(handled: &Handled) -> bool {
    handled.generics.lifetimes().next().is_some() || mentions_lifetime(handled.self_ty.to_token_stream())
}

fn mentions_lifetime(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => punct.as_char() == '\'',
        TokenTree::Group(group) => mentions_lifetime(group.stream()),
        _ => false,
    })
}

/// An impl that does nothing, for a type that was refused: what uses the processor then adds no errors of its
/// own. It needs the struct's half, which has said why.
pub(super) fn expand(handled: &Handled) -> TokenStream {
    let import = import(handled.krate.as_ref());
    let mut generics = Generics::default();
    generics.params = handled
        .generics
        .params
        .iter()
        .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
        .map(made_static::<GenericParam>)
        .collect();
    let where_clause = everything_static(handled.generics.where_clause.to_token_stream());
    let self_ty: Type = made_static(&handled.self_ty);
    let (impl_generics, _, _) = generics.split_for_impl();
    let state = state_of(&self_ty);
    let body = quote! {
            #import
            #[automatically_derived]
            impl #impl_generics __kproc::Processor for #self_ty #where_clause {
                fn declare(&mut self, __to: &mut dyn __kproc::Declare) {
                    #state::stores(self, __to);
                }
                async fn process(&mut self, _: &mut __kproc::Context<'_>, _: &__kproc::Record<'_>) -> __kproc::Result<()> {
                    __kproc::Ok(())
                }
            }
    };
    unlinted(&handled.conditions, &body)
}

/// The same syntax with `'static` for every lifetime.
fn made_static<T: Parse>(syntax: &impl ToTokens) -> T {
    let tokens = everything_static(syntax.to_token_stream());
    parse_quote!(#tokens)
}

/// Replaces every lifetime by `'static`.
fn everything_static(tokens: TokenStream) -> TokenStream {
    let mut after_tick = false;
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if std::mem::take(&mut after_tick) => {
                TokenTree::Ident(Ident::new("static", ident.span()))
            }
            TokenTree::Group(group) => {
                let mut all = Group::new(group.delimiter(), everything_static(group.stream()));
                all.set_span(group.span());
                TokenTree::Group(all)
            }
            token => {
                after_tick = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
                token
            }
        })
        .collect()
}
