//! Pure logic: no browser, no clock, tested natively.

pub mod bench;
pub mod command;
pub mod csv;
pub mod eta;
pub mod figure;
pub mod fleet;
pub mod format;
pub mod heat;
pub mod load;
pub mod query;
pub mod scale;
pub mod search;
pub mod series;
pub mod ticks;
pub mod track;
pub mod tree;
pub mod unit;
pub mod window;
