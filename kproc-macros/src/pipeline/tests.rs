//! Whole expansions. (What the compiler makes of them is tested by the crate `ui-tests`.)

use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

fn pretty(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).expect("an expansion is a list of items"))
}

/// The messages of the `compile_error!`s in an expansion, in order.
fn errors(expansion: TokenStream) -> Vec<String> {
    let file: syn::File = syn::parse2(expansion).expect("an expansion is a list of items");
    let messages = file.items.iter().filter_map(|item| match item {
        syn::Item::Macro(item) => Some(item.mac.parse_body::<syn::LitStr>().expect("a text").value()),
        _ => None,
    });
    messages.collect()
}

/// A07: mistakes of the attribute, of the fields and of the options come out of one expansion.
#[test]
fn a07_all_errors_at_once() {
    let struct_errors = errors(expand(
        &quote!(nmae = "x", crate = 3),
        &quote! {
            struct Totals<'a> {
                #[state(name = "a", name = "b")]
                one: Table<String, &'a str>,
                #[state(chnagelog)]
                two: Table<String, i64>,
                #[every("1s")]
                three: u64,
            }
        },
    ));
    assert_eq!(struct_errors.len(), 6, "{struct_errors:#?}");
    let impl_errors = errors(expand(
        &quote!(sends = WORDS),
        &quote! {
            impl Totals {
                #[on_message("words")]
                fn add<T>(word: T) {}
                #[every("0s", streamtime)]
                fn publish(&mut self, a: u8, b: u8, c: u8) {}
                #[on_start]
                #[on_stop]
                fn frame(self) {}
            }
        },
    ));
    assert_eq!(impl_errors.len(), 9, "{impl_errors:#?}");
}

/// The context is known by its name where it can be nothing else: a record's own type may be called so.
#[test]
fn a_record_may_be_called_context() {
    let method = |signature: TokenStream| errors(expand(&TokenStream::new(), &quote!(impl A { #signature })));
    for right in [
        quote!(
            #[on_message(X)]
            fn a(&mut self, context: Context) {}
        ),
        quote!(
            #[on_message(X)]
            fn a(&mut self, key: &str, context: Context<'_>) {}
        ),
        quote!(
            #[on_message(X)]
            fn a(&mut self, ctx: &mut Context<'_>, context: Context<'_>) {}
        ),
    ] {
        assert_eq!(method(right), [""; 0]);
    }
    for wrong in [
        quote!(
            #[on_message(X)]
            fn a(&mut self, context: &Context<'_>, n: u8) {}
        ),
        quote!(
            #[on_message(X)]
            fn a(&mut self, n: u8, context: &kproc::Context<'_>) {}
        ),
    ] {
        assert_eq!(method(wrong.clone()).len(), 1, "{wrong}");
    }
}

/// A11: whatever is wrong, the user's item comes out, without our marks, and with an impl for those who use it.
#[test]
fn a11_the_item_always_comes_out() {
    let bad = quote!(nonsense);
    let cases = [
        (
            quote!(
                struct A {
                    #[state(bad)]
                    a: u8,
                }
            ),
            "struct A {\n    a: u8,\n}\n",
            "::State for A {",
        ),
        (
            quote!(
                struct A(#[state] u8);
            ),
            "struct A(u8);\n",
            "::State for A {",
        ),
        (
            quote!(
                enum A {
                    #[state]
                    B {
                        #[every]
                        c: u8,
                    },
                }
            ),
            "enum A {\n    B { c: u8 },\n}\n",
            "::State for A {",
        ),
        (
            quote!(union A { #[state] a: u8 }),
            "union A {\n    a: u8,\n}\n",
            "::State for A {",
        ),
        (
            quote!(impl A { #[on_message] const X: u8 = 3; #[on_start(bad)] fn f() {} }),
            "impl A {\n    const X: u8 = 3;\n",
            "::Processor for A {",
        ),
        (
            quote!(impl B for A { #[on_message(X)] fn f() {} }),
            "impl B for A {\n    fn f() {}\n}\n",
            "",
        ),
        (
            quote!(
                fn f() {}
            ),
            "fn f() {}\n",
            "",
        ),
        (
            quote!(
                mod m {}
            ),
            "mod m {}\n",
            "",
        ),
    ];
    for (item, comes_out, implements) in cases {
        let expansion = expand(&bad, &item);
        assert!(!errors(expansion.clone()).is_empty(), "{item}");
        let text = pretty(expansion);
        assert!(text.starts_with(comes_out), "{text}");
        assert!(text.contains(implements), "{text}");
    }
}

/// A struct or block that is not finished keeps all that is, and its impl: the compiler has told of the rest.
#[test]
fn a11_what_is_not_finished_is_told_once() {
    let cases = [
        (quote!(struct A { a, #[state] b: T }), "b : T , a", 0),
        (
            quote!(struct A { #[state] a: , #[state] b: T }),
            "b : T , a : ,",
            0,
        ),
        (
            quote!(struct A { #[state] a: T #[state] b: T; c: u8 }),
            "a : T , b : T , c : u8",
            0,
        ),
        (
            quote!(struct A { #[state] a: T, #[state] b: Table<u8, }),
            "{ a : T }",
            0,
        ),
        (
            quote!(struct A { #[state] new a: T, b: T }),
            "b : T , new a : T",
            1,
        ),
        (quote!(impl A { #[on_message(X)] fn }), "impl A { }", 0),
        (
            quote!(impl A { #[on_message(X)] fn f(&mut self) -> { 1 } }),
            "impl A { }",
            0,
        ),
        (
            quote!(impl A { #[on_message(X)] fn f(&mut self, n: ) {} }),
            "fn f (& mut self , n :) { }",
            0,
        ),
        (
            quote!(impl A { #[on_message(X)] fn f(&mut self, n, m: HashMap<u8, u8>) {} }),
            "fn f (& mut self , n ,",
            0,
        ),
        (
            quote!(impl A { #[on_message(X)] fn f(&mut self, m: new HashMap<u8, u8>) {} }),
            "fn f (& mut self , m : new",
            1,
        ),
        (
            quote!(impl A { let x = 1; #[on_message(X)] fn f(&mut self, n: u8) {} }),
            "fn f",
            0,
        ),
        (
            quote!(impl A { #[on_message(X)] fn f(&mut self, n: u8); }),
            "fn f",
            0,
        ),
    ];
    for (item, comes_out, errors) in cases {
        let expansion = expand(&TokenStream::new(), &item).to_string();
        assert!(expansion.contains(comes_out), "{expansion}");
        assert!(
            !expansion.contains("# [state") && !expansion.contains("# [on_message"),
            "{expansion}"
        );
        assert!(
            expansion.contains(":: State for A") || expansion.contains(":: Processor for A"),
            "{expansion}"
        );
        assert_eq!(expansion.matches("compile_error").count(), errors, "{expansion}");
    }
}

/// A02: no tokens make the macro panic, wherever they stand.
#[test]
fn a02_odd_tokens_are_errors_and_never_panics() {
    let long = "x".repeat(70_000);
    let odd = [
        quote!(r#async),
        quote!(-1),
        quote!(()),
        quote!(),
        quote!(,),
        quote!(a,, b),
        quote!(1.5),
        quote!(a::b::<C>),
        quote!(#long),
        quote!(name = #long),
        quote!(= 3),
        quote!('a),
        quote!(# [x]),
        quote!(start = start = start),
        quote!("1s",, stream_time),
        quote!("1s" stream_time),
        quote!(WORDS, start(latest)),
        quote!({ {} }),
    ];
    for options in &odd {
        let fields = quote!(struct A { #[state(#options)] a: u8, #[state = #options] b: u8 });
        let block = quote! {
            impl A {
                #[on_message(#options)] fn a(&mut self, _n: u8) {}
                #[every(#options)] fn b(&mut self) {}
                #[on_start(#options)] fn c(&mut self) {}
                #[cfg_attr(#options)] fn d(&mut self) {}
                #[cfg_attr(all(), every(#options))] fn e(&mut self) {}
            }
        };
        for item in [fields, block] {
            let expansion = expand(options, &item).to_string();
            assert!(expansion.contains("compile_error"), "{options}");
        }
    }
}

/// A03: conditions of a method come with everything that is made for it.
#[test]
fn a03_conditions_are_copied() {
    let expansion = pretty(expand(
        &TokenStream::new(),
        &quote! {
            #[cfg(one)]
            impl A {
                #[cfg(two)]
                #[on_message(X)]
                fn a(&mut self, _n: u8) {}
                #[cfg_attr(three, every("1s"), doc = "x")]
                fn b(&mut self) {}
                #[cfg_attr(four, cfg(five), doc = "x")]
                #[on_start]
                fn c(&mut self) {}
            }
        },
    ));
    let count = |condition: &str| expansion.matches(condition).count();
    assert_eq!(count("#[cfg(one)]"), 2, "{expansion}"); // the block, the impl
    assert_eq!(count("#[cfg(two)]"), 3, "{expansion}"); // the method, its input, its arm
    assert_eq!(count("#[cfg(three)]"), 2, "{expansion}"); // its timer, its arm
    assert_eq!(count("#[cfg_attr(three, doc = \"x\")]"), 1, "{expansion}"); // the method
    assert_eq!(
        count("#[cfg_attr(four, cfg(five), doc = \"x\")]"),
        1,
        "{expansion}"
    ); // the method
    assert_eq!(count("#[cfg_attr(four, cfg(five))]"), 1, "{expansion}"); // its call
    assert!(!expansion.contains("#[every"), "{expansion}");
}

/// A09: with a path of its own nothing names `::kproc`.
#[test]
fn a09_everything_goes_through_the_path() {
    let path = quote!(crate = facade::kproc);
    let on_struct = expand(
        &path,
        &quote!(
            struct A<V> {
                #[facade::kproc::state]
                a: Table<V, V>,
                b: V,
            }
        ),
    );
    let on_impl = expand(
        &path,
        &quote! {
            impl<V> A<V> {
                #[facade::kproc::on_message(X)] fn a(&mut self, ctx: C, key: K, value: V) {}
                #[every("1s")] async fn b(&mut self, now: T) {}
                #[on_start] fn c(&mut self, ctx: C) {}
                #[on_stop] fn d(&mut self) {}
                #[on_schedule] fn e(&mut self, ctx: C, id: I, now: T) {}
            }
        },
    );
    for expansion in [on_struct, on_impl] {
        assert!(errors(expansion.clone()).is_empty());
        let text = expansion.to_string();
        assert!(
            text.contains("use facade :: kproc :: __private as __kproc"),
            "{text}"
        );
        assert_eq!(text.matches("__private").count(), 1, "{text}");
        assert!(
            !text.contains("# [facade") && !text.contains("# [state"),
            "{text}"
        );
    }
}
