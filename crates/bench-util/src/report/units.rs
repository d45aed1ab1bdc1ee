//! Numbers for people: few digits, always with the unit.

use crate::meter::Metric;

/// Formats a value of `metric`.
pub(super) fn show(value: f64, metric: &Metric) -> String {
    match metric {
        Metric::Wall | Metric::Cpu => duration(value),
        Metric::Counter(name) if name.ends_with("_ns") => duration(value),
        Metric::Counter(name) if name.ends_with("_bytes") => format!("{} B", grouped(value)),
        Metric::Counter(_) => grouped(value),
    }
}

/// What the metric is called in a table; wall time needs no name.
pub(super) fn suffix(metric: &Metric) -> String {
    match metric {
        Metric::Wall => String::new(),
        Metric::Cpu => " (CPU)".to_owned(),
        Metric::Counter(name) => {
            let name = name.trim_end_matches("_ns").trim_end_matches("_bytes");
            format!(" ({})", name.replace('_', " "))
        }
    }
}

/// Three significant digits of nanoseconds.
pub(super) fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Two decimals; three near 0, where 0.04 and 0.036 differ by a tenth, and three near 1.
pub(super) fn ratio(ratio: f64) -> String {
    match ratio {
        r if r.is_infinite() => "∞".to_owned(),
        r if r < 0.1 || (0.9..1.1).contains(&r) => format!("{r:.3}"),
        r if r < 10.0 => format!("{r:.2}"),
        r => format!("{r:.1}"),
    }
}

pub(super) fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A whole number with a comma each three digits.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_have_units() {
        assert_eq!(duration(12_345.0), "12.3 µs");
        assert_eq!(duration(2e9), "2.00 s");
        assert_eq!(show(1_234_567.0, &Metric::counter("size_bytes")), "1,234,567 B");
        assert_eq!(show(-1234.0, &Metric::counter("n")), "-1,234");
        assert_eq!([0.0361, 0.5, 1.0, 17.7].map(ratio), ["0.036", "0.50", "1.000", "17.7"]);
        assert_eq!(suffix(&Metric::counter("net_time_ns")), " (net time)");
    }
}
