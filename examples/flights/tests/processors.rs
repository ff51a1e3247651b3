//! The processors by themselves, on a few flights made up for the purpose.

use flights::{
    AIRCRAFT_TOTALS, AircraftTotals, Delays, FLIGHTS, Flight, HOURLY_DELAYS, HourlyDelays, PLANES, Plane,
    Totals, app,
};
use kproc::{prelude::*, testing::TestDriver};

const MINUTE_MS: i64 = 60_000;

/// A flight of 100 miles and 30 minutes that left this late; `None`: cancelled.
fn flight(tail_number: Option<&str>, delay: Option<i64>) -> Flight<'static> {
    Flight {
        carrier: "UA".into(),
        flight: 1,
        tail_number: tail_number.map(str::to_owned),
        origin: "JFK".into(),
        destination: "BOS".into(),
        departure_delay_min: delay,
        arrival_delay_min: delay,
        air_time_min: delay.map(|_| 30),
        distance_miles: 100,
    }
}

fn plane(model: &'static str) -> Plane<'static> {
    Plane {
        year: None,
        manufacturer: "BOEING".into(),
        model: model.into(),
        seats: 100,
    }
}

fn totals(model: Option<&str>, flights: u64) -> (String, Totals) {
    let model = model.map(str::to_owned);
    (
        "N1".to_owned(),
        Totals {
            model,
            flights,
            miles: 100 * flights,
            air_min: 30 * flights,
        },
    )
}

#[test]
fn flights_are_joined_with_their_planes() -> Result<()> {
    let mut driver = TestDriver::builder(app()).start()?;
    driver
        .message(&PLANES, "N1", &plane("737"))
        .timestamp(Timestamp::EPOCH)
        .send()?;
    driver.send(&FLIGHTS, "JFK", &flight(Some("N1"), Some(5)))?;
    driver.send(&FLIGHTS, "JFK", &flight(Some("N1"), None))?; // cancelled
    driver.send(&FLIGHTS, "JFK", &flight(None, Some(5)))?; // by an unknown aircraft
    driver.send(&FLIGHTS, "JFK", &flight(Some("N1"), Some(-3)))?;
    let all = driver.receive_all(&AIRCRAFT_TOTALS)?;
    assert_eq!(all, [totals(Some("737"), 1), totals(Some("737"), 2)]);
    Ok(())
}

#[test]
fn planes_come_first_though_they_are_sent_last() -> Result<()> {
    let mut driver = TestDriver::builder(app()).start()?;
    driver.stop()?;
    driver.send(&FLIGHTS, "JFK", &flight(Some("N1"), Some(5)))?;
    driver
        .message(&PLANES, "N1", &plane("737"))
        .timestamp(Timestamp::EPOCH)
        .send()?;
    driver.start()?;
    assert_eq!(driver.receive_all(&AIRCRAFT_TOTALS)?, [totals(Some("737"), 1)]);
    Ok(())
}

#[test]
fn a_plane_that_is_late_all_the_same_corrects_its_totals() -> Result<()> {
    let mut driver = TestDriver::builder(app()).start()?;
    driver.send(&FLIGHTS, "JFK", &flight(Some("N1"), Some(5)))?;
    driver.send(&PLANES, "N1", &plane("737"))?;
    let all = driver.receive_all(&AIRCRAFT_TOTALS)?;
    assert_eq!(all, [totals(None, 1), totals(Some("737"), 1)]);
    Ok(())
}

#[test]
fn delays_are_kept_by_the_hour_and_of_departed_flights_only() -> Result<()> {
    let app = App::new("delays").processor::<HourlyDelays>();
    let mut driver = TestDriver::builder(app).start()?;
    let day = Timestamp::from_millis(1_356_998_400_000); // 2013-01-01T00:00:00Z
    for (minute, delay) in [(0, None), (59, Some(-2)), (60, Some(7)), (30, Some(10))] {
        let time = Timestamp::from_millis(day.as_millis() + minute * MINUTE_MS);
        driver
            .message(&FLIGHTS, "JFK", &flight(None, delay))
            .timestamp(time)
            .send()?;
    }
    let key = |hour: &str| ("JFK".to_owned(), format!("2013-01-01T{hour}:00:00Z"));
    let delays = |flights, cancelled, total_delay_min, max_delay_min| Delays {
        flights,
        cancelled,
        total_delay_min,
        max_delay_min,
    };
    let expected = [
        (key("00"), delays(1, 1, 0, None)),
        (key("00"), delays(2, 1, -2, Some(-2))),
        (key("01"), delays(1, 0, 7, Some(7))),
        (key("00"), delays(3, 1, 8, Some(10))),
    ];
    assert_eq!(driver.receive_all(&HOURLY_DELAYS)?, expected);
    Ok(())
}

#[test]
fn a_flight_that_is_no_flight_stops_the_application_at_its_place() -> Result<()> {
    let app = App::new("aircraft").processor::<AircraftTotals>();
    let mut driver = TestDriver::builder(app).start()?;
    let bad = driver.raw(&PLANES, Some(b"N1"), Some(br#"{"year":"old"}"#));
    let error = bad.send().unwrap_err().to_string();
    assert!(error.contains("planes[0] offset 0"), "{error}");
    Ok(())
}
