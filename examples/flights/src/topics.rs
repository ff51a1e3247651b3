//! The topics, and what is in them.

use std::borrow::Cow;

use kproc::{codec::Json, prelude::*};
use serde::{Deserialize, Serialize};

/// Flights, by the airport they leave from. A record's timestamp is the scheduled departure.
pub const FLIGHTS: Topic<String, Flight<'static>> = Topic::new("flights");
/// Aircraft, by tail number. Their timestamp is 0, so that they come before all flights.
pub const PLANES: Topic<String, Plane<'static>> = Topic::new("planes");
/// The same flights, by tail number.
pub const FLIGHTS_BY_AIRCRAFT: Topic<String, Flight<'static>> = Topic::new("flights-by-aircraft");
/// Delays by airport and scheduled hour: the key is `["JFK","2013-01-01T10:00:00Z"]`.
pub const HOURLY_DELAYS: Topic<Json<(String, String)>, Delays> = Topic::new("hourly-delays");
/// Totals by tail number.
pub const AIRCRAFT_TOTALS: Topic<String, Totals> = Topic::new("aircraft-totals");

/// A flight. Its scheduled departure is the record's timestamp.
#[derive(Debug, Clone, Serialize, Deserialize, Codec)]
#[codec(json)]
pub struct Flight<'a> {
    /// The airline's code.
    #[serde(borrow)]
    pub carrier: Cow<'a, str>,
    /// The flight's number.
    pub flight: u32,
    /// The aircraft; unknown for some of the flights that were cancelled.
    pub tail_number: Option<String>,
    /// The airport it leaves from.
    #[serde(borrow)]
    pub origin: Cow<'a, str>,
    /// The airport it goes to.
    #[serde(borrow)]
    pub destination: Cow<'a, str>,
    /// Minutes behind schedule at departure (negative: ahead of it). `None`: the flight was cancelled.
    pub departure_delay_min: Option<i64>,
    /// Minutes behind schedule at arrival. `None`: cancelled or diverted.
    pub arrival_delay_min: Option<i64>,
    /// Minutes in the air. `None`: cancelled or diverted.
    pub air_time_min: Option<u64>,
    /// Miles from airport to airport.
    pub distance_miles: u64,
}

impl Flight<'_> {
    /// Whether it never left.
    pub fn is_cancelled(&self) -> bool {
        self.departure_delay_min.is_none()
    }
}

/// An aircraft.
#[derive(Debug, Clone, Serialize, Deserialize, Codec)]
#[codec(json)]
pub struct Plane<'a> {
    /// The year it was built in.
    pub year: Option<u32>,
    /// Who built it.
    #[serde(borrow)]
    pub manufacturer: Cow<'a, str>,
    /// What it is.
    #[serde(borrow)]
    pub model: Cow<'a, str>,
    /// How many people it seats.
    pub seats: u32,
}

/// How the flights of one airport and one scheduled hour went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Codec)]
#[codec(json)]
pub struct Delays {
    /// How many were scheduled.
    pub flights: u64,
    /// How many of these were cancelled.
    pub cancelled: u64,
    /// The delays at departure of those that left, added up, in minutes.
    pub total_delay_min: i64,
    /// The longest of these delays; `None` if none has left.
    pub max_delay_min: Option<i64>,
}

/// What one aircraft has done. Cancelled flights do not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Codec)]
#[codec(json)]
pub struct Totals {
    /// What it is; `None` if it is not among the known planes.
    pub model: Option<String>,
    /// How many times it left.
    pub flights: u64,
    /// How far it was to fly.
    pub miles: u64,
    /// How long it was in the air, as far as known, in minutes.
    pub air_min: u64,
}
