//! The checksum of every page, record and slice: CRC-32C, at the speed of memory.
//!
//! Everything that is read is checked, so the checksum is most of what a lookup costs. Folding with
//! carry-less multiplication takes half to a third of the time of the processor's own CRC
//! instruction (1.2 kB: 25 ns against 76 ns; 70 kB: 1.2 us against 2.7 us, on an AMD EPYC).

/// CRC-32C (Castagnoli), which its catalogue calls CRC-32/ISCSI.
#[inline]
pub(crate) fn check(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_the_catalogued_one_at_every_length() {
        assert_eq!(check(b"123456789"), 0xe306_9283);
        let bytes: Vec<u8> = (0..251).cycle().take(3000).collect();
        for len in (0..300).chain([1023, 1024, 2999]) {
            assert_eq!(check(&bytes[..len]), bit_by_bit(&bytes[..len]), "{len}");
        }
    }

    /// The definition, written out.
    fn bit_by_bit(bytes: &[u8]) -> u32 {
        let mut crc = !0_u32;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            }
        }
        !crc
    }
}
