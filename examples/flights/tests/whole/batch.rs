//! The batch answers, and what a run has left in topics, in one shape.

use std::{collections::BTreeMap, fs::File, path::Path};

use flate2::read::GzDecoder;
use flights::{Delays, Totals};

/// Delays by airport and hour.
pub(crate) type HourlyDelays = BTreeMap<(String, String), Delays>;
/// Totals by tail number.
pub(crate) type AircraftTotals = BTreeMap<String, Totals>;

fn rows(name: &str) -> csv::DeserializeRecordsIntoIter<GzDecoder<File>, BTreeMap<String, String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/answers")
        .join(name);
    csv::Reader::from_reader(GzDecoder::new(File::open(path).unwrap())).into_deserialize()
}

/// What `answers/compute.py` found.
pub(crate) fn hourly_delays() -> HourlyDelays {
    let answers: HourlyDelays = rows("hourly-delays.csv.gz")
        .map(|row| {
            let row = row.unwrap();
            let delays = Delays {
                flights: row["flights"].parse().unwrap(),
                cancelled: row["cancelled"].parse().unwrap(),
                total_delay_min: row["total_delay_min"].parse().unwrap(),
                max_delay_min: Some(&row["max_delay_min"])
                    .filter(|text| !text.is_empty())
                    .map(|text| text.parse().unwrap()),
            };
            ((row["airport"].clone(), row["hour"].clone()), delays)
        })
        .collect();
    assert_eq!(answers.len(), 19_486);
    answers
}

/// What `answers/compute.py` found.
pub(crate) fn aircraft_totals() -> AircraftTotals {
    let answers: AircraftTotals = rows("aircraft-totals.csv.gz")
        .map(|row| {
            let row = row.unwrap();
            let totals = Totals {
                model: Some(row["model"].clone()).filter(|model| !model.is_empty()),
                flights: row["flights"].parse().unwrap(),
                miles: row["miles"].parse().unwrap(),
                air_min: row["air_min"].parse().unwrap(),
            };
            (row["tail_number"].clone(), totals)
        })
        .collect();
    assert_eq!(answers.len(), 4_037);
    answers
}

/// What `answers/compute.py` found: flights without a tail number, by airport.
pub(crate) fn flights_without_aircraft() -> BTreeMap<String, u64> {
    rows("flights-without-aircraft.csv.gz")
        .map(|row| row.unwrap())
        .map(|row| (row["airport"].clone(), row["flights"].parse().unwrap()))
        .collect()
}

/// Says where two maps differ first; whole maps would fill the screen.
#[track_caller]
pub(crate) fn assert_same<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    found: &BTreeMap<K, V>,
    wanted: &BTreeMap<K, V>,
) {
    for (key, value) in wanted {
        assert_eq!(found.get(key), Some(value), "{key:?}");
    }
    let surplus = found.keys().find(|key| !wanted.contains_key(key));
    assert!(surplus.is_none(), "{surplus:?} is not among the answers");
}
