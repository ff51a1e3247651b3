//! The flights, as a program. See the library beside it.
//!
//! ```sh
//! cargo run --release -p flights
//! cargo run --release -p flights -- --dump aircraft-totals=totals.jsonl
//! ```

use std::process::ExitCode;

fn main() -> ExitCode {
    flights::app().main()
}
