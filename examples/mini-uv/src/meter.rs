//! How far the archives of an installation are: in bytes where all their sizes are known, since one
//! wheel can be nine tenths of them, else in wheels.

use std::cell::Cell;

use indicatif::ProgressBar;

use crate::ui::Ui;

/// The bar of all wheels.
pub(crate) struct Meter {
    pub(crate) bar: ProgressBar,
    in_bytes: bool,
}

/// One wheel's part of the bar; it stays on its thread.
pub(crate) struct Part {
    bar: ProgressBar,
    in_bytes: bool,
    bytes: u64,
    shown: Cell<u64>,
}

impl Meter {
    /// For archives of `bytes` each; 0 where nobody knows.
    pub(crate) fn new(ui: Ui, bytes: &[u64]) -> Self {
        let in_bytes = !bytes.contains(&0);
        let length = if in_bytes { bytes.iter().sum() } else { bytes.len() as u64 };
        Self { bar: ui.bar(length, in_bytes, "Preparing packages..."), in_bytes }
    }

    /// The part of a wheel whose archive has `bytes`.
    pub(crate) fn part(&self, bytes: u64) -> Part {
        Part { bar: self.bar.clone(), in_bytes: self.in_bytes, bytes, shown: Cell::new(0) }
    }
}

impl Part {
    /// The archive was read up to byte `reached`; one that is read anew does not move the bar back.
    pub(crate) fn reached(&self, reached: u64) {
        let (reached, shown) = (reached.min(self.bytes), self.shown.get());
        if self.in_bytes && reached > shown {
            self.shown.set(reached);
            self.bar.inc(reached - shown);
        }
    }

    /// The wheel is ready, however it came.
    pub(crate) fn finish(&self) {
        if self.in_bytes {
            self.reached(self.bytes);
        } else {
            self.bar.inc(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(bytes: &[u64]) -> (u64, u64, u64) {
        let meter = Meter::new(Ui::new(true, false), bytes);
        let part = meter.part(bytes[0]);
        part.reached(4);
        part.reached(3);
        let between = meter.bar.position();
        part.finish();
        part.reached(99);
        (meter.bar.length().unwrap(), between, meter.bar.position())
    }

    #[test]
    fn bytes_are_counted_once_and_wheels_when_bytes_are_unknown() {
        assert_eq!(positions(&[10, 5]), (15, 4, 10));
        assert_eq!(positions(&[10, 0]), (2, 0, 1));
    }
}
