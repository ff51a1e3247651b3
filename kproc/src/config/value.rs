//! Values as text: one parser for each type, whatever the text came from.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use crate::policy::{Policy, Retry};

/// A type of settings.
pub(crate) trait Value: Sized {
    /// What stands for a value in `--help`.
    const PLACEHOLDER: &'static str;
    /// The values there are, if they are few.
    const CHOICES: &'static [&'static str] = &[];

    /// Reads a value. The error says what was expected, not what was found: it may be a secret.
    fn parse(text: &str) -> Result<Self, String>;
    /// The text of a value, as `parse` reads it; `None` if there is nothing to show.
    fn show(&self) -> Option<String>;
}

impl Value for bool {
    const PLACEHOLDER: &'static str = "BOOL";
    const CHOICES: &'static [&'static str] = &["true", "false"];

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "expected `true` or `false`".into())
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

macro_rules! count {
    ($($type:ty),*) => {$(
        impl Value for $type {
            const PLACEHOLDER: &'static str = "N";

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("expected a whole number up to {}", Self::MAX))
            }

            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}
count!(u32, usize);

impl Value for String {
    const PLACEHOLDER: &'static str = "TEXT";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl Value for PathBuf {
    const PLACEHOLDER: &'static str = "PATH";

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Err("expected a path, found an empty text".into())
        } else {
            Ok(text.into())
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

impl<T: Value> Value for Option<T> {
    const PLACEHOLDER: &'static str = T::PLACEHOLDER;
    const CHOICES: &'static [&'static str] = T::CHOICES;

    fn parse(text: &str) -> Result<Self, String> {
        T::parse(text).map(Some)
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(T::show)
    }
}

/// A list, separated by commas.
impl Value for Vec<String> {
    const PLACEHOLDER: &'static str = "A,B,…";

    fn parse(text: &str) -> Result<Self, String> {
        let items: Self = text.split(',').map(|item| item.trim().to_owned()).collect();
        if items.iter().any(String::is_empty) {
            return Err("expected one or more entries separated by commas, found an empty one".into());
        }
        Ok(items)
    }

    fn show(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.join(","))
    }
}

impl Value for Duration {
    const PLACEHOLDER: &'static str = "TIME";

    fn parse(text: &str) -> Result<Self, String> {
        parse_duration(text)
    }

    fn show(&self) -> Option<String> {
        let millis = self.as_millis();
        if millis == 0 {
            return Some("0s".into());
        }
        let (unit, size) = UNITS
            .iter()
            .rev()
            .find(|(_, size)| millis.is_multiple_of(u128::from(*size)))?;
        Some(format!("{}{unit}", millis / u128::from(*size)))
    }
}

/// Units of time and their milliseconds, ascending. `#[every]` has the same ones (see `tests/units_of_time.rs`).
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Reads a time: a whole number and its unit, without a space. The units are `ms`, `s`, `m` (minutes), `h` and
/// `d`; there are none longer than a day, and none shorter than a millisecond.
///
/// ```
/// use std::time::Duration;
/// use kproc::config::parse_duration;
///
/// assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
/// assert_eq!(parse_duration("5m"), Ok(Duration::from_secs(300)));
/// for wrong in ["", "5", "5M", "5mo", "-1s", "1.5s", " 1s", "1 s", "1e3s"] {
///     assert!(parse_duration(wrong).is_err(), "{wrong}");
/// }
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_number(text).ok_or(EXPECTED_TIME)?;
    let size = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or(EXPECTED_TIME)?
        .1;
    let millis = number
        .and_then(|number| number.checked_mul(size))
        .ok_or("this time is too long")?;
    Ok(Duration::from_millis(millis))
}

const EXPECTED_TIME: &str =
    "expected a time: a whole number and one of the units ms, s, m (minutes), h, d, such as `500ms` or `5m`";

/// A number of bytes. As text: `512`, `16KiB`, `64MiB`, `2GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

const SIZES: [(&str, u64); 4] = [("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Value for Size {
    const PLACEHOLDER: &'static str = "SIZE";

    fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a size: a whole number of bytes, or with one of the units KiB, MiB, GiB, such as `64MiB`";
        let (number, unit) = split_number(text).ok_or(EXPECTED)?;
        let size = SIZES.iter().find(|(name, _)| *name == unit).ok_or(EXPECTED)?.1;
        Ok(Self(
            number
                .and_then(|number| number.checked_mul(size))
                .ok_or("this size is too large")?,
        ))
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = SIZES
            .iter()
            .rev()
            .find(|(_, size)| self.0.is_multiple_of(*size) && self.0 > 0)
            .unwrap_or(&SIZES[0]);
        write!(f, "{}{unit}", self.0 / size)
    }
}

/// `stop`, `skip`, `retry`, `retry:ATTEMPTS:BACKOFF:skip` (each part of it may be left out).
impl Value for Policy {
    const PLACEHOLDER: &'static str = "POLICY";

    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        match (parts.next(), text.contains(':')) {
            (Some("stop"), false) => return Ok(Self::Stop),
            (Some("skip"), false) => return Ok(Self::Skip),
            (Some("retry"), _) => {}
            _ => return Err(
                "expected `stop`, `skip` or `retry`, or `retry` with its options as in `retry:5:100ms:skip`"
                    .into(),
            ),
        }
        let mut retry = Retry::default();
        for part in parts {
            match part {
                "skip" => retry.then_skip = true,
                "stop" => retry.then_skip = false,
                count if count.bytes().all(|byte| byte.is_ascii_digit()) => {
                    retry.attempts = Value::parse(count)?;
                }
                time => retry.backoff = parse_duration(time)?,
            }
        }
        Ok(Self::Retry(retry))
    }

    fn show(&self) -> Option<String> {
        Some(match self {
            Self::Stop => "stop".into(),
            Self::Skip => "skip".into(),
            Self::Retry(retry) => {
                let then = if retry.then_skip { ":skip" } else { "" };
                format!("retry:{}:{}{then}", retry.attempts, retry.backoff.show()?)
            }
        })
    }
}

/// Reads a policy as the settings have it: `stop`, `skip`, `retry` or `retry:ATTEMPTS:BACKOFF:skip`.
///
/// ```
/// use kproc::Policy;
///
/// assert_eq!("skip".parse(), Ok(Policy::Skip));
/// assert!("retry:3:50ms".parse::<Policy>().is_ok());
/// assert!("ignore".parse::<Policy>().unwrap_err().starts_with("expected `stop`, `skip` or `retry`"));
/// ```
impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Value::parse(text)
    }
}

/// Splits `64MiB` into 64 and `MiB`; the number is `None` if it does not fit.
fn split_number(text: &str) -> Option<(Option<u64>, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    (digits > 0).then(|| (number.parse().ok(), unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f07_f10_times_have_one_table_of_units() {
        let millis = |text| parse_duration(text).map(|time| time.as_millis());
        assert_eq!(millis("0s"), Ok(0));
        assert_eq!(millis("1ms"), Ok(1));
        assert_eq!(millis("5m"), Ok(300_000));
        assert_eq!(millis("2h"), Ok(7_200_000));
        assert_eq!(millis("1d"), Ok(86_400_000));
        for wrong in [
            "", "10", " 10s ", "10 s", "1e3s", "10S", "5M", "5mo", "5min", "1y", "-1s", "+1s", "s", "1.5s",
            "٣s",
        ] {
            assert!(
                parse_duration(wrong).unwrap_err().contains("ms, s, m (minutes)"),
                "{wrong}"
            );
        }
        assert_eq!(
            millis("18446744073709551616ms"),
            Err("this time is too long".into())
        );
        assert_eq!(
            millis("18446744073709551615d"),
            Err("this time is too long".into())
        );
    }

    #[test]
    fn sizes_have_units_too() {
        assert_eq!(Size::parse("512"), Ok(Size(512)));
        assert_eq!(Size::parse("64MiB"), Ok(Size(64 << 20)));
        for wrong in ["", "64MB", "64 MiB", "1.5GiB", "-1"] {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Size::parse("99999999999GiB"),
            Err("this size is too large".into())
        );
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for text in ["0s", "1ms", "1500ms", "90s", "1m", "36h", "2d"] {
            assert_eq!(Duration::parse(text).unwrap().show().unwrap(), text);
        }
        assert_eq!(Duration::from_secs(3600).show().unwrap(), "1h");
        for text in ["0", "1", "1025", "1KiB", "64MiB", "3GiB"] {
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn policies_are_one_word_or_a_retry_with_options() {
        let policy = |text| Policy::parse(text).map(|policy| policy.show().unwrap());
        for text in ["stop", "skip", "retry:3:20ms", "retry:3:20ms:skip"] {
            assert_eq!(policy(text), Ok(text.into()));
        }
        assert_eq!(policy("retry"), Ok("retry:5:100ms".into()));
        assert_eq!(policy("retry:skip:1s:2"), Ok("retry:2:1s:skip".into()));
        for wrong in [
            "",
            "Stop",
            "stop:3",
            "retry:",
            "retry:x",
            "retry:99999999999",
            "again",
        ] {
            assert!(policy(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_has_no_empty_entries() {
        assert_eq!(
            Vec::parse("a:1, b:2"),
            Ok(vec!["a:1".to_owned(), "b:2".to_owned()])
        );
        assert!(Vec::parse("").is_err());
        assert!(Vec::parse("a,,b").is_err());
    }
}
