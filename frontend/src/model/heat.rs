//! The heat map: every store a cell of 4 px on a 5 px pitch, 20 high, filling columns downwards; one path a shade.

use std::{collections::BTreeMap, fmt::Write as _, rc::Rc};

use fleethold_api_types::{StoreRow, StoreState};

use crate::model::{fleet::natural, format::ratio};

/// Cells in a column.
pub const HEIGHT: usize = 20;
/// Distance of two cells, pixels.
pub const PITCH: usize = 5;

/// What the shade of a cell tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shade {
    /// OK cells by fill, exceptions by state.
    Health,
    /// All cells by fill.
    Fill,
}

/// A block of cells that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Heading.
    pub label: String,
    /// The stores, in the order of the cells.
    pub stores: Vec<Rc<StoreRow>>,
    /// Stores in error.
    pub errors: usize,
    /// Stores with a warning.
    pub warnings: usize,
    /// Class name and path of each shade, errors last so that nothing covers them.
    pub paths: Vec<(&'static str, String)>,
}

impl Block {
    /// Width of the drawing in pixels.
    pub fn width(&self) -> usize {
        (self.stores.len().div_ceil(HEIGHT) * PITCH)
            .saturating_sub(1)
            .max(1)
    }

    /// The number of the store drawn at a point.
    pub fn at(&self, x: f64, y: f64) -> Option<usize> {
        if x < 0.0 || y < 0.0 {
            return None;
        }
        let (column, line) = ((x / PITCH as f64) as usize, (y / PITCH as f64) as usize);
        if line >= HEIGHT {
            return None;
        }
        Some(column * HEIGHT + line).filter(|cell| *cell < self.stores.len())
    }

    /// Where a cell is drawn.
    pub fn place(cell: usize) -> (usize, usize) {
        (cell / HEIGHT * PITCH, cell % HEIGHT * PITCH)
    }
}

/// A cell: number of its block and of the store in it.
pub type Cell = (usize, usize);

/// Where a key takes the pick: up and down through a column and on into the next block, sideways by columns.
pub fn step(blocks: &[Block], at: Option<Cell>, key: &str) -> Option<Cell> {
    let size = |block: usize| blocks.get(block).map_or(0, |b| b.stores.len());
    let last = |block: usize| (block, size(block).saturating_sub(1));
    let end = blocks.len().checked_sub(1)?;
    let Some((block, cell)) = at.filter(|(b, c)| *c < size(*b)) else {
        return match key {
            "End" => Some(last(end)),
            "ArrowDown" | "ArrowUp" | "ArrowLeft" | "ArrowRight" | "Home" | "PageDown" | "PageUp" => {
                Some((0, 0))
            }
            _ => None,
        };
    };
    let line = cell % HEIGHT;
    let before = block.checked_sub(1);
    Some(match key {
        "ArrowDown" if cell + 1 < size(block) => (block, cell + 1),
        "ArrowDown" if block < end => (block + 1, 0),
        "ArrowUp" if cell > 0 => (block, cell - 1),
        "ArrowUp" => before.map_or((0, 0), last),
        // the last column may be shorter than the line one is on
        "ArrowRight" if cell / HEIGHT < last(block).1 / HEIGHT => (block, (cell + HEIGHT).min(last(block).1)),
        "ArrowRight" if block < end => (block + 1, line.min(last(block + 1).1)),
        "ArrowLeft" if cell >= HEIGHT => (block, cell - HEIGHT),
        "ArrowLeft" => before.map_or((block, cell), |b| {
            (b, (last(b).1 / HEIGHT * HEIGHT + line).min(last(b).1))
        }),
        "PageDown" => ((block + 1).min(end), 0),
        "PageUp" => (block.saturating_sub(1), 0),
        "Home" => (0, 0),
        "End" => last(end),
        "ArrowDown" | "ArrowRight" => (block, cell),
        _ => return None,
    })
}

/// The part of a name in front of its first dash, dot or digit: what groups a fleet when nothing else is known.
pub fn prefix(name: &str) -> &str {
    let end = name
        .find(['-', '_', '.'])
        .or_else(|| name.find(|c: char| c.is_ascii_digit()))
        .unwrap_or(name.len());
    match name.get(..end) {
        Some(head) if !head.is_empty() => head,
        _ => name,
    }
}

/// Blocks by name prefix, the largest first; more than `most` blocks: the small ones share one called `rest`.
pub fn blocks(rows: &[Rc<StoreRow>], shade: Shade, most: usize, rest: &str) -> Vec<Block> {
    let mut groups: BTreeMap<&str, Vec<Rc<StoreRow>>> = BTreeMap::new();
    for row in rows {
        groups.entry(prefix(&row.name)).or_default().push(row.clone());
    }
    let mut groups: Vec<(String, Vec<Rc<StoreRow>>)> = groups
        .into_iter()
        .map(|(label, stores)| (label.to_owned(), stores))
        .collect();
    groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    if groups.len() > most {
        let tail: Vec<_> = groups
            .drain(most.saturating_sub(1)..)
            .flat_map(|(_, stores)| stores)
            .collect();
        groups.push((rest.to_owned(), tail));
    }
    groups
        .into_iter()
        .map(|(label, mut stores)| {
            stores.sort_by(|a, b| natural(&a.name, &b.name));
            let count = |state| stores.iter().filter(|row| row.state == state).count();
            let (errors, warnings) = (count(StoreState::Error), count(StoreState::Warning));
            let paths = paths(&stores, shade);
            Block {
                label,
                stores,
                errors,
                warnings,
                paths,
            }
        })
        .collect()
}

fn paths(stores: &[Rc<StoreRow>], shade: Shade) -> Vec<(&'static str, String)> {
    const ORDER: [&str; 7] = ["h1", "h2", "h3", "h4", "ho", "hw", "he"];
    let mut paths: [String; 7] = Default::default();
    for (i, row) in stores.iter().enumerate() {
        let (x, y) = Block::place(i);
        let kind = class(row, shade);
        let Some(path) = ORDER
            .iter()
            .position(|k| *k == kind)
            .and_then(|at| paths.get_mut(at))
        else {
            continue;
        };
        // writing to a String cannot fail
        let _ = match kind {
            "hw" => write!(path, "M{x} {}h4l-2-4z", y + 4),
            "he" => write!(path, "M{} {}h6v6h-6z", x as i64 - 1, y as i64 - 1),
            "ho" => write!(path, "M{x}.5 {y}.5h3v3h-3z"),
            _ => write!(path, "M{x} {y}h4v4h-4z"),
        };
    }
    ORDER
        .into_iter()
        .zip(paths)
        .filter(|(_, path)| !path.is_empty())
        .collect()
}

fn class(row: &StoreRow, shade: Shade) -> &'static str {
    let fill = row.usage.as_ref().map(|u| ratio(u.used_bytes, u.total_bytes));
    match (shade, row.state, fill) {
        (Shade::Health, StoreState::Error, _) => "he",
        (Shade::Health, StoreState::Warning, _) => "hw",
        (_, StoreState::Offline, _) | (Shade::Fill, _, None) => "ho",
        (_, _, Some(f)) if f >= 0.75 => "h4",
        (_, _, Some(f)) if f >= 0.5 => "h3",
        (_, _, Some(f)) if f >= 0.25 => "h2",
        _ => "h1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::search::tests::row;

    #[test]
    fn cells_fill_columns_downwards_and_can_be_hit() {
        let rows: Vec<_> = (0..45)
            .map(|i| Rc::new(row(&format!("vie-{i}"), StoreState::Ok, 10)))
            .collect();
        let blocks = blocks(&rows, Shade::Health, 8, "other");
        assert_eq!(blocks.len(), 1);
        let block = &blocks[0];
        assert_eq!((block.label.as_str(), block.width()), ("vie", 14));
        assert_eq!(block.at(5.0, 0.0), Some(20));
        assert_eq!(block.stores[20].name, "vie-20");
        assert_eq!(Block::place(20), (5, 0));
        assert_eq!(block.at(12.0, 40.0), None);
        assert_eq!(block.at(-1.0, 0.0), None);
    }

    #[test]
    fn keys_walk_through_columns_and_blocks() {
        let rows: Vec<_> = (0..45)
            .map(|i| format!("a-{i}"))
            .chain((0..3).map(|i| format!("b-{i}")))
            .map(|name| Rc::new(row(&name, StoreState::Ok, 10)))
            .collect();
        let blocks = blocks(&rows, Shade::Health, 8, "other");
        let walk = |at, key| step(&blocks, at, key);
        assert_eq!(walk(None, "ArrowDown"), Some((0, 0)));
        assert_eq!(walk(None, "Enter"), None);
        assert_eq!(walk(Some((0, 44)), "ArrowDown"), Some((1, 0)));
        assert_eq!(walk(Some((1, 0)), "ArrowUp"), Some((0, 44)));
        // the third column has five cells only
        assert_eq!(walk(Some((0, 30)), "ArrowRight"), Some((0, 44)));
        assert_eq!(walk(Some((0, 44)), "ArrowRight"), Some((1, 2)));
        assert_eq!(walk(Some((1, 2)), "ArrowLeft"), Some((0, 42)));
        assert_eq!(walk(Some((1, 2)), "ArrowDown"), Some((1, 2)));
        assert_eq!(walk(Some((0, 3)), "End"), Some((1, 2)));
        assert_eq!(walk(Some((9, 9)), "ArrowDown"), Some((0, 0)));
        assert_eq!(step(&[], None, "Home"), None);
    }

    #[test]
    fn errors_are_drawn_last() {
        let rows = [
            ("a-1", StoreState::Error),
            ("a-2", StoreState::Ok),
            ("a-3", StoreState::Offline),
        ]
        .map(|(name, state)| Rc::new(row(name, state, 90)));
        let blocks = blocks(&rows, Shade::Health, 8, "other");
        assert_eq!(
            blocks[0].paths.iter().map(|p| p.0).collect::<Vec<_>>(),
            ["h4", "ho", "he"]
        );
        assert_eq!(blocks[0].errors, 1);
    }

    #[test]
    fn small_groups_share_a_block() {
        let rows: Vec<_> = ["a-1", "a-2", "b-1", "c-1"]
            .map(|n| Rc::new(row(n, StoreState::Ok, 1)))
            .into();
        let blocks = blocks(&rows, Shade::Fill, 2, "other");
        assert_eq!(
            blocks
                .iter()
                .map(|b| (b.label.as_str(), b.stores.len()))
                .collect::<Vec<_>>(),
            [("a", 2), ("other", 2)]
        );
        assert_eq!(prefix("store12"), "store");
        assert_eq!(prefix("7"), "7");
    }
}
