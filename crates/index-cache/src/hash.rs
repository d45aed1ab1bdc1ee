//! The keyed hash that places a name in the index.
//!
//! Names on an open registry are chosen by strangers. SipHash-1-3 with a key that is drawn for each
//! file makes collisions impossible to prepare; unlike the hashers behind `HashMap` it is specified,
//! so a file means the same to every version of every program.

use siphasher::sip::SipHasher13;
use std::hash::{BuildHasher, RandomState};

/// The upper half of the key's SipHash-1-3.
#[inline]
pub(crate) fn hash(hash_key: &[u8; 16], key: &str) -> u32 {
    let half =
        |from: usize| hash_key[from..].first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
    let wide = SipHasher13::new_with_keys(half(0), half(8)).hash(key.as_bytes());
    u32::try_from(wide >> 32).unwrap_or(0)
}

/// Sixteen bytes that an outsider cannot guess: the standard library's own source of hash keys.
///
/// Not for cryptography; for keys of hash tables and names of temporary files.
pub(crate) fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    for half in bytes.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(0_u8).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_specified_one() {
        let key = std::array::from_fn(|i| u8::try_from(i).unwrap());
        assert_eq!(hash(&key, "abc"), reference(&key, b"abc"));
    }

    /// The algorithm written out, so that a change in the dependency shows.
    fn reference(key: &[u8; 16], bytes: &[u8]) -> u32 {
        assert!(bytes.len() < 8, "one final block is enough for the test");
        let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
        let (k0, k1) = (word(&key[..8]), word(&key[8..]));
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let mut last = [0; 8];
        last[..bytes.len()].copy_from_slice(bytes);
        last[7] = u8::try_from(bytes.len()).unwrap();
        v[3] ^= word(&last);
        round(&mut v);
        v[0] ^= word(&last);
        v[2] ^= 0xff;
        (0..3).for_each(|_| round(&mut v));
        u32::try_from((v[0] ^ v[1] ^ v[2] ^ v[3]) >> 32).unwrap()
    }

    fn round(v: &mut [u64; 4]) {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }

    #[test]
    fn two_draws_differ() {
        assert_ne!(random(), random());
    }
}
