//! FNV-1a, 64 bits: a hash that is the same in every version and on every machine. Not for anything that must resist an
//! attacker.

/// Hashes the parts, with a separator between them, so that `["ab", "c"]` and `["a", "bc"]` differ.
pub fn fnv1a(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash ^= u64::from(*byte);
            hash = hash.wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
