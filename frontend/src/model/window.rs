//! Which rows of a long list exist in the document.

use std::ops::Range;

/// Rows to render for a viewport: those inside it and `over` more on each side.
///
/// `top_px` is where the list begins relative to the top edge of the viewport (negative once it is scrolled past).
pub fn visible(top_px: f64, viewport_px: f64, row_px: f64, rows: usize, over: usize) -> Range<usize> {
    if row_px <= 0.0 || rows == 0 {
        return 0..0;
    }
    let first = (-top_px / row_px).floor().max(0.0) as usize;
    let last = ((viewport_px - top_px) / row_px).ceil().max(0.0) as usize;
    let start = first.saturating_sub(over).min(rows);
    start..last.saturating_add(over).clamp(start, rows)
}

/// Where a key takes the focus in a grid of `rows` rows.
pub fn next_row(key: &str, current: usize, rows: usize, page: usize) -> Option<usize> {
    let last = rows.checked_sub(1)?;
    let next = match key {
        "ArrowDown" => current + 1,
        "ArrowUp" => current.saturating_sub(1),
        "PageDown" => current + page.max(1),
        "PageUp" => current.saturating_sub(page.max(1)),
        "Home" => 0,
        "End" => last,
        _ => return None,
    };
    Some(next.min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_near_the_viewport_exist() {
        assert_eq!(visible(0.0, 280.0, 28.0, 10_000, 5), 0..15);
        assert_eq!(visible(-28_000.0, 280.0, 28.0, 10_000, 5), 995..1015);
        assert_eq!(visible(-1e9, 280.0, 28.0, 100, 5), 100..100);
        assert_eq!(visible(900.0, 280.0, 28.0, 100, 0), 0..0);
        assert_eq!(visible(0.0, 280.0, 0.0, 100, 5), 0..0);
    }

    #[test]
    fn keys_stay_inside_the_grid() {
        assert_eq!(next_row("ArrowUp", 0, 10, 4), Some(0));
        assert_eq!(next_row("PageDown", 8, 10, 4), Some(9));
        assert_eq!(next_row("End", 0, 10, 4), Some(9));
        assert_eq!(next_row("x", 0, 10, 4), None);
        assert_eq!(next_row("End", 0, 0, 4), None);
    }
}
