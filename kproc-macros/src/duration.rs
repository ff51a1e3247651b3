//! Periods, as in `#[every("10s")]`: a whole number and a unit.
//!
//! | unit | is |
//! |---|---|
//! | `ms` | a millisecond |
//! | `s` | a second |
//! | `m` | a minute |
//! | `h` | an hour |
//! | `d` | 24 hours |
//!
//! There is one way to write each, in lower case and without spaces. Months and years have no fixed length.

/// Settings of kproc have the same ones: its `tests/units_of_time.rs` holds the two tables together.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// The unit that was meant by another spelling of it.
fn meant(unit: &str) -> Option<&'static str> {
    Some(match unit.to_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    })
}

/// Milliseconds, at least one; or what is wrong and how to mend it.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("a period is a number and a unit, such as `\"10s\"`".to_owned());
    }
    if let Some(positive) = trimmed.strip_prefix('-') {
        return Err(format!(
            "a period cannot be negative: did you mean `\"{}\"`?",
            positive.trim()
        ));
    }
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = trimmed.split_at(digits);
    if number.is_empty() {
        return Err(format!(
            "`{trimmed}` is not a period: write a number and a unit, such as `\"10s\"`"
        ));
    }
    let unit = unit.trim_start();
    let length = length(number, unit)?;
    if trimmed.len() != number.len() + unit.len() || trimmed.len() != text.len() {
        return Err(format!("no spaces in a period: write `\"{number}{unit}\"`"));
    }
    let too_long = || format!("`{text}` is too long: the longest period is about 292 million years");
    let millis = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(length))
        .ok_or_else(too_long)?;
    match millis {
        0 => Err(format!(
            "`{text}` would fire without end: the shortest period is `\"1ms\"`"
        )),
        // Times are signed: what does not fit there could never be due.
        1..=0x7fff_ffff_ffff_ffff => Ok(millis),
        _ => Err(too_long()),
    }
}

/// The length of a unit in milliseconds.
fn length(number: &str, unit: &str) -> Result<u64, String> {
    if let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(*length);
    }
    let known = "the units are `ms`, `s`, `m` (minutes), `h` and `d`";
    if unit.is_empty() {
        return Err(format!(
            "`{number}` has no unit: write `\"{number}s\"` for seconds; {known}"
        ));
    }
    if unit == "M" {
        return Err(format!(
            "`M` could be months, which have no fixed length: write `\"{number}m\"` for minutes; {known}"
        ));
    }
    if let Some(meant) = meant(unit) {
        return Err(format!(
            "unknown unit `{unit}`: write `\"{number}{meant}\"`; {known}"
        ));
    }
    Err(match unit.to_lowercase().as_str() {
        "w" | "week" | "weeks" => match number.parse::<u64>().ok().and_then(|weeks| weeks.checked_mul(7)) {
            Some(days) => format!("there is no unit for weeks: write `\"{days}d\"`; {known}"),
            None => format!("there is no unit for weeks; {known}"),
        },
        "mo" | "mon" | "month" | "months" => no_fixed_length(number, unit, 30),
        "y" | "yr" | "year" | "years" => no_fixed_length(number, unit, 365),
        "us" | "µs" | "ns" | "micros" | "nanos" | "microseconds" | "nanoseconds" => {
            format!("`{unit}` is too short: the shortest period is `\"1ms\"`; {known}")
        }
        _ if unit.starts_with(['.', 'e', 'E', '_']) => {
            let text = format!("{number}{unit}");
            let fix = in_one_unit(&text)
                .map_or("write all digits, or use a smaller unit".to_owned(), |one| {
                    format!("write `\"{one}\"`")
                });
            format!("a period is a whole number: instead of `{text}` {fix}; {known}")
        }
        _ if unit.chars().any(|c| c.is_ascii_digit()) => {
            let text = format!("{number}{unit}");
            let fix = in_one_unit(&text).map_or("use the smallest unit alone".to_owned(), |one| {
                format!("write `\"{one}\"`")
            });
            format!("a period has one number and one unit: instead of `{text}` {fix}; {known}")
        }
        _ => format!("unknown unit `{unit}`: {known}"),
    })
}

/// What is wrong with a month or a year, and the days that are about as long.
fn no_fixed_length(number: &str, unit: &str, days: u64) -> String {
    let days = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(days));
    let days = days
        .filter(|days| *days > 0)
        .map(|days| format!(", such as `\"{days}d\"`"));
    let unit = if unit.to_lowercase().starts_with('y') {
        "year"
    } else {
        "month"
    };
    format!(
        "a {unit} has no fixed length: write days{}",
        days.unwrap_or_default()
    )
}

/// `1m30s` and `1.5m` are `90s`, if that can be said in whole numbers.
fn in_one_unit(text: &str) -> Option<String> {
    let mut millis: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let number = split_while(&mut rest, |c| c.is_ascii_digit() || c == '.');
        let unit = split_while(&mut rest, |c| c.is_ascii_alphabetic());
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        millis = millis.checked_add(whole.parse::<u64>().ok()?.checked_mul(*length)?)?;
        if !fraction.is_empty() {
            let parts = fraction.parse::<u64>().ok()?.checked_mul(*length)?;
            let all = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            millis = millis.checked_add(parts.is_multiple_of(all).then_some(parts / all)?)?;
        }
    }
    let (name, length) = UNITS
        .iter()
        .rev()
        .find(|(_, length)| millis.is_multiple_of(*length))?;
    (millis > 0).then(|| format!("{}{name}", millis / length))
}

/// Takes the front of a text.
fn split_while<'a>(text: &mut &'a str, is_front: impl Fn(char) -> bool) -> &'a str {
    let end = text.find(|c| !is_front(c)).unwrap_or(text.len());
    let (front, rest) = text.split_at(end);
    *text = rest;
    front
}

#[cfg(test)]
mod tests {
    use super::{in_one_unit, parse};

    #[test]
    fn what_is_meant_in_one_unit() {
        for (text, one) in [
            ("1m30s", Some("90s")),
            ("1.5s", Some("1500ms")),
            ("0.5h", Some("30m")),
            ("1d12h", Some("36h")),
            ("1h1ms", Some("3600001ms")),
            ("1e3s", None),
            ("1.0001s", None),
            ("0.0s", None),
            ("1..5s", None),
            ("99999999999999999999s1ms", None),
            ("18446744073709551615d1ms", None),
            ("0.99999999999999999999s", None),
        ] {
            assert_eq!(in_one_unit(text).as_deref(), one, "{text}");
        }
    }

    #[test]
    fn one_unit_table() {
        for (text, millis) in [
            ("1ms", 1),
            ("1s", 1_000),
            ("5m", 300_000),
            ("24h", 86_400_000),
            ("1d", 86_400_000),
            ("007s", 7_000),
            ("9223372036854775807ms", i64::MAX as u64),
        ] {
            assert_eq!(parse(text), Ok(millis), "{text}");
        }
    }

    /// Every refusal says how to write it.
    #[test]
    fn f07_f10_refusals_name_the_fix() {
        for (text, part) in [
            ("", "a number and a unit, such as `\"10s\"`"),
            ("   ", "a number and a unit, such as `\"10s\"`"),
            ("s", "`s` is not a period: write a number and a unit"),
            ("+5s", "`+5s` is not a period"),
            ("٣s", "`٣s` is not a period"),
            ("0s", "the shortest period is `\"1ms\"`"),
            ("0ms", "the shortest period is `\"1ms\"`"),
            ("-1s", "cannot be negative: did you mean `\"1s\"`?"),
            ("10", "`10` has no unit: write `\"10s\"` for seconds"),
            (" 10s ", "no spaces in a period: write `\"10s\"`"),
            ("10 s", "no spaces in a period: write `\"10s\"`"),
            ("10s\n", "no spaces in a period: write `\"10s\"`"),
            ("1e3s", "a whole number: instead of `1e3s`"),
            ("1.5s", "a whole number: instead of `1.5s` write `\"1500ms\"`"),
            ("1_000s", "a whole number: instead of `1_000s`"),
            (
                "1m30s",
                "one number and one unit: instead of `1m30s` write `\"90s\"`",
            ),
            ("1m30", "instead of `1m30` use the smallest unit alone"),
            ("10S", "unknown unit `S`: write `\"10s\"`"),
            ("10MS", "unknown unit `MS`: write `\"10ms\"`"),
            ("5M", "write `\"5m\"` for minutes"),
            ("5min", "unknown unit `min`: write `\"5m\"`"),
            ("5 minutes", "unknown unit `minutes`: write `\"5m\"`"),
            (
                "5mo",
                "a month has no fixed length: write days, such as `\"150d\"`",
            ),
            (
                "1 month",
                "a month has no fixed length: write days, such as `\"30d\"`",
            ),
            ("1y", "a year has no fixed length: write days, such as `\"365d\"`"),
            ("99999999999999999999y", "a year has no fixed length: write days"),
            ("2w", "write `\"14d\"`"),
            ("500us", "the shortest period is `\"1ms\"`"),
            ("500µs", "the shortest period is `\"1ms\"`"),
            ("5 apples", "unknown unit `apples`: the units are"),
            ("9223372036854775808ms", "too long"),
            ("18446744073709551616ms", "too long"),
            ("99999999999999999999999d", "too long"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
