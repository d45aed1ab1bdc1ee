//! The demo's one table: what happened, in numbers.

use std::time::Duration;

/// Rows of (what, figure), printed with one column of labels.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<(String, String)>,
}

impl Table {
    pub(super) fn row(&mut self, what: &str, figure: String) {
        self.rows.push((what.to_owned(), figure));
    }

    #[expect(clippy::print_stdout, reason = "the table is the demo's product")]
    pub(super) fn print(&self) {
        let width = self.rows.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
        println!();
        for (what, figure) in &self.rows {
            println!("{what:<width$}  {figure}");
        }
    }
}

/// `12.3 MiB`; whole bytes below one KiB.
pub(super) fn bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let scaled = |shift: u32| count as f64 / (1_u64 << shift) as f64;
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.1} KiB", scaled(10)),
        _ => format!("{:.1} MiB", scaled(20)),
    }
}

/// `0.123 s`
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}
