//! Measures kproc on Kafka: what a record costs, what a restore costs, how much memory it takes.
//!
//! ```sh
//! kproc-bench fill    --brokers B --topic T [--records N] [--keys K] [--value-size S] [--partitions P] [-X PROPERTY=VALUE]
//! kproc-bench map     --brokers B --topic T --records N [--threads N] [--memory-mib N] [-X PROPERTY=VALUE]
//! kproc-bench count   (the same)
//! kproc-bench restore --brokers B --topic T --id ID
//! ```
//!
//! `fill` makes a topic and fills it. `map` and `count` read it from the start as a new application (or the one of
//! `--id`), and end after so many records; `restore` is `count` with its state lost, and ends when it is back. Each
//! prints one line of JSON. What it all means is in `docs/benchmarks.md`.

mod args;
mod fill;
mod jobs;
mod measure;
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    match args::Args::parse(std::env::args().skip(1)).and_then(|args| execute(&args)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kproc-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn execute(args: &args::Args) -> Result<String, String> {
    match &*args.job {
        "fill" => fill::fill(args),
        "map" | "count" => run::process(args),
        "restore" => run::restore(args),
        other => Err(format!("there is no job `{other}`: fill, map, count, restore")),
    }
}
