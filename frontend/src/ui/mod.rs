//! Components that more than one page uses; one file each.

pub mod alert;
pub mod bar;
pub mod copy;
pub mod dialog;
pub mod download;
pub mod empty;
pub mod fingerprint;
pub mod hooks;
pub mod icon;
pub mod key_fields;
pub mod menu;
pub mod palette;
pub mod shell;
pub mod shortcuts;
pub mod state;
pub mod theme;
pub mod toast;
pub mod when;

pub use alert::{ProblemAlert, StaleNote};
pub use bar::Bar;
pub use copy::CopyButton;
pub use dialog::Dialog;
pub use empty::{Empty, Skeleton};
pub use fingerprint::Fingerprint;
pub use icon::{glyph, small_glyph};
pub use menu::Menu;
pub use state::{JobBadge, StoreBadge, Word};
pub use when::When;
