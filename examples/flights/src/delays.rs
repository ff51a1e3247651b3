//! Delays by airport and hour.

use kproc::{codec::Postcard, prelude::*};

use crate::{Delays, FLIGHTS, Flight, HOURLY_DELAYS};

const HOUR_MS: i64 = 3_600_000;

/// Keeps, for each airport and scheduled hour, how its flights went, and sends every update.
///
/// The hour is that of the record's timestamp, so it does not matter in which order flights come: late ones
/// count where they belong.
#[processor]
#[derive(Default)]
pub struct HourlyDelays {
    #[state]
    hours: Table<(String, Timestamp), Postcard<Delays>>,
}

#[processor(sends(HOURLY_DELAYS))]
impl HourlyDelays {
    #[on_message(FLIGHTS)]
    fn flight(&mut self, ctx: &mut Context<'_>, airport: &str, flight: Flight<'_>) -> Result<()> {
        let scheduled = ctx
            .timestamp()
            .ok_or(kproc::Error::msg("a flight without its scheduled departure"))?;
        let hour = Timestamp::from_millis(scheduled.as_millis().div_euclid(HOUR_MS) * HOUR_MS);

        let mut delays = self.hours.get(&(airport, hour))?.unwrap_or_default();
        delays.flights += 1;
        match flight.departure_delay_min {
            Some(minutes) => {
                delays.total_delay_min += minutes;
                delays.max_delay_min = delays.max_delay_min.max(Some(minutes));
            }
            None => delays.cancelled += 1,
        }
        self.hours.put(&(airport, hour), &delays)?;
        ctx.send(&HOURLY_DELAYS, &(airport.to_owned(), hour.to_string()), &delays)?;
        Ok(())
    }
}
