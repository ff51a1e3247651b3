//! Flags, variables and files; what is refused, and how.

use std::fs;

use crate::{assert_fails, err, out, run, run_with};

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
        "[default: 45s]",
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
        &run(&["--brokers", "a:9092", "-X", "group.id=mine"], ""),
        2,
        &["`group.id` cannot be set", "application's id"],
    );
    assert_fails(
        &run(&["--brokers", "a:9092", "--embedded"], ""),
        2,
        &["leave out one of the two"],
    );
    assert_fails(
        &run(&["--brokers", "a:9092", "--feed", "lines=-"], ""),
        2,
        &["`--feed` goes with `--embedded`", "`load --feed`"],
    );
}

#[test]
fn what_looks_at_a_cluster_needs_one() {
    for args in [&["lag"][..], &["load", "--feed", "lines=-"]] {
        assert_fails(&run(args, ""), 2, &["--brokers HOST:PORT", "KPROC_BROKERS"]);
    }
    assert_fails(
        &run(&["load", "--brokers", "127.0.0.1:1"], ""),
        2,
        &["no data of its own", "--feed TOPIC=FILE"],
    );
    assert_fails(
        &run(&["--feed", "lines=-", "load"], ""),
        2,
        &["write `--feed` after `load`"],
    );
    assert_fails(
        &run(&["load", "--brokers", "127.0.0.1:1", "--feed", "line=-"], ""),
        2,
        &["unknown topic `line`; did you mean `lines`?"],
    );
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
        &embedded(&["--processing", "exactly"]),
        2,
        &["at_least_once, exactly_once"],
    );
    assert_fails(
        &embedded(&["--log", "inof"]),
        2,
        &["setting `log`: `inof` is no level; did you mean `info`?"],
    );
}

#[test]
fn a_binding_of_a_mistyped_topic_is_refused_and_one_of_an_unknown_topic_told() {
    let refused = "no processor declares a topic `lnes`; did you mean `lines`?";
    for args in [
        &["topics", "--topic", "lnes=l2"][..],
        &["--embedded", "--topic", "lnes=l2"],
        &["--brokers", "127.0.0.1:1", "--topic", "lnes=l2"],
    ] {
        assert_fails(&run(args, ""), 2, &[refused]);
    }
    let output = run_with(&["topology"], "", &[("KPROC_TOPICS", "lnes=l2")]);
    assert_fails(&output, 2, &[refused]);

    let output = run(&["topics", "--topic", "elsewhere=e2"], "");
    assert!(output.status.success(), "{}", err(&output));
    assert!(
        err(&output).contains("no processor declares a topic `elsewhere`"),
        "{}",
        err(&output)
    );
    let args = [
        "--embedded",
        "--feed",
        "lines=-",
        "--topic",
        "counts=c2",
        "--dump",
        "counts=-",
    ];
    let output = run(&args, "apple\n");
    assert!(out(&output).contains("\"key\":\"apple\""), "{}", err(&output));
    assert!(!err(&output).contains("counts"), "{}", err(&output));
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
        (&["run", "--brokers", "a:9092", "-X", "acks=0"], false),
        (&["run", "--embedded", "-X", "hunter2"], false),
    ];
    for (args, good) in ends {
        let output = run_with(&[args, &secret].concat(), "apple\n", &variables);
        assert_eq!(output.status.success(), good, "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("hunter2"), "{args:?}: {}", err(&output));
        assert!(!out(&output).contains("hunter2"), "{args:?}: {}", out(&output));
    }
}
