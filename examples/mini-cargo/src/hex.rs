//! SHA-256 checksums as text: 64 hexadecimal digits, as registries and lock files write them.

use anyhow::{Context as _, Result, bail};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for nibble in [byte >> 4, byte & 0xF] {
            text.push(char::from(DIGITS[usize::from(nibble)]));
        }
    }
    text
}

/// # Errors
/// When `text` is anything but 64 hexadecimal digits.
pub(crate) fn decode(text: &str) -> Result<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        bail!("checksum `{text}` is not 64 hexadecimal digits");
    }
    let mut bytes = [0; 32];
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16)
            .with_context(|| format!("checksum `{text}` is not hexadecimal"))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else() {
        let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7 % 256).unwrap_or(0));
        assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        let (long, bad) = ("ab".repeat(33), "xy".repeat(32));
        for text in ["", "ab", &long, &bad] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
