//! A hash that is the same on every machine and in every version: seeds and shards depend on it.

/// FNV-1a, 64 bits, with a final mix so that short names spread over all bits.
#[must_use]
pub fn stable_hash(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_never_changes() {
        assert_eq!(super::stable_hash(""), 0xecba_3df2_c338_3c52);
        assert_eq!(super::stable_hash("outbox/budget"), 0x5fe8_2963_9c24_9a96);
    }
}
