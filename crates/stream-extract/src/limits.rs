//! How much an archive may cost. Counted on the bytes that really come out, never on header values.

/// Upper bounds on what one archive may produce.
///
/// The defaults suit registries of source packages and wheels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub(crate) total_bytes: u64,
    pub(crate) entry_bytes: u64,
    pub(crate) ratio: u64,
    pub(crate) ratio_free_bytes: u64,
    pub(crate) entries: u64,
    pub(crate) name_bytes: usize,
    pub(crate) depth: usize,
    pub(crate) gnu_name_bytes: u64,
    pub(crate) pax_bytes: u64,
    pub(crate) pax_global_bytes: u64,
    pub(crate) decoder_bytes: u64,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl Default for Limits {
    /// 8 GiB in total, 4 GiB per entry, 200:1 after the
    /// first 16 MiB, a million entries, names of 4,096 bytes and 128 components. Links, where the policy
    /// lets them through, may have 16 MiB of text together.
    fn default() -> Self {
        Self {
            total_bytes: 8 * GIB,
            entry_bytes: 4 * GIB,
            ratio: 200,
            ratio_free_bytes: 16 * MIB,
            entries: 1_000_000,
            name_bytes: 4096,
            depth: 128,
            gnu_name_bytes: 128 * KIB,
            pax_bytes: 256 * KIB,
            pax_global_bytes: MIB,
            decoder_bytes: 128 * MIB,
        }
    }
}

impl Limits {
    /// The rule that cargo applies to `.crate` files: at most 512 MiB, or 20 times the archive.
    pub fn crate_file() -> Self {
        Self { total_bytes: u64::MAX, ratio: 20, ratio_free_bytes: 512 * MIB, ..Self::default() }
    }

    /// Bytes that all entries together may have.
    #[must_use]
    pub fn total_bytes(self, total_bytes: u64) -> Self {
        Self { total_bytes, ..self }
    }

    /// Bytes that one entry may have.
    #[must_use]
    pub fn entry_bytes(self, entry_bytes: u64) -> Self {
        Self { entry_bytes, ..self }
    }

    /// How many times larger than the archive's bytes read so far the output may be, once it is
    /// larger than `free_bytes`. The headers and the padding inside a compressed tar count as output.
    #[must_use]
    pub fn ratio(self, ratio: u64, free_bytes: u64) -> Self {
        Self { ratio, ratio_free_bytes: free_bytes, ..self }
    }

    /// How many entries there may be, and how many files and folders, those without an entry included.
    #[must_use]
    pub fn entries(self, entries: u64) -> Self {
        Self { entries, ..self }
    }

    /// Bytes that one path may have.
    #[must_use]
    pub fn name_bytes(self, name_bytes: usize) -> Self {
        Self { name_bytes, ..self }
    }

    /// Components that one path may have.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Memory that an archive may make the Zstandard or XZ decoder use for its window: 128 MiB unless
    /// set, which is what the strongest ordinary settings of both compressors need.
    #[must_use]
    pub fn decoder_bytes(self, decoder_bytes: u64) -> Self {
        Self { decoder_bytes, ..self }
    }

    /// Bytes of one tar extension record: a GNU long name, a PAX header, a global PAX header.
    #[must_use]
    pub fn tar_extension_bytes(self, gnu_name: u64, pax: u64, pax_global: u64) -> Self {
        Self { gnu_name_bytes: gnu_name, pax_bytes: pax, pax_global_bytes: pax_global, ..self }
    }
}
