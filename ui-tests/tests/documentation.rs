//! `cargo doc` of a user's crate shows what the user has written.

use std::{env, fs, path::Path, process::Command};

const CRATE: &str = "ui-test-through-facade";

#[test]
fn the_page_of_a_processor_shows_nothing_that_is_generated() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the folder for tests is in the target folder");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "doc",
            "--offline",
            "--no-deps",
            "--package",
            CRATE,
            "--target-dir",
        ])
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "cargo doc failed");
    let folder = target.join("doc").join(CRATE.replace('-', "_"));
    let page = |name: &str| fs::read_to_string(folder.join(name)).expect("the page is there");

    let processor = page("struct.Totals.html");
    assert!(
        processor.contains("Totals of words."),
        "not the user's documentation"
    );
    assert!(
        processor.contains("impl-Default-for-Totals"),
        "not the user's own impls"
    );
    for generated in ["__", "impl-Processor", "impl-State", "Neither", "punctuate"] {
        assert!(
            !processor.contains(generated),
            "the page of the processor shows {generated:?}"
        );
    }
    let all = page("all.html");
    assert_eq!(
        all.matches("class=\"all-items\"").count(),
        1,
        "more than the struct is shown: {all}"
    );
}
