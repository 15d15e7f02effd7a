//! A point of time with its zone: in UTC for a snapshot, on the viewer's clock for everything else.

use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use yew::prelude::*;

use crate::clock;

/// What is shown; drawn by [`When::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct When {
    /// When.
    pub at: OffsetDateTime,
    /// The time of a snapshot.
    #[prop_or_default]
    pub snapshot: bool,
}

impl When {
    /// Date, time and zone; the tooltip has the other zone and the rule.
    pub fn view(&self) -> Html {
        let text = if self.snapshot {
            clock::snapshot_time(self.at)
        } else {
            clock::date_time(self.at)
        };
        html! { <time datetime={self.at.format(&Rfc3339).ok()} title={clock::both_zones(self.at)}>{ text }</time> }
    }
}
