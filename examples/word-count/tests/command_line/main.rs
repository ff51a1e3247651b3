//! The generated command line, as whoever starts a program sees it.

mod arguments;
mod ending;
mod looking;
mod records;

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Output, Stdio},
};

/// Runs the program with this on its standard input, and no settings in its environment.
fn run(args: &[&str], input: &str) -> Output {
    run_with(args, input, &[])
}

fn run_with(args: &[&str], input: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_word-count"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KPROC_")) {
        command.env_remove(name);
    }
    command.args(args).envs(variables.iter().copied());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[track_caller]
fn assert_fails(output: &Output, code: i32, wanted: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    assert_eq!(out(output), "");
    for wanted in wanted {
        assert!(
            err(output).contains(wanted),
            "{wanted:?} is not in:\n{}",
            err(output)
        );
    }
    assert!(!err(output).contains("panicked"), "{}", err(output));
}

/// The last value of each key of a dump.
fn last_values(dump: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (
            line["key"].as_str().unwrap().to_owned(),
            line["value"].to_string(),
        )
    };
    dump.lines().map(line).collect()
}
