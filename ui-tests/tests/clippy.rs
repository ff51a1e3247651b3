//! Clippy looks at the crates in `outside/`: nothing that kproc's macros write, or ask of their users, is found fault with,
//! however strict a crate is; and what its user has written is.
//!
//! The same crates are looked at with the rest of the workspace before a change lands. This test is there so that they cannot
//! be left out, nor their lints be switched off unnoticed.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};

/// The names of all packages in `outside/`.
fn packages() -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir("outside")
        .expect("the folder is there")
        .map(|folder| {
            let manifest = folder.expect("a folder can be read").path().join("Cargo.toml");
            let text = fs::read_to_string(&manifest).expect("a package has a manifest");
            let name = text.lines().find_map(|line| line.strip_prefix("name = "));
            name.expect("a package has a name").trim_matches('"').to_owned()
        })
        .collect();
    names.sort();
    names
}

fn clippy(packages: &[String], features: &[&str]) -> Output {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the folder for tests is in the target folder");
    let mut command = Command::new(cargo);
    command.args(["clippy", "--offline", "--locked", "--all-targets", "--target-dir"]);
    command.arg(target).args(features);
    command.args(packages.iter().flat_map(|name| ["--package", name]));
    command
        .args(["--", "-D", "warnings"])
        .output()
        .expect("cargo runs")
}

#[test]
fn generated_code_is_found_no_fault_with() {
    let packages = packages();
    assert!(packages.len() >= 8, "crates were lost: {packages:?}");
    let output = clippy(&packages, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn the_users_own_faults_are_found() {
    let output = clippy(&["ui-test-strict".to_owned()], &["--features", "faults"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "no fault was found");
    let found = [
        "unused variable: `unused`",                           // of the compiler
        "unreachable `pub` item",                              // of the compiler, off by default
        "this if-then-else expression returns a bool literal", // style
        "casting to the same type is unnecessary",             // complexity
        "used `unwrap()` on a `Result` value",                 // restriction
        "missing documentation for a method",                  // restriction
        "this could be a `const fn`",                          // nursery
    ];
    for fault in found {
        assert!(said.contains(fault), "{fault:?} was not found: {said}");
    }
    assert!(!said.contains("__kproc"), "a fault of generated code: {said}");
}
