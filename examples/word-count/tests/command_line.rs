//! The generated command line, as whoever starts a program sees it.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
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
fn last_values(dump: &str) -> std::collections::BTreeMap<String, String> {
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (
            line["key"].as_str().unwrap().to_owned(),
            line["value"].to_string(),
        )
    };
    dump.lines().map(line).collect()
}

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
fn without_a_cluster_both_ways_on_are_told() {
    assert_fails(
        &run(&[], ""),
        2,
        &[
            "word-count run --brokers",
            "word-count run --embedded",
            "KPROC_BROKERS",
        ],
    );
    assert_fails(
        &run(&["--brokers", "a:9092"], ""),
        2,
        &["cannot connect to Kafka yet", "--embedded"],
    );
    assert_fails(
        &run(&["--brokers", "a:9092", "--embedded"], ""),
        2,
        &["leave out one of the two"],
    );
    assert_fails(
        &run(&["--brokers", "a:9092", "--feed", "lines=-"], ""),
        2,
        &["`--feed` goes with `--embedded`"],
    );
}

#[test]
fn help_and_version() {
    let help = run(&["--help"], "");
    assert!(help.status.success());
    for wanted in [
        "run",
        "topology",
        "topics",
        "state",
        "--embedded",
        "--commit-interval",
        "KPROC_COMMIT_INTERVAL",
        "[default: 1s]",
    ] {
        assert!(out(&help).contains(wanted), "{wanted} is not in:\n{}", out(&help));
    }
    assert_eq!(
        out(&run(&["--version"], "")),
        format!("word-count {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(out(&run(&["state", "--help"], "")).contains("scan"));
}

#[test]
fn what_does_not_exist_is_refused_with_the_nearest_name() {
    let embedded = |args: &[&str]| run(&[&["--embedded"], args].concat(), "");
    assert_fails(&run(&["--comit-interval", "1s"], ""), 2, &["--commit-interval"]);
    assert_fails(&run(&["topolgy"], ""), 2, &["topology"]);
    assert_fails(
        &embedded(&["--feed", "line=-"]),
        2,
        &["unknown topic `line`; did you mean `lines`?"],
    );
    assert_fails(
        &embedded(&["--feed", "lines"]),
        2,
        &["expected a name, `=` and a file"],
    );
    assert_fails(
        &embedded(&["--on-panic", "ignore"]),
        2,
        &["--on-panic", "`stop`, `skip` or `retry`"],
    );
    assert_fails(&run(&["topology", "--feed", "lines=-"], ""), 2, &["--feed"]);
    assert_fails(
        &run(&["--dump", "a=b", "topology"], ""),
        2,
        &["`--dump` goes with `run`, not with `topology`"],
    );
    let output = run_with(&["--embedded"], "", &[("KPROC_THREDS", "1")]);
    assert_fails(
        &output,
        2,
        &["KPROC_THREDS: there is no setting for this variable; did you mean `KPROC_THREADS`?"],
    );
    assert_fails(
        &embedded(&["--processing", "exactly_once"]),
        2,
        &["is not in this version"],
    );
    assert_fails(&embedded(&["--log", "a=b=c"]), 2, &["setting `log`"]);
}

#[test]
fn a_topic_that_got_nothing_is_an_empty_dump_and_a_warning() {
    let output = run(
        &["--embedded", "--feed", "lines=-", "--dump", "conuts=-"],
        "apple\n",
    );
    assert!(output.status.success());
    assert_eq!(out(&output), "");
    assert!(
        err(&output).contains("nothing was sent to a topic `conuts`; did you mean `counts`?"),
        "{}",
        err(&output)
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

#[test]
fn flags_win_over_variables_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("app.toml");
    fs::write(&file, "partitions = 2\n[topics]\nwords = \"from-file\"\n").unwrap();
    let config = file.to_str().unwrap();
    let partitions = |args: &[&str], variables: &[(&str, &str)]| {
        let args = [&["--embedded", "--feed", "lines=-", "--dump", "words=-"], args].concat();
        let text: String = ('a'..='z').flat_map(|letter| [letter, '\n']).collect();
        let output = run_with(&args, &text, variables);
        assert!(output.status.success(), "{}", err(&output));
        let partition =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["partition"].as_u64();
        out(&output).lines().map(partition).max().flatten().unwrap() + 1
    };
    assert_eq!(partitions(&[], &[]), 1);
    assert_eq!(partitions(&["--config", config], &[]), 2);
    assert_eq!(partitions(&[], &[("KPROC_CONFIG", config)]), 2);
    assert_eq!(partitions(&["--config", config], &[("KPROC_PARTITIONS", "3")]), 3);
    assert_eq!(
        partitions(
            &["--config", config, "--partitions", "4"],
            &[("KPROC_PARTITIONS", "3")]
        ),
        4
    );

    let topology = run(
        &["topology", "--config", config, "--topic", "counts=from-flag"],
        "",
    );
    assert!(
        out(&topology).contains("words (as from-file)"),
        "{}",
        out(&topology)
    );
}

#[test]
fn what_reads_writes_and_keeps_what() {
    let topology = run(&["topology"], "");
    assert!(topology.status.success());
    for wanted in [
        "application word-count",
        "task 0: one for each partition of lines",
        "processor split",
        "reads   lines (string -> string)",
        "keeps   table counts (string -> u64), changelog word-count-count-counts-changelog",
    ] {
        assert!(
            out(&topology).contains(wanted),
            "{wanted} is not in:\n{}",
            out(&topology)
        );
    }
    let topics = run(&["topics"], "");
    assert!(
        out(&topics).contains("word-count-count-counts-changelog  as words"),
        "{}",
        out(&topics)
    );
    assert!(
        out(&topics).contains("cleanup.policy=compact"),
        "{}",
        out(&topics)
    );
}

#[test]
fn state_can_be_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let state_dir = directory.path().to_str().unwrap();
    let dump = directory.path().join("counts.jsonl");
    let dump_state = format!("counts={}", dump.display());
    let args = [
        "--embedded",
        "--partitions",
        "2",
        "--state-dir",
        state_dir,
        "--feed",
        "lines=-",
    ];
    let output = run(
        &[&args[..], &["--dump-state", &dump_state]].concat(),
        "apple plum\napple fig\n",
    );
    assert!(output.status.success(), "{}", err(&output));

    let state = |args: &[&str]| run(&[&["state", "--state-dir", state_dir], args].concat(), "");
    let list = state(&["list"]);
    assert!(out(&list).contains("count/counts"), "{}", out(&list));
    assert!(out(&list).contains("table (string -> u64)"), "{}", out(&list));

    let scan = state(&["scan", "counts"]);
    let entries = last_values(out(&scan)).into_iter().collect::<Vec<_>>();
    let expected = [("apple", "2"), ("fig", "1"), ("plum", "1")];
    assert_eq!(
        entries,
        expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    assert_eq!(fs::read_to_string(&dump).unwrap(), out(&scan));
    assert_eq!(
        out(&state(&["scan", "counts", "--limit", "1"])),
        format!("{}\n", out(&scan).lines().next().unwrap())
    );

    let get = state(&["get", "count/counts", "apple"]);
    assert!(out(&get).starts_with("{\"partition\":"), "{}", out(&get));
    assert!(
        out(&get).ends_with(",\"key\":\"apple\",\"value\":2}\n"),
        "{}",
        out(&get)
    );
    assert_fails(
        &state(&["get", "counts", "melon"]),
        1,
        &["store `counts` has nothing under the key \"melon\""],
    );
    assert_fails(
        &state(&["get", "count", "apple"]),
        2,
        &["unknown store `count`; did you mean `counts`?"],
    );
    assert_fails(&state(&[]), 2, &["list", "get", "scan"]);
    let elsewhere = directory.path().join("elsewhere").display().to_string();
    assert_fails(
        &run(&["state", "list", "--state-dir", &elsewhere], ""),
        2,
        &["there is no state in", "--state-dir"],
    );
}

#[test]
fn h03_secrets_are_never_printed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("app.toml");
    fs::write(
        &file,
        "[librdkafka]\n\"sasl.password\" = \"hunter2\"\nssl.key.pem = \"hunter2\"\n",
    )
    .unwrap();
    let secret = [
        "-X",
        "ssl.keystore.password=hunter2",
        "--config",
        file.to_str().unwrap(),
        "-vv",
        "--log",
        "trace",
    ];
    let variables = [("KPROC_LIBRDKAFKA_SASL_OAUTHBEARER_CLIENT_SECRET", "hunter2")];
    let ends: [(&[&str], bool); 5] = [
        (&["run", "--embedded", "--feed", "lines=-"], true),
        (&["topology"], true),
        (&["run", "--embedded", "--threads", "none"], false),
        (&["run", "--brokers", "a:9092"], false),
        (&["run", "--embedded", "-X", "hunter2"], false),
    ];
    for (args, good) in ends {
        let output = run_with(&[args, &secret].concat(), "apple\n", &variables);
        assert_eq!(output.status.success(), good, "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("hunter2"), "{args:?}: {}", err(&output));
        assert!(!out(&output).contains("hunter2"), "{args:?}: {}", out(&output));
    }
}

#[test]
fn log_lines_can_be_json_and_never_go_to_standard_output() {
    let args = ["--embedded", "--feed", "lines=-", "--log-format", "json", "-v"];
    let output = run(&args, "apple\n");
    assert!(output.status.success());
    assert_eq!(out(&output), "");
    assert!(!err(&output).is_empty());
    for line in err(&output).lines() {
        let line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(
            line["level"].is_string() && line["timestamp"].is_string(),
            "{line}"
        );
    }
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

#[test]
fn an_interrupt_ends_a_feed_that_waits_for_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_word-count"))
        .args(["--embedded", "--feed", "lines=-", "--dump", "counts=-", "-v"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("feeding")));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    // Its standard input is still open.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(lines.any(|line| line.unwrap().contains("stopped before all input was processed")));
}

#[test]
fn temporary_state_is_gone_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().to_str().unwrap();
    let output = run_with(
        &["--embedded", "--feed", "lines=-"],
        "apple\n",
        &[("TMPDIR", temporary)],
    );
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(files(directory.path()), 0);
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}
