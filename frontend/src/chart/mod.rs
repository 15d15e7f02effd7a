//! Charts: plotters on a canvas of our own, with the crosshair on an overlay, so that pointing never redraws a series.
//! A [`Figure`](crate::model::figure::Figure) is painted by the same code on the canvas and as SVG.

mod backend;
mod colours;
mod draw;
mod figure;
mod flame;
mod paint;
mod panel;
mod redraw;
mod save;
mod table;

pub use figure::{FigurePanel, sign};
pub use flame::{FlameChart, FlamePick};
pub use panel::{Chart, Line};
