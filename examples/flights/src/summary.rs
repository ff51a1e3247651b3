//! What there is to say at the end.

use std::fmt::Write;

use kproc::{Result, Results};

use crate::{AIRCRAFT_TOTALS, HOURLY_DELAYS};

/// So many of each.
const BEST: usize = 5;

/// The worst hours, the busiest aircraft, and what it took to find them.
pub async fn summary(results: &Results) -> Result<String> {
    let mut text = String::new();

    let mut hours: Vec<_> = results.last_values(&HOURLY_DELAYS).await?.into_iter().collect();
    hours.sort_by_key(|(_, delays)| std::cmp::Reverse(delays.total_delay_min));
    writeln!(text, "The worst hours, by minutes of delay at departure:")?;
    for ((airport, hour), delays) in hours.iter().take(BEST) {
        let departed = (delays.flights - delays.cancelled) as i64;
        writeln!(
            text,
            "  {airport} {hour}  {:>5} min in all, {:>3} on average, {:>4} at most; {} of {} flights cancelled",
            delays.total_delay_min,
            delays.total_delay_min / departed.max(1),
            delays.max_delay_min.unwrap_or_default(),
            delays.cancelled,
            delays.flights,
        )?;
    }

    let mut aircraft: Vec<_> = results.last_values(&AIRCRAFT_TOTALS).await?.into_iter().collect();
    aircraft.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.flights));
    writeln!(text, "\nThe busiest aircraft:")?;
    for (tail_number, totals) in aircraft.iter().take(BEST) {
        writeln!(
            text,
            "  {tail_number}  {:<15}  {:>4} flights, {:>7} miles, {:>5} hours in the air",
            totals.model.as_deref().unwrap_or("(unknown model)"),
            totals.flights,
            totals.miles,
            totals.air_min / 60,
        )?;
    }

    let (records, seconds) = (results.records(), results.elapsed().as_secs_f64());
    write!(
        text,
        "\n{} hours and {} aircraft. {records} records in {seconds:.1} s: {:.0} records per second",
        hours.len(),
        aircraft.len(),
        records as f64 / seconds,
    )?;
    match Results::peak_memory() {
        Some(bytes) => writeln!(text, ", {} MiB of memory at peak", bytes >> 20)?,
        None => writeln!(text)?,
    }
    Ok(text)
}
