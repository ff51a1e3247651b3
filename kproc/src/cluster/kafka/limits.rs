//! From bytes to librdkafka's limits, which know little of what records take.
//!
//! librdkafka counts the values of records only. What it allocates for each of them besides is more than small
//! records themselves, so that a limit in bytes needs one in records beside it. And what it asks brokers for is counted
//! as brokers keep it: compressed.

/// Default properties.
pub(super) type Limits = Vec<(&'static str, String)>;

/// What a partition may read ahead if nothing was said.
pub(super) const READ_AHEAD: usize = 4 << 20;

/// What a producer may hold if nothing was said: half of it may be in librdkafka, half waits outside.
pub(super) const BUFFER: usize = 8 << 20;

/// What one record is taken for, at least: small ones have about as much of librdkafka's own around them.
const RECORD: usize = 512;

/// How many times larger a fetch is taken to become when it is decompressed. Records that are all but equal become more,
/// and take that much more memory than their share.
const COMPRESSION: usize = 8;

/// Asking for less at once gains no memory worth the requests. Brokers send a whole batch of records in any case.
const SMALLEST_FETCH: usize = 16 << 10;
/// Asking for more at once gains no speed.
const LARGEST_FETCH: usize = 256 << 10;

/// How far a consumer or reader reads ahead in one partition. Its queue may hold up to three quarters of `bytes`, the
/// last fetch of it included, decompressed: librdkafka looks at the limits before it fetches, and keeps all that comes.
///
/// librdkafka has these limits for each partition, because each has a queue of its own, and nothing that bounds all
/// of them together.
pub(super) fn read_ahead(bytes: usize) -> Limits {
    vec![
        ("queued.max.messages.kbytes", kilobytes(bytes / 2)),
        ("queued.min.messages", (bytes / RECORD).max(16).to_string()),
        (
            "fetch.message.max.bytes",
            (bytes / 4 / COMPRESSION)
                .clamp(SMALLEST_FETCH, LARGEST_FETCH)
                .to_string(),
        ),
    ]
}

fn kilobytes(bytes: usize) -> String {
    (bytes / 1024).max(1).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(limits: &Limits, name: &str) -> usize {
        let (_, value) = limits.iter().find(|(it, _)| *it == name).unwrap();
        value.parse().unwrap()
    }

    #[test]
    fn a_share_bounds_the_queue_with_its_last_fetch_decompressed() {
        for bytes in [0, 1000, 64 << 10, 1 << 20, READ_AHEAD, 64 << 20] {
            let limits = read_ahead(bytes);
            let fetch = number(&limits, "fetch.message.max.bytes");
            let queued = number(&limits, "queued.max.messages.kbytes") * 1000;
            let most = (bytes * 3 / 4).max(bytes / 2 + COMPRESSION * SMALLEST_FETCH + 1000);
            assert!(queued + COMPRESSION * fetch <= most, "{bytes}");
            assert!(
                number(&limits, "queued.min.messages") > 0,
                "librdkafka takes no zero"
            );
        }
    }
}
