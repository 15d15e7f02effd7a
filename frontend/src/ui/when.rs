//! A point of time with its zone: in UTC for a snapshot, on the viewer's clock for everything else.

use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use yew::prelude::*;

use crate::clock;

/// Props of [`When`].
#[derive(Properties, PartialEq)]
pub struct WhenProps {
    /// When.
    pub at: OffsetDateTime,
    /// The time of a snapshot.
    #[prop_or_default]
    pub snapshot: bool,
}

/// Date, time and zone; the tooltip has the other zone and the rule.
#[component(When)]
pub fn when(props: &WhenProps) -> Html {
    let text = if props.snapshot {
        clock::snapshot_time(props.at)
    } else {
        clock::date_time(props.at)
    };
    html! { <time datetime={props.at.format(&Rfc3339).ok()} title={clock::both_zones(props.at)}>{ text }</time> }
}
