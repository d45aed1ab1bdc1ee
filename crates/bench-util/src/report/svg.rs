//! Pictures: drawn by hand, because two kinds of plot do not need a plotting library.
//!
//! Each is 400 units wide: at 360 pixels of a phone its text is still 11 pixels high, and on a
//! desk it may grow. Colours come from style variables, so the same picture is light and dark;
//! every colour also has its own shape.

use std::fmt::Write as _;

use super::axis::Axis;
use super::units::{grouped, ratio, three_digits};
use super::{Curve, markdown, units};
use crate::comparison::{Comparison, Row};
use crate::goal::{Finding, Goal, Verdict};

const WIDTH: f64 = 400.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 388.0;
const LANE: f64 = 38.0;
const HEADING: f64 = 26.0;

/// Also in every picture of its own, so that it can be shown without the page.
pub(super) const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1c1f24;--faint:#5c6470;--line:#d5d9e0;--wash:#f4f6f9;\
--good:#0a7d3c;--doubt:#9a6700;--bad:#c2281f;--plain:#3f5a80;\
--s0:#2563a8;--s1:#c05a00;--s2:#0a7d3c;--s3:#8e3fa8;--s4:#5c6470;--s5:#b0243c}\
@media(prefers-color-scheme:dark){:root{--paper:#14171c;--ink:#e8eaee;--faint:#a0a8b4;--line:#39404b;--wash:#1c2027;\
--good:#4cc27f;--doubt:#e0ae40;--bad:#ff7b70;--plain:#8fb3e8;\
--s0:#77b0ee;--s1:#f0a060;--s2:#4cc27f;--s3:#cf94e4;--s4:#a0a8b4;--s5:#f08a9a}}\
svg{font:12px system-ui,sans-serif;fill:var(--ink)}\
svg .faint{fill:var(--faint)}svg .head{font-weight:600}svg .grid{stroke:var(--line)}svg .one{stroke:var(--faint)}\
svg .goal{stroke:var(--ink);stroke-width:2}svg .met{stroke:var(--good);fill:var(--good)}\
svg .missed{stroke:var(--bad);fill:var(--bad)}svg .inconclusive{stroke:var(--doubt);fill:var(--doubt)}\
svg .plain{stroke:var(--plain);fill:var(--plain)}svg .bar{stroke-width:3}svg text{stroke:var(--paper);stroke-width:3px;paint-order:stroke}\
svg .s0{stroke:var(--s0);fill:var(--s0)}svg .s1{stroke:var(--s1);fill:var(--s1)}\
svg .s2{stroke:var(--s2);fill:var(--s2)}svg .s3{stroke:var(--s3);fill:var(--s3)}\
svg .s4{stroke:var(--s4);fill:var(--s4)}svg .s5{stroke:var(--s5);fill:var(--s5)}\
svg polyline[class]{fill:none;stroke-width:2}";

/// Rows under one heading; the heading may be empty.
pub(super) struct Lanes<'a> {
    pub(super) heading: String,
    pub(super) rows: Vec<(String, &'a Row)>,
}

impl Lanes<'_> {
    fn heading_height(&self) -> f64 {
        if self.heading.is_empty() { 0.0 } else { HEADING }
    }

    fn height(&self) -> f64 {
        self.heading_height() + LANE * count(self.rows.len())
    }
}

/// Ratios with their intervals and goals, one lane each, on one logarithmic axis.
pub(super) fn ratios(groups: &[Lanes<'_>]) -> String {
    let rows = groups.iter().flat_map(|group| &group.rows);
    let axis = Axis::over(rows.flat_map(|(_, row)| extent(row)), LEFT, RIGHT);
    let bottom = groups.iter().map(Lanes::height).sum::<f64>() + 6.0;
    let mut picture = grid(&axis, bottom);
    let mut top = 0.0;
    for group in groups {
        if !group.heading.is_empty() {
            picture.push_str(&text(
                LEFT,
                top + 20.0,
                "start",
                "head",
                &shortened(&group.heading, 50),
            ));
        }
        let first = top + group.heading_height();
        for (at, (label, row)) in group.rows.iter().enumerate() {
            picture.push_str(&lane(&axis, first + LANE * count(at), label, row));
        }
        top += group.height();
    }
    frame(&picture, bottom + 40.0, "ratios to the reference with 95 % intervals")
}

fn extent(row: &Row) -> [f64; 5] {
    let goal = row.goal.map_or(1.0, |goal| bound(&goal));
    [row.ratio.low, row.ratio.median, row.ratio.high, goal, 1.0]
}

fn grid(axis: &Axis, bottom: f64) -> String {
    let mut picture = String::new();
    for tick in axis.ticks() {
        let x = axis.place(tick);
        let _ = write!(
            picture,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom:.0}\"/>{}",
            text(x, bottom + 14.0, "middle", "faint", &number(tick)),
        );
    }
    let one = axis.place(1.0);
    let _ = write!(
        picture,
        "<line class=\"one\" stroke-dasharray=\"4 3\" x1=\"{one:.1}\" x2=\"{one:.1}\" y1=\"0\" y2=\"{bottom:.0}\"/>"
    );
    picture.push_str(&text(LEFT, bottom + 32.0, "start", "faint", "← faster or smaller"));
    picture + &text(RIGHT, bottom + 32.0, "end", "faint", "slower or larger →")
}

fn lane(axis: &Axis, top: f64, label: &str, row: &Row) -> String {
    let (y, class) = (top + 26.0, class(row));
    let [low, median, high] =
        [row.ratio.low, row.ratio.median, row.ratio.high].map(|r| axis.place(r));
    let value = format!("{} ({})", ratio(row.ratio.median), markdown::interval(row));
    let mut picture = text(LEFT, top + 14.0, "start", "", &shortened(label, 34));
    picture.push_str(&text(RIGHT, top + 14.0, "end", "faint", &value));
    let _ = write!(
        picture,
        "<line class=\"bar {class}\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y:.0}\" y2=\"{y:.0}\"/>{}",
        mark(shape(row), median, y, class),
    );
    if let Some(goal) = row.goal {
        let x = axis.place(bound(&goal));
        let (from, to) = (y - 7.0, y + 7.0);
        let _ = write!(
            picture,
            "<line class=\"goal\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{from:.0}\" y2=\"{to:.0}\"><title>goal {}</title></line>",
            escaped(&goal.to_string()),
        );
    }
    picture
}

fn class(row: &Row) -> &'static str {
    match row.verdict {
        Some(Verdict::Met) => "met",
        Some(Verdict::Missed) => "missed",
        Some(Verdict::Inconclusive) => "inconclusive",
        None => "plain",
    }
}

fn shape(row: &Row) -> usize {
    match (row.verdict, row.finding()) {
        (Some(Verdict::Missed), _) => 1,
        (Some(Verdict::Inconclusive), _) | (None, Finding::NoDifferenceShown) => 2,
        _ => 0,
    }
}

fn bound(goal: &Goal) -> f64 {
    match *goal {
        Goal::AtMost(bound) | Goal::WhollyUnder(bound) => bound,
    }
}

/// Lines over two logarithmic axes.
pub(super) fn curve(curve: &Curve) -> String {
    let points = || curve.lines.iter().flat_map(|(_, points)| points);
    let x_axis = Axis::over(points().map(|point| point.0), 52.0, RIGHT);
    let y_axis = Axis::over(points().map(|point| point.1), 214.0, 24.0);
    let mut picture = text(LEFT, 12.0, "start", "faint", &curve.y_label);
    for tick in y_axis.ticks() {
        let y = y_axis.place(tick);
        let _ = write!(
            picture,
            "<line class=\"grid\" x1=\"52\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        );
        picture.push_str(&text(47.0, y + 4.0, "end", "faint", &number(tick)));
    }
    for tick in measured(points().map(|point| point.0), &x_axis) {
        picture.push_str(&text(x_axis.place(tick), 230.0, "middle", "faint", &number(tick)));
    }
    picture.push_str(&text(RIGHT, 246.0, "end", "faint", &curve.x_label));
    for (at, (name, points)) in curve.lines.iter().enumerate() {
        let places: Vec<(f64, f64)> =
            points.iter().map(|&(x, y)| (x_axis.place(x), y_axis.place(y))).collect();
        picture.push_str(&line(at, &places));
        picture.push_str(&legend(at, name));
    }
    frame(&picture, 262.0 + 18.0 * count(curve.lines.len()), &curve.name)
}

/// Where it was measured, if those labels do not run into one another; else round numbers.
fn measured(values: impl Iterator<Item = f64>, axis: &Axis) -> Vec<f64> {
    const LABEL_WIDTH: f64 = 24.0;
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let apart = |pair: &[f64]| axis.place(pair[1]) - axis.place(pair[0]) >= LABEL_WIDTH;
    if values.windows(2).all(apart) { values } else { axis.ticks() }
}

fn line(series: usize, places: &[(f64, f64)]) -> String {
    let class = format!("s{}", series % 6);
    let mut path = String::new();
    for (x, y) in places {
        let _ = write!(path, "{x:.1},{y:.1} ");
    }
    let marks: String = places.iter().map(|&(x, y)| mark(series % 4, x, y, &class)).collect();
    format!("<polyline class=\"{class}\" points=\"{}\"/>{marks}", path.trim_end())
}

fn legend(series: usize, name: &str) -> String {
    let y = 262.0 + 18.0 * count(series);
    let class = format!("s{}", series % 6);
    mark(series % 4, LEFT + 6.0, y - 4.0, &class)
        + &text(LEFT + 20.0, y, "start", "", &shortened(name, 56))
}

/// A disc, a cross, a diamond or a square.
fn mark(shape: usize, x: f64, y: f64, class: &str) -> String {
    let corners = |points: [(f64, f64); 4]| {
        let points = points.map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).join(" ");
        format!("<polygon class=\"{class}\" points=\"{points}\"/>")
    };
    match shape {
        0 => format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"),
        1 => format!(
            "<path class=\"{class}\" stroke-width=\"3\" d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\"/>",
            x - 5.0,
            y - 5.0
        ),
        2 => corners([(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]),
        _ => corners([(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)]),
    }
}

fn text(x: f64, y: f64, anchor: &str, class: &str, words: &str) -> String {
    let words = escaped(words);
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    )
}

fn frame(picture: &str, height: f64, title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         aria-label=\"{title}\"><title>{title}</title>{picture}</svg>"
    )
}

/// A picture that carries its own style and paper.
pub(super) fn standalone(picture: &str) -> String {
    let style = format!("<style>{STYLE}svg{{background:var(--paper)}}</style>");
    picture.replacen("</title>", &format!("</title>{style}"), 1)
}

/// `1`, `0.05`, `1,000`: a tick is a round number.
fn number(tick: f64) -> String {
    match tick {
        tick if tick >= 1000.0 => grouped(tick),
        tick if tick >= 10.0 => three_digits(tick).trim_end_matches(".0").to_owned(),
        tick => {
            let digits = format!("{tick:.3}");
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

fn shortened(label: &str, most: usize) -> String {
    if label.chars().count() <= most {
        return label.to_owned();
    }
    label.chars().take(most - 1).chain(['…']).collect()
}

/// Text of users and tools must not become markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number of lanes: always small.
fn count(lanes: usize) -> f64 {
    f64::from(u32::try_from(lanes).unwrap_or(u32::MAX))
}

/// The lanes of one comparison.
pub(super) fn lanes<'a>(heading: &str, comparison: &'a Comparison) -> Lanes<'a> {
    let rows = comparison.rows.iter().map(|row| (label(row, comparison), row)).collect();
    Lanes { heading: heading.to_owned(), rows }
}

/// The label of a row in a picture; another reference than the first row's is named.
fn label(row: &Row, comparison: &Comparison) -> String {
    let label = format!("{}{}", row.case, units::suffix(&row.metric));
    let usual = comparison.rows.first().map(|first| first.reference.as_str());
    if usual == Some(row.reference.as_str()) {
        return label;
    }
    format!("{label} vs {}", row.reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        let comparison = Comparison::exact("x", "n", ("a", 1), ("<script>\"&", 2));
        let row = &comparison.rows[0];
        let rows = vec![(label(row, &comparison), row)];
        let picture = ratios(&[Lanes { heading: String::new(), rows }]);
        assert!(picture.contains("&lt;script&gt;&quot;&amp;") && !picture.contains("<script"));
    }

    #[test]
    fn ticks_are_short() {
        let shown = [0.05, 0.5, 1.0, 1.05, 20.0, 1500.0].map(number);
        assert_eq!(shown, ["0.05", "0.5", "1", "1.05", "20", "1,500"]);
    }

    #[test]
    fn a_bound_without_end_stays_inside_the_picture() {
        let mut row = Comparison::exact("x", "n", ("a", 1), ("b", 2)).rows.remove(0);
        (row.ratio.low, row.ratio.high) = (0.0, f64::INFINITY);
        let rows = vec![("b".to_owned(), &row)];
        let picture = ratios(&[Lanes { heading: "a".to_owned(), rows }]);
        assert!(!picture.contains("inf\"") && !picture.contains("NaN"), "{picture}");
    }
}
