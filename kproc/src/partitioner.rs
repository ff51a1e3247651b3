//! Which partition a key belongs to: as Kafka's default partitioner and librdkafka's `murmur2_random` say.

use crate::record::Partition;

/// The partition of a key. An empty key is a key like any other.
pub(crate) fn partition_of(key: &[u8], partitions: u32) -> Partition {
    Partition::new((murmur2(key) & 0x7fff_ffff) % partitions)
}

/// 32-bit `MurmurHash2` with the seed that Kafka uses.
pub(crate) fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;

    let mut hash = SEED ^ data.len() as u32;
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (place, byte) in tail.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * place);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors that the tests of Kafka's Java client use, and the empty key.
    #[test]
    fn murmur2_is_that_of_the_java_client() {
        let vectors: [(&str, i32); 7] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
            ("", 275_646_681),
        ];
        for (key, hash) in vectors {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key:?}");
        }
    }
}
