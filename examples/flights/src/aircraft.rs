//! Totals by aircraft: flights are re-keyed, and joined with what is known of the planes.

use kproc::{codec::Postcard, prelude::*};
use serde::{Deserialize, Serialize};

use crate::{AIRCRAFT_TOTALS, FLIGHTS, FLIGHTS_BY_AIRCRAFT, Flight, PLANES, Plane, Totals};

/// Sends each flight on under its tail number, so that all flights of an aircraft come together.
#[processor]
#[derive(Default)]
pub struct ByAircraft {
    /// Flights without a tail number, by airport: they cannot be sent on, and shall not go unseen.
    #[state]
    without_aircraft: Table<String, u64>,
}

#[processor(sends(FLIGHTS_BY_AIRCRAFT))]
impl ByAircraft {
    #[on_message(FLIGHTS)]
    fn flight(&mut self, ctx: &mut Context<'_>, airport: &str, flight: Flight<'_>) -> Result<()> {
        match &flight.tail_number {
            // The record's timestamp goes with it.
            Some(tail_number) => ctx.send(&FLIGHTS_BY_AIRCRAFT, tail_number, &flight)?,
            None => *self.without_aircraft.entry(airport)?.or_default() += 1,
        }
        Ok(())
    }
}

/// What is kept for an aircraft.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Flown {
    flights: u64,
    miles: u64,
    air_min: u64,
}

impl Flown {
    fn with_model(self, model: Option<&str>) -> Totals {
        let Self {
            flights,
            miles,
            air_min,
        } = self;
        Totals {
            model: model.map(str::to_owned),
            flights,
            miles,
            air_min,
        }
    }
}

/// Joins flights with planes, and sends the totals of an aircraft with every update.
///
/// All known planes have timestamp 0, and records are taken in the order of their timestamps: so planes are
/// there before the first flight needs them. Should one come late all the same, its totals are sent again.
/// Sums do not depend on the order of flights; so the last totals of an aircraft are the same however the
/// partitions of flights were interleaved.
#[processor]
#[derive(Default)]
pub struct AircraftTotals {
    #[state]
    models: Table<String, String>,
    #[state]
    flown: Table<String, Postcard<Flown>>,
}

#[processor(sends(AIRCRAFT_TOTALS))]
impl AircraftTotals {
    #[on_message(PLANES)]
    fn plane(&mut self, ctx: &mut Context<'_>, tail_number: &str, plane: Plane<'_>) -> Result<()> {
        self.models.put(tail_number, &*plane.model)?;
        if let Some(flown) = self.flown.get(tail_number)? {
            ctx.send(
                &AIRCRAFT_TOTALS,
                tail_number,
                &flown.with_model(Some(&plane.model)),
            )?;
        }
        Ok(())
    }

    #[on_message(FLIGHTS_BY_AIRCRAFT)]
    fn flight(&mut self, ctx: &mut Context<'_>, tail_number: &str, flight: Flight<'_>) -> Result<()> {
        if flight.is_cancelled() {
            return Ok(());
        }
        let mut flown = self.flown.get(tail_number)?.unwrap_or_default();
        flown.flights += 1;
        flown.miles += flight.distance_miles;
        flown.air_min += flight.air_time_min.unwrap_or_default();
        self.flown.put(tail_number, &flown)?;

        let model = self.models.get(tail_number)?;
        ctx.send(&AIRCRAFT_TOTALS, tail_number, &flown.with_model(model))?;
        Ok(())
    }
}
