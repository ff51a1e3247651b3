//! The first part of the data: as records for the topics, and the answers for it, by a batch over the rows.

use std::{collections::BTreeMap, fs::File, path::Path};

use csv::StringRecord;
use flate2::read::GzDecoder;
use flights::{Delays, Flight, Plane, Totals};
use kproc::{
    Timestamp,
    outbox::{Outbox, RawRecord},
};
use serde::{Deserialize, Serialize};

use crate::batch::{
    AircraftTotals, HourlyDelays, aircraft_totals, assert_same, flights_without_aircraft, hourly_delays,
};

/// A part of the data.
pub(crate) struct Part {
    flights: Rows,
    planes: Rows,
}

/// What a batch over the rows has found.
pub(crate) struct Answers {
    pub(crate) hours: HourlyDelays,
    pub(crate) aircraft: AircraftTotals,
    /// How many flights each aircraft has, cancelled ones too.
    pub(crate) by_aircraft: BTreeMap<String, u64>,
    /// How many flights without a tail number each airport has.
    pub(crate) without_aircraft: BTreeMap<String, u64>,
}

struct Rows {
    header: StringRecord,
    rows: Vec<StringRecord>,
}

impl Rows {
    /// The first rows of a file.
    fn first(name: &str, number: usize) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
        let mut reader = csv::Reader::from_reader(GzDecoder::new(File::open(path).unwrap()));
        let header = reader.headers().unwrap().clone();
        let rows = reader.into_records().take(number).map(Result::unwrap).collect();
        Self { header, rows }
    }

    /// Some rows, each with its first column.
    fn each<'r, T: Deserialize<'r>>(
        &'r self,
        rows: &'r [StringRecord],
    ) -> impl Iterator<Item = (&'r str, T)> {
        rows.iter()
            .map(|row| (&row[0], row.deserialize(Some(&self.header)).unwrap()))
    }

    fn all<'r, T: Deserialize<'r>>(&'r self) -> impl Iterator<Item = (&'r str, T)> {
        self.each(&self.rows)
    }
}

impl Part {
    /// The first flights, and all planes.
    pub(crate) fn first(flights: usize) -> Self {
        Self {
            flights: Rows::first("flights.csv.gz", flights),
            planes: Rows::first("planes.csv.gz", usize::MAX),
        }
    }

    /// The flights, on their way to their topic in pieces of so many.
    pub(crate) fn flights(&self, piece: usize) -> impl Iterator<Item = Outbox> {
        self.flights.rows.chunks(piece).map(|rows| {
            let mut outbox = Outbox::default();
            for (scheduled, flight) in self.flights.each::<Flight<'_>>(rows) {
                let moment: jiff::Timestamp = scheduled.parse().unwrap();
                let moment = Timestamp::from_millis(moment.as_millisecond());
                push(&mut outbox, "flights", moment, &flight.origin, &flight);
            }
            outbox
        })
    }

    /// All planes, on their way to their topic.
    pub(crate) fn planes(&self) -> Outbox {
        let mut outbox = Outbox::default();
        for (tail_number, plane) in self.planes.all::<Plane<'_>>() {
            push(&mut outbox, "planes", Timestamp::EPOCH, tail_number, &plane);
        }
        outbox
    }

    /// The answers: what is to come out.
    pub(crate) fn answers(&self) -> Answers {
        let mut hours = HourlyDelays::new();
        let mut aircraft = AircraftTotals::new();
        let mut without_aircraft = BTreeMap::new();
        let mut by_aircraft = BTreeMap::new();
        let planes = self.planes.all::<Plane<'_>>();
        let models: BTreeMap<_, _> = planes
            .map(|(tail_number, plane)| (tail_number, plane.model))
            .collect();
        for (scheduled, flight) in self.flights.all::<Flight<'_>>() {
            let hour = format!("{}:00:00Z", &scheduled[..13]);
            let hour = hours.entry((flight.origin.to_string(), hour)).or_insert(Delays {
                flights: 0,
                cancelled: 0,
                total_delay_min: 0,
                max_delay_min: None,
            });
            hour.flights += 1;
            match &flight.tail_number {
                Some(tail) => *by_aircraft.entry(tail.clone()).or_default() += 1,
                None => *without_aircraft.entry(flight.origin.to_string()).or_default() += 1,
            }
            let Some(delay) = flight.departure_delay_min else {
                hour.cancelled += 1;
                continue;
            };
            hour.total_delay_min += delay;
            hour.max_delay_min = hour.max_delay_min.max(Some(delay));
            let Some(tail) = &flight.tail_number else { continue };
            let totals = aircraft.entry(tail.clone()).or_insert_with(|| Totals {
                model: models.get(&**tail).map(ToString::to_string),
                flights: 0,
                miles: 0,
                air_min: 0,
            });
            totals.flights += 1;
            totals.miles += flight.distance_miles;
            totals.air_min += flight.air_time_min.unwrap_or(0);
        }
        Answers {
            hours,
            aircraft,
            by_aircraft,
            without_aircraft,
        }
    }
}

fn push(outbox: &mut Outbox, topic: &str, timestamp: Timestamp, key: &str, value: &impl Serialize) {
    let value = serde_json::to_vec(value).unwrap();
    let record = RawRecord {
        timestamp: Some(timestamp),
        key: Some(key.as_bytes()),
        value: Some(&value),
        ..RawRecord::default()
    };
    outbox.push_raw(&topic.into(), &record);
}

/// The batch here is right if it finds for all rows what `answers/compute.py` has found.
#[test]
fn the_batch_over_all_rows_finds_the_known_answers() {
    let answers = Part::first(usize::MAX).answers();
    assert_same(&answers.hours, &hourly_delays());
    assert_same(&answers.aircraft, &aircraft_totals());
    assert_same(&answers.without_aircraft, &flights_without_aircraft());
}
