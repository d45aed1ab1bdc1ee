//! Tar archives: 512-byte headers, each followed by its file.
//!
//! The `tar` crate reads the fields of a header. The framing is ours, because in tar the framing is
//! where the attacks are: extension headers change the size and the name of the entry behind them, and
//! readers that disagree on which of two sizes wins read different archives (CVE-2025-62518). Here a
//! PAX size always wins, extension records are capped before they are buffered, two extensions that
//! contradict each other are refused, and so is an archive without its two closing blocks of zeros.
//!
//! Absent: sparse files, devices, owners, times and extended attributes.

mod extension;
mod gzip;
mod header;
mod read;
mod source;

pub(crate) use read::{gzipped, plain};
