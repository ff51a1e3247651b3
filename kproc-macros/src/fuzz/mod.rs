//! Mutated programs through the entry points: no tokens make them panic, and what comes out is Rust if what went in was.
//!
//! The programs are those of `ui-tests/tests/pass`. `KPROC_MACRO_FUZZ=1000000 cargo test --release -p kproc-macros fuzz`
//! takes that many inputs; `KPROC_MACRO_FUZZ_SEED` begins elsewhere. What fails is printed and can be made again from its
//! number.
//!
//! What may be here: tests only. `mutate` knows tokens and nothing of kproc.

mod mutate;

use std::{env, fs, panic, path::PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, Meta};

use crate::{
    derive,
    errors::Errors,
    parse::{item::ImplBlock, unfinished},
    pipeline,
};
use mutate::{Mutator, Random};

/// Inputs of a usual test run: some seconds.
const USUAL: u64 = 50_000;

/// An item, and the macro that stands on it.
#[derive(Clone)]
enum Source {
    Processor { options: TokenStream, item: TokenStream },
    Codec(TokenStream),
}

impl Source {
    fn expand(&self) -> TokenStream {
        match self {
            Self::Processor { options, item } => pipeline::expand(options, item),
            Self::Codec(item) => derive::codec(item.clone()),
        }
    }

    fn mutated(&self, mutator: &mut Mutator<'_>) -> Self {
        match self {
            Self::Processor { options, item } => {
                let options = if mutator.random.one_in(3) {
                    mutator.mutate(options)
                } else {
                    options.clone()
                };
                let item = mutator.mutate(item);
                Self::Processor { options, item }
            }
            Self::Codec(item) => Self::Codec(mutator.mutate(item)),
        }
    }

    fn item(&self) -> &TokenStream {
        match self {
            Self::Processor { item, .. } | Self::Codec(item) => item,
        }
    }

    /// What is wrong with the expansion, if anything is.
    fn fault(&self) -> Option<String> {
        let Ok(expansion) = panic::catch_unwind(|| self.expand()) else {
            return Some("a panic".to_owned());
        };
        // The compiler gives us items that it has understood, but for bodies of functions.
        if let Ok(item) = syn::parse2::<Item>(self.item().clone()) {
            if has_nameless_parameter(&item) {
                return None;
            }
            let error = syn::parse2::<syn::File>(expansion.clone()).err()?;
            return Some(format!("{error} in {expansion}"));
        }
        let understood = match self {
            Self::Processor { item, .. } => {
                // What is not finished in it the compiler has refused before.
                syn::parse2::<ImplBlock>(item.clone()).is_ok()
                    || unfinished::structure(item, None, &mut Errors::default()).is_some()
            }
            Self::Codec(_) => false,
        };
        let refused = expansion.to_string().contains("compile_error");
        (!understood && !refused).then(|| format!("no error in {expansion}"))
    }
}

/// `struct A<_>`, which only syn takes.
fn has_nameless_parameter(item: &Item) -> bool {
    let generics = match item {
        Item::Struct(item) => &item.generics,
        Item::Enum(item) => &item.generics,
        Item::Union(item) => &item.generics,
        Item::Impl(item) => &item.generics,
        _ => return false,
    };
    generics.type_params().any(|parameter| parameter.ident == "_")
        || generics.const_params().any(|parameter| parameter.ident == "_")
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Processor { options, item } => write!(f, "#[processor({options})] {item}"),
            Self::Codec(item) => write!(f, "#[derive(Codec)] {item}"),
        }
    }
}

/// The annotated items of the programs that are right.
fn sources() -> Vec<Source> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../ui-tests/tests/pass"));
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the folder of programs is there")
        .map(|file| file.expect("a folder can be read").path())
        .collect();
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a program can be read");
        collect(
            syn::parse_file(&text).expect("a program is Rust").items,
            &mut sources,
        );
    }
    assert!(sources.len() >= 30, "programs were lost: {} items", sources.len());
    sources
}

fn collect(items: Vec<Item>, sources: &mut Vec<Source>) {
    for mut item in items {
        let attrs = match &mut item {
            Item::Struct(item) => &mut item.attrs,
            Item::Enum(item) => &mut item.attrs,
            Item::Impl(item) => &mut item.attrs,
            Item::Mod(module) => {
                let content = module.content.take();
                collect(content.map(|(_, items)| items).unwrap_or_default(), sources);
                continue;
            }
            _ => continue,
        };
        let named =
            |attr: &Attribute, name| attr.path().segments.last().is_some_and(|last| last.ident == name);
        if let Some(number) = attrs.iter().position(|attr| named(attr, "processor")) {
            let options = match attrs.remove(number).meta {
                Meta::List(list) => list.tokens,
                _ => TokenStream::new(),
            };
            let item = item.into_token_stream();
            sources.push(Source::Processor { options, item });
        } else if attrs.iter().any(|attr| named(attr, "codec")) {
            sources.push(Source::Codec(item.into_token_stream()));
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

#[test]
fn a02_mutated_programs_never_panic_and_come_out_as_rust() {
    let sources = sources();
    for source in &sources {
        assert_eq!(source.fault(), None, "{source:?}");
    }
    let all: Vec<TokenTree> = sources
        .iter()
        .flat_map(|source| mutate::flat(source.item().clone()))
        .collect();
    let seed = number("KPROC_MACRO_FUZZ_SEED").unwrap_or(1);
    let count = number("KPROC_MACRO_FUZZ").unwrap_or(USUAL);
    let mut understood = 0_u64;
    // The panics are told of here, with their input.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let fault = (0..count).find_map(|number| {
        let random = Random::new(seed.wrapping_mul(0x1000_0000).wrapping_add(number));
        let mut mutator = Mutator { random, pool: &all };
        let source = &sources[mutator.random.below(sources.len())];
        let input = source.mutated(&mut mutator);
        understood += u64::from(syn::parse2::<Item>(input.item().clone()).is_ok());
        Some(format!(
            "input {number} of seed {seed}: {}\n{input:?}",
            input.fault()?
        ))
    });
    panic::set_hook(hook);
    assert_eq!(fault, None);
    println!("{count} inputs, {understood} of them items");
    assert!(
        understood > count / 20,
        "the mutations leave too little that is an item: {understood}"
    );
}
