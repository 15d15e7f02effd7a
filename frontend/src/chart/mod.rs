//! Charts: plotters on a canvas of our own, with the crosshair on an overlay, so that pointing never redraws a series.

mod backend;
mod colours;
mod draw;
mod panel;
mod table;

pub use panel::{Chart, Line};
