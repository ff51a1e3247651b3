//! Records in and out: feeds, dumps, standard output.

use std::{fs, process::Command};

use crate::{assert_fails, err, last_values, out, run};

#[test]
fn lines_in_counts_out() {
    let output = run(
        &["run", "--embedded", "--feed", "lines=-", "--dump", "counts=-"],
        "apple\nplum\napple\n",
    );
    assert!(output.status.success(), "{}", err(&output));
    let lines: Vec<serde_json::Value> = out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["partition"].as_u64(),
                line["offset"].as_u64(),
                line["key"].as_str(),
                line["value"].as_u64(),
            )
        })
        .collect();
    let expected = [("apple", 1), ("plum", 1), ("apple", 2)].into_iter().enumerate();
    let expected: Vec<_> = expected
        .map(|(offset, (key, value))| (Some(0), Some(offset as u64), Some(key), Some(value)))
        .collect();
    assert_eq!(seen, expected);
    // The names of the fields, and their order, are a promise.
    let names = [
        "{\"partition\":",
        ",\"offset\":",
        ",\"timestamp\":\"",
        ",\"key\":\"",
        ",\"value\":",
    ];
    let places: Vec<_> = names.iter().map(|name| out(&output).find(name)).collect();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{}",
        out(&output)
    );
}

#[test]
fn partitions_and_threads_do_not_change_the_counts() {
    let text = "the quick brown fox\njumps over the lazy dog\n".repeat(200);
    let counts = |partitions, threads| {
        let args = [
            "--embedded",
            "--partitions",
            partitions,
            "--threads",
            threads,
            "--feed",
            "lines=-",
            "--dump",
            "counts=-",
        ];
        let output = run(&args, &text);
        assert!(output.status.success(), "{}", err(&output));
        assert_eq!(out(&output).lines().count(), 9 * 200);
        last_values(out(&output))
    };
    let one = counts("1", "1");
    assert_eq!(one["the"], "400");
    assert_eq!(one["fox"], "200");
    assert_eq!(one.len(), 8);
    for (partitions, threads) in [("4", "1"), ("4", "4"), ("7", "2")] {
        assert_eq!(counts(partitions, threads), one);
    }
}

#[test]
fn a_dump_can_be_fed_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lines.jsonl");
    let dump = format!("lines={}", file.display());
    let input = concat!(
        r#"{"partition":1,"timestamp":"2013-01-01T10:15:00Z","key":"a","value":"x y","headers":[["h",null]]}"#,
        "\n\n",
        r#"{"value":"z","timestamp":0}"#,
        "\n"
    );
    let common = ["--embedded", "--partitions", "2", "--feed-format", "jsonl"];
    let first = run(
        &[&common[..], &["--feed", "lines=-", "--dump", &dump]].concat(),
        input,
    );
    assert!(first.status.success(), "{}", err(&first));
    let dumped = fs::read_to_string(&file).unwrap();
    assert!(
        dumped.contains(r#""timestamp":"1970-01-01T00:00:00Z","key":null,"value":"z"}"#),
        "{dumped}"
    );
    let line = r#"{"partition":1,"offset":0,"timestamp":"2013-01-01T10:15:00Z","key":"a","value":"x y","headers":[["h",null]]}"#;
    assert!(dumped.contains(line), "{dumped}");
    let again = run(
        &[&common[..], &["--feed", &dump, "--dump", "lines=-"]].concat(),
        "",
    );
    assert_eq!(out(&again), dumped);
}

#[test]
fn a_dump_of_a_topic_that_does_not_exist_is_a_failure() {
    let dump = |topic: &str| {
        let dump = format!("{topic}=-");
        run(&["--embedded", "--feed", "lines=-", "--dump", &dump], "apple\n")
    };
    assert_fails(&dump("word"), 2, &["unknown topic `word`; did you mean `words`?"]);
    assert_fails(
        &dump("conuts"),
        2,
        &["unknown topic `conuts`; did you mean `counts`?"],
    );
    // What is not declared may still be sent to: that is known in the end.
    assert_fails(
        &dump("elsewhere"),
        1,
        &["nothing was sent to a topic `elsewhere`, and no processor declares it"],
    );
    let nothing = run(&["--embedded", "--dump", "words=-"], "");
    assert!(nothing.status.success() && out(&nothing).is_empty());
    assert!(err(&nothing).contains("nothing is fed"), "{}", err(&nothing));
}

#[test]
fn a_changelog_is_dumped_in_the_words_of_its_store() {
    let args = ["--embedded", "--feed", "lines=-", "--dump"];
    let dump = |topic: &str| run(&[&args[..], &[topic]].concat(), "apple\nplum\napple\n");
    let output = dump("word-count-count-counts-changelog=-");
    assert!(output.status.success(), "{}", err(&output));
    let entries: Vec<_> = last_values(out(&output)).into_iter().collect();
    let expected = [("apple", "2"), ("plum", "1")];
    assert_eq!(
        entries,
        expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    assert_fails(
        &dump("word-count-count-count-changelog=-"),
        2,
        &["did you mean `word-count-count-counts-changelog`?"],
    );
}

#[test]
fn a_run_that_fails_leaves_old_dumps_alone_and_makes_no_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (
        directory.path().join("old.jsonl"),
        directory.path().join("new.jsonl"),
    );
    fs::write(&old, "precious\n".repeat(100)).unwrap();
    let dumps = [
        format!("counts={}", old.display()),
        format!("words={}", new.display()),
    ];
    let args = [
        "--embedded",
        "--feed",
        "lines=-",
        "--dump",
        &dumps[0],
        "--dump",
        &dumps[1],
    ];
    let bad = run(&[&args[..], &["--feed-format", "jsonl"]].concat(), "bad\n");
    assert_fails(&bad, 2, &["standard input:1"]);
    assert_eq!(fs::read_to_string(&old).unwrap(), "precious\n".repeat(100));
    assert!(!new.exists());

    let good = run(&args, "apple\n");
    assert!(good.status.success(), "{}", err(&good));
    assert_eq!(last_values(&fs::read_to_string(&old).unwrap())["apple"], "1");
    assert_eq!(fs::read_to_string(&new).unwrap().lines().count(), 1);
}

#[test]
fn two_dumps_do_not_go_to_one_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    for (one, other) in [("-".into(), "-".into()), (path("out.jsonl"), path("./out.jsonl"))] {
        let (topic, store) = (format!("lines={one}"), format!("counts={other}"));
        let output = run(&["--embedded", "--dump", &topic, "--dump-state", &store], "");
        assert_fails(&output, 2, &["two dumps go to", "another file for `counts`"]);
    }
}

#[test]
fn state_that_is_kept_does_not_outlive_its_embedded_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let args = [
        "--embedded",
        "--feed",
        "lines=-",
        "--state-dir",
        directory.path().to_str().unwrap(),
    ];
    let first = run(&args, "apple\n");
    assert!(first.status.success(), "{}", err(&first));
    assert_fails(
        &run(&args, "apple\n"),
        1,
        &[
            "has state of an earlier run",
            "is new in each run",
            "`--state-dir`",
        ],
    );
}

#[test]
fn files_that_cannot_be_used_are_found_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let feed = |file: &str| {
        run(
            &[
                "--embedded",
                "--feed",
                &format!("lines={file}"),
                "--dump",
                "counts=-",
            ],
            "",
        )
    };
    assert_fails(&feed(&path("missing.txt")), 2, &["missing.txt", "No such file"]);
    assert_fails(&feed(&path("")), 2, &["it is a directory"]);
    let dump = format!("counts={}", path("missing/out.jsonl"));
    assert_fails(
        &run(&["--embedded", "--feed", "lines=-", "--dump", &dump], "a\n"),
        2,
        &["out.jsonl", "No such file"],
    );
    let dump = format!("counts={}", path("out.jsonl"));
    assert_fails(
        &run(&["--embedded", "--dump", &dump, "--dump", &dump], ""),
        2,
        &["two dumps go to"],
    );
    assert_fails(
        &run(&["--embedded", "--config", &path("missing.toml")], ""),
        2,
        &["missing.toml", "No such file"],
    );
}

#[test]
fn nothing_is_processed_from_a_file_with_a_bad_line_unless_asked() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lines.jsonl");
    fs::write(
        &file,
        "{\"value\":\"apple\"}\n{\"vlaue\":\"plum\"}\n{\"value\":\"fig\"}\n",
    )
    .unwrap();
    let feed = format!("lines={}", file.display());
    let args = ["--embedded", "--feed", &feed, "--dump", "counts=-"];
    assert_fails(&run(&args, ""), 2, &["lines.jsonl:2: unknown field `vlaue`"]);

    let partial = run(&[&args[..], &["--feed-partial"]].concat(), "");
    assert_eq!(partial.status.code(), Some(2));
    assert!(
        err(&partial).contains("lines.jsonl:2: unknown field `vlaue`"),
        "{}",
        err(&partial)
    );
    assert_eq!(
        last_values(out(&partial)).into_keys().collect::<Vec<_>>(),
        ["apple"]
    );

    let input = "{\"value\":\"a\",\"partition\":1}\n";
    let args = ["--embedded", "--feed-format", "jsonl", "--feed", "lines=-"];
    assert_fails(
        &run(&args, input),
        2,
        &["standard input:1: there is no partition 1"],
    );
    let twice = ["--embedded", "--feed", "lines=-", "--feed", "words=-"];
    assert_fails(
        &run(&twice, ""),
        2,
        &["standard input can be fed to one topic only"],
    );
    let bad_utf8 = directory.path().join("bad.txt");
    fs::write(&bad_utf8, b"good\n\xff\xfe\n").unwrap();
    let feed = format!("lines={}", bad_utf8.display());
    assert_fails(
        &run(&["--embedded", "--feed", &feed], ""),
        2,
        &["bad.txt:2: this is not UTF-8"],
    );
}

/// Only Linux has a device that is always full.
#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure_and_output_that_nobody_reads_is_none() {
    let args = ["--embedded", "--feed", "lines=-", "--dump", "counts=/dev/full"];
    let output = run(&args, "apple\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("cannot write to /dev/full: No space left"),
        "{}",
        err(&output)
    );

    let program = env!("CARGO_BIN_EXE_word-count");
    let script = format!("seq 100000 | {program} --embedded --feed lines=- --dump counts=- | head -n 1");
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(out(&output).lines().count(), 1);
    assert!(!err(&output).contains("panicked"), "{}", err(&output));
    assert!(output.status.success(), "{}", err(&output));
}
