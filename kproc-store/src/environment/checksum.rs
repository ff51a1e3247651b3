//! A CRC32C in front of each stored value, over key and value.

const SIZE: usize = 4;

fn checksum(key: &[u8], value: &[u8]) -> [u8; SIZE] {
    crc32c::crc32c_append(crc32c::crc32c(key), value).to_le_bytes()
}

pub(super) fn pack<'a>(key: &[u8], value: &[u8], out: &'a mut Vec<u8>) -> &'a [u8] {
    out.clear();
    out.extend_from_slice(&checksum(key, value));
    out.extend_from_slice(value);
    out
}

pub(super) fn unpack<'a>(key: &[u8], stored: &'a [u8]) -> Result<&'a [u8], &'static str> {
    let Some((found, value)) = stored.split_first_chunk::<SIZE>() else {
        return Err("the value is shorter than its checksum");
    };
    if *found == checksum(key, value) {
        Ok(value)
    } else {
        Err("the value does not match its checksum")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flipped_bit_is_found() {
        let mut out = Vec::new();
        for value in [&b""[..], b"0123456789"] {
            let stored = pack(b"key", value, &mut out).to_vec();
            assert_eq!(unpack(b"key", &stored), Ok(value));
            assert!(unpack(b"kez", &stored).is_err());
            for bit in 0..stored.len() * 8 {
                let mut bad = stored.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(unpack(b"key", &bad).is_err());
            }
        }
        assert!(unpack(b"key", b"123").is_err());
    }
}
