//! Compiles every file of two folders and compares what the compiler says with the `.stderr` beside it.
//!
//! - `syntax/`: mistakes that kproc's macros report, in our words.
//! - `types/`: mistakes that the compiler reports, led by our types; its words change from version to version.
//!
//! Odd programs that are right are in `tests/pass`; those that a crate of its own must be for (another name of kproc, another
//! edition, another `core`, every lint denied) are in `outside`, and `clippy` looks at them.
//!
//! One mistake per file, and the file is named for it and marks it by `//~^`. After a change of texts: `TRYBUILD=overwrite
//! cargo test -p ui-tests`, then read the difference: a message is good if it says what is wrong, where, and what to
//! write. `goldens` holds the texts to the marks.
//!
//! The texts are those of the toolchain that the workspace pins. Another one skips the folders, which
//! is said, and which fails where `CI` is set.

use std::{env, fs, path::Path, process::Command};

#[test]
fn syntax() {
    mistakes("syntax");
}

#[test]
fn types() {
    mistakes("types");
}

fn mistakes(folder: &str) {
    assert!(any_case(folder), "no cases in {folder}/");
    let (pinned, actual) = (pinned(), actual());
    if actual.split_whitespace().nth(1) == Some(&pinned) {
        trybuild::TestCases::new().compile_fail(format!("{folder}/*.rs"));
    } else {
        let skip = format!("{folder}/ is skipped: its texts are those of {pinned}, and this is {actual}");
        assert!(env::var_os("CI").is_none(), "{skip}");
        eprintln!("{skip}");
    }
}

/// A folder that was lost must not pass.
fn any_case(folder: &str) -> bool {
    let is_case = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    fs::read_dir(folder).is_ok_and(|files| files.flatten().any(|file| is_case(&file.path())))
}

/// The version that `rust-toolchain.toml` pins.
fn pinned() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../rust-toolchain.toml");
    let text = fs::read_to_string(file).expect("the workspace pins its toolchain");
    let channel = text.lines().find_map(|line| line.strip_prefix("channel = "));
    channel
        .expect("rust-toolchain.toml names a channel")
        .trim_matches('"')
        .to_owned()
}

/// What the compiler in use calls itself.
fn actual() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
