//! `#[derive(Codec)]`: reads the type and its `#[codec(…)]` (`attribute`), then writes the impls (`expand`).
//!
//! The type itself is not touched, and what serde does with it is the affair of its own derives.

mod attribute;
mod expand;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput};

use crate::errors::Errors;
use attribute::{Format, Options};

/// The impls, or every error at once with impls that keep other errors away.
pub(crate) fn codec(item: TokenStream) -> TokenStream {
    let item: DeriveInput = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => return error.to_compile_error(),
    };
    let mut errors = Errors::default();
    let options = Options::read(&item, &mut errors);
    refuse_unions(&item, &mut errors);
    refuse_inner_attributes(&item, &mut errors);
    let format = options.format.filter(|_| errors.is_empty());
    let errors = errors.to_compile_errors();
    let impls = expand::impls(&item, format, &options.krate);
    quote!(#errors #impls)
}

fn refuse_unions(item: &DeriveInput, errors: &mut Errors) {
    if let Data::Union(union) = &item.data {
        let message = "a union cannot be read from bytes: derive `Codec` on a struct or an enum";
        errors.on(union.union_token, message);
    }
}

/// `#[codec(…)]` means nothing on a field or a variant, and must not look as if it did.
fn refuse_inner_attributes(item: &DeriveInput, errors: &mut Errors) {
    let attributes: Vec<_> = match &item.data {
        Data::Struct(data) => data.fields.iter().flat_map(|field| &field.attrs).collect(),
        Data::Enum(data) => data
            .variants
            .iter()
            .flat_map(|variant| {
                variant
                    .attrs
                    .iter()
                    .chain(variant.fields.iter().flat_map(|field| &field.attrs))
            })
            .collect(),
        Data::Union(data) => data.fields.named.iter().flat_map(|field| &field.attrs).collect(),
    };
    for attribute in attributes {
        if attribute.path().is_ident("codec") {
            let message = "`#[codec(…)]` goes above the type: a record has one format as a whole";
            errors.on(attribute, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the errors of an expansion, in order.
    fn errors(item: TokenStream) -> Vec<String> {
        let file: syn::File = syn::parse2(codec(item)).expect("the expansion is Rust");
        let text = |item: &syn::Item| match item {
            syn::Item::Macro(item) => {
                let text: syn::LitStr = item.mac.parse_body().expect("a text");
                Some(text.value())
            }
            _ => None,
        };
        file.items.iter().filter_map(text).collect()
    }

    #[test]
    fn a_format_is_needed() {
        let missing = "`#[derive(Codec)]` needs a format: add `#[codec(json)]` or `#[codec(postcard)]`";
        assert_eq!(
            errors(quote!(
                struct Order {}
            )),
            [missing]
        );
        assert_eq!(
            errors(quote!(
                #[codec()]
                struct Order {}
            )),
            [missing]
        );
        assert_eq!(
            errors(quote!(
                #[codec(crate = a::kproc)]
                struct Order {}
            )),
            [missing]
        );
        assert_eq!(
            errors(quote!(
                #[codec]
                struct Order {}
            )),
            ["options go in parentheses: `#[codec(json)]`"]
        );
        assert_eq!(
            errors(quote!(
                #[codec = "json"]
                struct Order {}
            )),
            ["options go in parentheses: `#[codec(json)]`"]
        );
    }

    #[test]
    fn a06_a07_every_mistake_is_told_at_once() {
        let item = quote! {
            #[codec(jsn, postcard, postcard, json, crate = 1, avro, "x", crate)]
            enum Order { #[codec(json)] A { #[codec(json)] b: u8 } }
        };
        assert_eq!(
            errors(item),
            [
                "unknown option `jsn`; did you mean `json`?",
                "`postcard` is given twice: remove this one, or the one before",
                "a type has one format, and the one before this is it: keep one of them",
                "`crate` takes the path of kproc: `crate = facade::kproc`. Leave it out if kproc is a dependency of this crate",
                "unknown option `avro`: `#[codec]` has `json`, `postcard` and `crate = path`",
                "expected the name of an option: there are `json`, `postcard` and `crate = path`",
                "`crate` is given twice: remove this one, or the one before",
                "`#[codec(…)]` goes above the type: a record has one format as a whole",
                "`#[codec(…)]` goes above the type: a record has one format as a whole",
            ]
        );
    }

    #[test]
    fn a02_odd_arguments_are_errors_and_never_panics() {
        for odd in [
            "r#async",
            "-1",
            "()",
            "1.5",
            "json(",
            "[json]",
            "json::<T>",
            "crate = ",
            "crate = <T>::X",
            "=",
            "::",
        ] {
            let Ok(odd) = odd.parse::<TokenStream>() else {
                continue;
            };
            assert!(
                !errors(quote!(
                    #[codec(#odd)]
                    struct A;
                ))
                .is_empty(),
                "{odd}"
            );
            assert!(
                !errors(quote!(
                    #[codec(json, #odd)]
                    struct A;
                ))
                .is_empty(),
                "{odd}"
            );
        }
        assert!(
            codec(quote!(
                fn a() {}
            ))
            .to_string()
            .contains("compile_error")
        );
    }

    #[test]
    fn names_are_exact() {
        assert_eq!(
            errors(quote!(
                #[codec(JSON)]
                struct A;
            )),
            ["unknown option `JSON`; did you mean `json`?"]
        );
        assert_eq!(
            errors(quote!(
                #[codec(Postcard)]
                struct A;
            )),
            ["unknown option `Postcard`; did you mean `postcard`?"]
        );
        assert_eq!(
            errors(quote!(
                #[codec(json = true)]
                struct A;
            )),
            ["`json` takes no value: write `json` alone"]
        );
        assert_eq!(
            errors(quote!(
                #[codec(json())]
                struct A;
            )),
            ["`json` takes no value: write `json` alone"]
        );
        assert_eq!(
            errors(quote!(
                #[codec(json,, crate = a)]
                struct A;
            )),
            ["nothing stands before this comma: remove it"]
        );
        assert_eq!(
            errors(quote!(
                #[codec(json)]
                struct A;
            )),
            [""; 0]
        );
    }

    #[test]
    fn one_attribute_says_it_all() {
        let twice = "`#[codec]` is given twice: write everything into the first one";
        assert_eq!(
            errors(quote!(
                #[codec(json)]
                #[codec(crate = a)]
                struct A;
            )),
            [twice]
        );
        assert_eq!(
            errors(quote!(
                #[codec(json)]
                #[codec(json)]
                #[codec(x)]
                struct A;
            )),
            [twice, twice]
        );
    }

    #[test]
    fn unions_are_refused() {
        assert_eq!(
            errors(quote!(#[codec(json)] union A { #[codec(json)] a: u8 })),
            [
                "a union cannot be read from bytes: derive `Codec` on a struct or an enum",
                "`#[codec(…)]` goes above the type: a record has one format as a whole",
            ]
        );
    }

    #[test]
    fn the_crate_may_be_anywhere() {
        for krate in [quote!(facade::kproc), quote!("facade::kproc")] {
            let expansion = codec(quote!(
                #[codec(json, crate = #krate)]
                struct A;
            ))
            .to_string();
            assert!(
                expansion.contains("use facade :: kproc :: __private as __kproc"),
                "{expansion}"
            );
            assert_eq!(expansion.matches("__private").count(), 1, "{expansion}");
        }
    }

    #[test]
    fn a_wrong_type_is_still_a_codec() {
        let expansion = codec(quote!(
            #[codec(nothing)]
            struct A<'x, T: Ord, const N: usize>(&'x [T; N]);
        ));
        let file: syn::File = syn::parse2(expansion).expect("the expansion is Rust");
        assert_eq!(file.items.len(), 2, "an error and the impls");
    }
}
