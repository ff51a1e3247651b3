//! `impl State`: the stores of a processor's struct.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Generics, parse_quote_spanned, spanned::Spanned};

use super::{ends, generated, implementation, import, krate, locate, unlinted};
use crate::{
    check, known,
    model::{Declared, Field, StoreField},
};

/// What follows the struct.
pub(crate) fn expand(declared: &Declared) -> TokenStream {
    let import = import(declared.krate.as_ref());
    let Declared {
        conditions,
        ident,
        fields,
        ..
    } = declared;
    let generics = with_stores(declared);
    let (_, type_generics, _) = generics.split_for_impl();
    let name = declared.name.as_ref().map(|name| {
        quote! {
            fn name() -> __kproc::Cow<'static, __kproc::core::primitive::str> {
                __kproc::Cow::Borrowed(#name)
            }
        }
    });
    let stores = fields
        .iter()
        .filter_map(|field| Some(store(field, field.store.as_ref()?)));
    let plain = |field: &&Field| field.store.is_none() && !field.doubtful;
    let probes = fields.iter().filter(plain).map(probe);
    let (cfgs, probes): (Vec<_>, Vec<_>) = probes.unzip();
    let fallback = (!probes.is_empty()).then(|| {
        quote!(
            use __kproc::Neither as _;
        )
    });
    // A constant is checked at once, but cannot name the struct's parameters. One inside a function can, and is
    // checked when the function is compiled for actual types.
    let (outside, inside) = if declared.generics.params.is_empty() {
        (quote!(#(#(#cfgs)* const _: () = #probes;)*), quote!())
    } else {
        (quote!(), quote!(#(#(#cfgs)* const { #probes };)*))
    };
    let body = quote! {
        #name
        fn stores(&mut self, __to: &mut dyn __kproc::Declare) {
            #inside
            #(#stores)*
        }
    };
    let ty = quote!(#ident #type_generics);
    let state = implementation(&generics, "State", &ty, ident.span(), body);
    unlinted(conditions, &quote!(#import #fallback #outside #state))
}

/// `to.store("name", options, &mut self.field);`
fn store(field: &Field, store: &StoreField) -> TokenStream {
    let Field {
        conditions,
        ident,
        ty,
        ..
    } = field;
    let StoreField { name, changelog, .. } = store;
    let span = ty.span();
    let this = locate(quote!(self), span);
    let local = Ident::new("__store", span);
    let borrow = quote_spanned!(span=> &mut);
    quote! {
        #(#conditions)*
        {
            let #local = #borrow #this.#ident;
            __to.store(#name, __kproc::StoreOptions { changelog: #changelog }, #local);
        }
    }
}

/// Refuses a store that is not marked: nobody would open it. And a context, which is gone after the call.
fn probe(field: &Field) -> (&[Attribute], TokenStream) {
    let Field {
        conditions,
        ident,
        ty,
        ..
    } = field;
    let (first, _) = ends(ty);
    let (krate, probe) = (krate(first), generated("Probe", first));
    let message = format!(
        "field `{ident}` is a store without `#[state]`: it would never open. Write `#[state]` above it"
    );
    let unmarked = quote_spanned!(first=> #krate::core::assert!(!#krate::#probe::<#ty>::IS_STORE, #message));
    let kept = known::perhaps_context(ty).map(|context| {
        let (first, _) = ends(context);
        let (krate, probe) = (super::krate(first), generated("Probe", first));
        let message = check::KEPT_CONTEXT;
        quote_spanned!(first=> #krate::core::assert!(!#krate::#probe::<#context>::IS_CONTEXT, #message);)
    });
    let check = match kept {
        Some(kept) => quote!({ #kept #unmarked }),
        None => unmarked,
    };
    (conditions.as_slice(), check)
}

/// The struct's generics, and that fields whose types depend on them are stores: so the bounds that make them
/// stores need not be repeated on the struct.
fn with_stores(declared: &Declared) -> Generics {
    let mut generics = declared.generics.clone();
    let parameters: Vec<&Ident> = declared
        .generics
        .type_params()
        .map(|parameter| &parameter.ident)
        .collect();
    for field in declared
        .fields
        .iter()
        .filter(|field| field.store.is_some() && field.conditions.is_empty())
    {
        let ty = &field.ty;
        if mentions(ty.to_token_stream(), &parameters) {
            let span = ty.span();
            let (krate, module) = (krate(span), generated("processor", span));
            generics
                .make_where_clause()
                .predicates
                .push(parse_quote_spanned!(span=> #ty: #krate::#module::Store));
        }
    }
    generics
}

fn mentions(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&&ident),
        TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}
