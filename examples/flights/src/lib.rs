//! Delays by airport and hour, and totals by aircraft, of every flight that left New York City in 2013.
//!
//! ```text
//! flights ──┬─> HourlyDelays ─────────────────────────────> hourly-delays
//!           └─> ByAircraft ──> flights-by-aircraft ──┐
//! planes ────────────────────────────────────────────┴─> AircraftTotals ──> aircraft-totals
//! ```
//!
//! Every update is sent, so the last value of a key is the answer for it.

mod aircraft;
mod delays;
pub mod feed;
pub mod summary;
mod topics;

pub use aircraft::{AircraftTotals, ByAircraft};
pub use delays::HourlyDelays;
pub use topics::*;

/// The application, with the bundled data as its demonstration.
pub fn app() -> kproc::App {
    kproc::App::new("flights")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .processor::<HourlyDelays>()
        .processor::<ByAircraft>()
        .processor::<AircraftTotals>()
        .configure(|settings| {
            settings.partitions = 4;
            settings.threads = 2;
        })
        .demo(kproc::Demo::new(feed::feed).summary(summary::summary))
}
