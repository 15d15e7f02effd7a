//! A bar whose length is an SVG attribute, so that no style attribute is needed.

use yew::prelude::*;

/// Usage from which a bar turns amber; the notch stands there.
pub const WARN: f64 = 0.90;
/// Usage from which a bar turns red.
pub const FULL: f64 = 0.95;

/// `data-level` of a usage: independent of the store's state.
pub fn usage_level(ratio: f64) -> Option<&'static str> {
    if ratio >= FULL {
        Some("error")
    } else if ratio >= WARN {
        Some("warning")
    } else {
        None
    }
}

/// What is shown; drawn by [`Bar::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Bar {
    /// 0..=1.
    pub ratio: f64,
    /// `live`, `warning`, `error`.
    #[prop_or_default]
    pub level: Option<&'static str>,
    /// Show the notch of the warning threshold.
    #[prop_or_default]
    pub notch: bool,
    /// A progress bar for screen readers too, with this name.
    #[prop_or_default]
    pub progress: Option<AttrValue>,
    /// What the progress means, in words.
    #[prop_or_default]
    pub value_text: Option<AttrValue>,
}

impl Bar {
    /// The bar.
    pub fn view(&self) -> Html {
        let ratio = if self.ratio.is_finite() {
            self.ratio.clamp(0.0, 1.0)
        } else {
            0.0
        };
        let length = format!("{:.2}%", ratio * 100.0);
        let parts = html! {
            <>
                <rect class="track" width="100%" height="100%" />
                <rect class="fill" width={length} height="100%" />
                if self.notch {
                    <rect class="tick" x={format!("{}%", WARN * 100.0)} width="1.5" height="100%" />
                }
            </>
        };
        match &self.progress {
            Some(name) => html! {
                <svg
                    class="bar"
                    data-level={self.level}
                    role="progressbar"
                    aria-label={name.clone()}
                    aria-valuemin="0"
                    aria-valuemax="100"
                    aria-valuenow={format!("{:.1}", (ratio * 1000.0).floor() / 10.0)}
                    aria-valuetext={self.value_text.clone()}
                    data-testid="job-progress"
                >
                    { parts }
                </svg>
            },
            None => html! { <svg class="bar" data-level={self.level} aria-hidden="true">{ parts }</svg> },
        }
    }
}
