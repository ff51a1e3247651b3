//! A short run, with a seed of its own each time. (Its report says which; `kproc-chaos --seed` repeats it.)

use std::process::Command;

/// What the program ends with where there is no broker to be had. (With `CI=true` it fails otherwise.)
const NO_BROKER: i32 = 3;

#[test]
fn nothing_is_lost_and_nothing_twice_through_twenty_kills() {
    let output = Command::new(env!("CARGO_BIN_EXE_kproc-chaos"))
        .args(["--time", "60", "--kills", "20", "--broker-harm", "2"])
        .env("CHAOS_PARENT", std::process::id().to_string())
        .output()
        .unwrap();
    let (report, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    println!("{log}{report}");
    if output.status.code() == Some(NO_BROKER) {
        eprintln!("SKIPPED: this test needs a Kafka broker: {log}");
        return;
    }
    assert!(output.status.success(), "{}:\n{log}{report}", output.status);
    for line in ["lost 0", "duplicated 0", "violations 0"] {
        let found = report
            .lines()
            .any(|told| told.split_whitespace().eq(line.split_whitespace()));
        assert!(found, "no `{line}` in the report:\n{report}");
    }
}
