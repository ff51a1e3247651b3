//! The bundled data, on its way to the topics.

use flate2::read::GzDecoder;
use kproc::{Feed, Result, Timestamp};

use crate::{FLIGHTS, Flight, PLANES, Plane};

const FLIGHTS_CSV: &[u8] = include_bytes!("../data/flights.csv.gz");
const PLANES_CSV: &[u8] = include_bytes!("../data/planes.csv.gz");

/// Feeds planes and flights, in the order of their files.
pub fn feed(feed: &mut Feed) -> Result<()> {
    each_row(PLANES_CSV, |tail_number, row, header| {
        let plane: Plane<'_> = row.deserialize(Some(header))?;
        feed.send_at(Timestamp::EPOCH, &PLANES, tail_number, &plane)
    })?;
    each_row(FLIGHTS_CSV, |scheduled_departure, row, header| {
        let flight: Flight<'_> = row.deserialize(Some(header))?;
        let scheduled: jiff::Timestamp = scheduled_departure.parse()?;
        let scheduled = Timestamp::from_millis(scheduled.as_millisecond());
        feed.send_at(scheduled, &FLIGHTS, &*flight.origin, &flight)
    })
}

/// Calls `each` with the first column of every row, the row, and the header.
fn each_row(
    packed: &[u8],
    mut each: impl FnMut(&str, &csv::StringRecord, &csv::StringRecord) -> Result<()>,
) -> Result<()> {
    let mut rows = csv::Reader::from_reader(GzDecoder::new(packed));
    let header = rows.headers()?.clone();
    let mut row = csv::StringRecord::new();
    while rows.read_record(&mut row)? {
        each(&row[0], &row, &header)?;
    }
    Ok(())
}
