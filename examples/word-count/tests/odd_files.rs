//! Files and pipes as one meets them: from other systems, named twice, read by nobody.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_word-count"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KPROC_")) {
        command.env_remove(name);
    }
    command.args(args).output().unwrap()
}

/// What topic `lines` holds after a file of this name and content was fed to it: the values.
fn fed(name: &str, content: &[u8]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(name);
    fs::write(&file, content).unwrap();
    let feed = format!("lines={}", file.display());
    let output = run(&["run", "--embedded", "--feed", &feed, "--dump", "lines=-"]);
    let dump = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let value = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["value"].as_str().unwrap().to_owned()
    };
    dump.lines().map(value).collect()
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    assert_eq!(
        fed("a.txt", "\u{feff}apple\nplum\n".as_bytes()),
        ["apple", "plum"]
    );
    // Anywhere else it is.
    assert_eq!(
        fed("a.txt", "apple\n\u{feff}plum".as_bytes()),
        ["apple", "\u{feff}plum"]
    );
    assert_eq!(
        fed("a.jsonl", "\u{feff}{\"value\": \"apple\"}\n".as_bytes()),
        ["apple"]
    );
}

#[test]
fn lines_may_end_in_any_way_and_hold_anything_that_is_text() {
    assert_eq!(fed("a.txt", b"apple\r\n\r\nplum\r\n"), ["apple", "", "plum"]);
    assert_eq!(
        fed("a.txt", b"apple\rplum\0\n\npear"),
        ["apple\rplum\0", "", "pear"]
    );
    assert!(fed("a.txt", b"").is_empty());
}

#[test]
fn a_file_that_is_fed_is_not_overwritten_by_a_dump() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lines.jsonl");
    let content = "{\"value\": \"apple\"}\n";
    fs::write(&file, content).unwrap();
    let also = directory.path().join(".").join("lines.jsonl");
    for (flag, what) in [("--dump", "counts"), ("--dump-state", "count/counts")] {
        let args = |name: &str, file: &Path| format!("{name}={}", file.display());
        let output = run(&[
            "--embedded",
            "--feed",
            &args("lines", &file),
            flag,
            &args(what, &also),
        ]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("is fed, and would be emptied"), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
}

#[test]
fn log_lines_that_nobody_reads_disturb_nothing() {
    let program = env!("CARGO_BIN_EXE_word-count");
    let script = format!(
        "seq 1000 | {program} --embedded -vv --feed lines=- --dump counts=/dev/null 2>&1 | true; echo ${{PIPESTATUS[1]}}"
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "0",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
