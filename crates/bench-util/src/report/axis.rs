//! A logarithmic axis: values to places, and round numbers to label it with.

/// Maps values between `low` and `high` to places between `start` and `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// Spans the positive finite `values` with some room on both sides.
    pub(super) fn over(values: impl IntoIterator<Item = f64>, start: f64, end: f64) -> Self {
        let usable = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = usable
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.5, 2.0) };
        // At least a fifth wide, so that equal values do not fill the picture with their noise.
        let room = (high / low).powf(0.08).max(1.1);
        Self { low: low / room, high: high * room, start, end }
    }

    /// The place of `value`; what lies outside is put on the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Some round numbers inside the axis: even steps on a narrow one, 1-2-5 on a wide one.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let even = [1.0, 2.0, 5.0].map(|step| step * 10_f64.powf(self.span_power()));
        let narrow = even.iter().map(|step| self.multiples(*step));
        let wide = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(|steps| self.decades(steps));
        if self.high / self.low < 4.0 {
            return narrow.into_iter().find(|ticks| ticks.len() <= 7).unwrap_or_default();
        }
        wide.into_iter().find(|ticks| ticks.len() <= 8).unwrap_or_default()
    }

    /// The power of ten of a tenth of the span.
    fn span_power(&self) -> f64 {
        ((self.high - self.low) / 10.0).log10().ceil()
    }

    fn multiples(&self, step: f64) -> Vec<f64> {
        let first = (self.low / step).ceil();
        (0..100).map(|n| (first + f64::from(n)) * step).take_while(|v| *v <= self.high).collect()
    }

    fn decades(&self, steps: &[f64]) -> Vec<f64> {
        (-12..=15)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_middle_are_where_a_logarithm_puts_them() {
        let axis = Axis { low: 0.1, high: 10.0, start: 0.0, end: 100.0 };
        for (value, place) in [(0.1, 0.0), (1.0, 50.0), (10.0, 100.0), (0.0, 0.0), (99.0, 100.0)] {
            assert!((axis.place(value) - place).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn wide_and_narrow_axes_have_a_readable_number_of_ticks() {
        for (low, high) in [(0.95, 1.04), (0.3, 1.0), (0.02, 1.2), (0.001, 1000.0), (1.0, 1.0)] {
            let ticks = Axis::over([low, high], 0.0, 1.0).ticks();
            assert!((2..=8).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn nothing_to_show_still_makes_an_axis() {
        let axis = Axis::over([f64::NAN, 0.0, f64::INFINITY], 0.0, 1.0);
        assert!((0.0..=1.0).contains(&axis.place(1.0)) && axis.ticks().contains(&1.0));
    }
}
