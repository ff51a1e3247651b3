//! When a certificate is valid: the one thing of it that is worth knowing before a connection fails.

use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{Offset, TimeZone},
};

/// Tags of DER.
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// From when until when a certificate (X.509, DER) is valid. `None`: this is no certificate.
pub(super) fn validity(der: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let mut certificate = Reader(der).take(SEQUENCE)?;
    let mut fields = certificate.take(SEQUENCE)?;
    if fields.tag() == Some(VERSION) {
        fields.take(VERSION)?;
    }
    fields.take(INTEGER)?;
    // The signature's algorithm, and who has signed.
    fields.take(SEQUENCE)?;
    fields.take(SEQUENCE)?;
    let mut validity = fields.take(SEQUENCE)?;
    Some((validity.time()?, validity.time()?))
}

/// What is left of some DER.
struct Reader<'d>(&'d [u8]);

impl Reader<'_> {
    /// The tag of the next element.
    fn tag(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The content of the next element, which must have this tag.
    fn take(&mut self, tag: u8) -> Option<Self> {
        let (&[found, length], mut rest) = self.0.split_first_chunk()?;
        if found != tag {
            return None;
        }
        let mut size = usize::from(length);
        if length & 0x80 != 0 {
            // The number of bytes of the length; none at all would be BER.
            let bytes = rest.split_off(..usize::from(length & 0x7f))?;
            if bytes.is_empty() || bytes.len() > size_of::<u32>() {
                return None;
            }
            size = bytes.iter().fold(0, |size, byte| size << 8 | usize::from(*byte));
        }
        let content = rest.split_off(..size)?;
        self.0 = rest;
        Some(Self(content))
    }

    /// The next element, a time.
    fn time(&mut self) -> Option<Timestamp> {
        let tag = self.tag()?;
        let text = std::str::from_utf8(self.take(tag)?.0).ok()?;
        let (century, text) = match tag {
            // Two digits, of the years 1950 to 2049.
            UTC_TIME => (if text < "50" { "20" } else { "19" }, text),
            GENERALIZED_TIME => ("", text),
            _ => return None,
        };
        let time = DateTime::strptime("%Y%m%d%H%M%SZ", format!("{century}{text}")).ok()?;
        TimeZone::fixed(Offset::UTC).to_timestamp(time).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a certificate, with these two times.
    fn certificate(times: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: &[u8]| [&[tag, 0x82, 0, content.len() as u8][..], content].concat();
        let name = wrap(SEQUENCE, b"");
        let version = wrap(VERSION, &[INTEGER, 1, 2]);
        let fields = [&*version, &[INTEGER, 1, 9], &name, &name, &wrap(SEQUENCE, times)].concat();
        wrap(SEQUENCE, &wrap(SEQUENCE, &fields))
    }

    #[test]
    fn both_forms_of_times_are_read() {
        let times = b"\x17\x0d491231235959Z\x18\x0f20500102030405Z";
        let (from, until) = validity(&certificate(times)).unwrap();
        assert_eq!(from.to_string(), "2049-12-31T23:59:59Z");
        assert_eq!(until.to_string(), "2050-01-02T03:04:05Z");
    }

    #[test]
    fn what_is_no_certificate_is_none() {
        let whole = certificate(b"\x17\x0d500101000000Z\x17\x0d991231235959Z");
        assert_eq!(validity(&whole).unwrap().0.to_string(), "1950-01-01T00:00:00Z");
        for length in 0..whole.len() {
            assert_eq!(validity(&whole[..length]), None, "{length}");
        }
        assert_eq!(validity(b"\x30\x80\x30\x80"), None);
        assert_eq!(validity(b"\x30\xff\x30\x80"), None);
        assert_eq!(
            validity(&certificate(b"\x17\x0d991331235959Z\x17\x0d991231235959Z")),
            None
        );
    }
}
