//! What the documentation of the macros says of errors is what the compiler says: each headline under "Errors you may meet"
//! is one of a golden. One that ends in `…` is its beginning.

use std::{fs, path::Path};

/// The macros, each of which has such a section.
const MACROS: [&str; 8] = [
    "processor",
    "codec",
    "state",
    "on_message",
    "every",
    "on_start",
    "on_stop",
    "on_schedule",
];

/// The first lines of all errors in the goldens, without `error[E0277]: `.
fn goldens() -> Vec<String> {
    let mut headlines = Vec::new();
    for folder in ["syntax", "types"] {
        for file in fs::read_dir(folder).expect("the folder is there") {
            let path = file.expect("a folder can be read").path();
            if path.extension().is_some_and(|extension| extension == "stderr") {
                let text = fs::read_to_string(&path).expect("a golden can be read");
                let errors = text.lines().filter(|line| line.starts_with("error"));
                headlines.extend(errors.filter_map(|line| Some(line.split_once(": ")?.1.to_owned())));
            }
        }
    }
    headlines
}

/// What the documentation of a macro quotes.
fn quoted<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let end = source
        .find(&format!("pub fn {name}("))
        .unwrap_or_else(|| panic!("there is no macro {name}"));
    let before = &source[..end];
    let start = before
        .rfind("/// # Errors you may meet")
        .unwrap_or_else(|| panic!("{name} has no such section"));
    let section = &before[start..];
    assert!(!section.contains("pub fn "), "{name} has no such section");
    let quote = |line: &'a str| Some(line.strip_prefix("/// - ``")?.strip_suffix("``:")?.trim());
    section.lines().filter_map(quote).collect()
}

#[test]
fn each_headline_in_the_documentation_is_one_of_a_golden() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kproc-macros/src/lib.rs");
    let source = fs::read_to_string(lib).expect("the macros' source can be read");
    let goldens = goldens();
    let is_said = |quoted: &str| match quoted.strip_suffix(" …") {
        Some(beginning) => goldens.iter().any(|golden| golden.starts_with(beginning)),
        None => goldens.iter().any(|golden| golden == quoted),
    };
    let mut count = 0;
    for name in MACROS {
        let quoted = quoted(&source, name);
        assert!(quoted.len() >= 3, "{name} quotes {} errors", quoted.len());
        count += quoted.len();
        for headline in quoted {
            assert!(is_said(headline), "{name}: no golden says {headline:?} any more");
        }
    }
    let bullets = source.lines().filter(|line| line.starts_with("/// - ``")).count();
    assert_eq!(bullets, count, "a headline is not written as the others are");
}
