//! A strip plot: every sample a dot, before above after, on one scale.

use crate::comparison::JudgedCell;
use crate::export::html::escape;
use crate::sample::Side;

/// More samples of a side are thinned to every n-th in measured order: a file stays readable.
const MAX_DOTS: usize = 400;

pub(super) fn svg(cell: &JudgedCell<'_>) -> String {
    let summaries = || [cell.before, cell.after].into_iter().flatten();
    let low = summaries().map(|side| side.min).fold(f64::INFINITY, f64::min);
    let high = summaries().map(|side| side.max).fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return String::new();
    }
    let unit = cell.metric.unit;
    let label = format!("samples from {} to {}", unit.human(low), unit.human(high));
    let mut out = format!(
        "<svg class=\"strip\" viewBox=\"0 0 220 40\" role=\"img\" aria-label=\"{}\">",
        escape(&label)
    );
    for (side, y, class) in [(Side::Before, 12, "b"), (Side::After, 28, "a")] {
        let values = cell.cell.samples.side(side);
        for value in values.iter().step_by(values.len().div_ceil(MAX_DOTS).max(1)) {
            let share = if high > low {
                (value - low) / (high - low)
            } else {
                0.5
            };
            // Before are squares, after are circles: colour is not needed to tell them apart.
            let x = 10.0 + 200.0 * share;
            match side {
                Side::Before => out.push_str(&format!(
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{}\" width=\"6\" height=\"6\" opacity=\".6\"/>",
                    x - 3.0,
                    y - 3
                )),
                Side::After => out.push_str(&format!(
                    "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"3.2\" opacity=\".6\"/>"
                )),
            }
        }
    }
    out.push_str("</svg>");
    out
}
