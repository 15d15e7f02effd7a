//! Nothing to show, in its three kinds (none configured, none found, none match), and not yet anything to show.

use yew::prelude::*;

use super::glyph;

/// What is shown; drawn by [`Empty::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Empty {
    /// Icon of what is missing.
    pub icon: &'static str,
    /// What is missing.
    pub title: AttrValue,
    /// Why, and what to do.
    #[prop_or_default]
    pub text: Option<AttrValue>,
    /// Buttons.
    #[prop_or_default]
    pub children: Html,
}

impl Empty {
    /// The message.
    pub fn view(&self) -> Html {
        html! {
            <div class="empty">
                { glyph(self.icon) }
                <p class="empty-h">{ self.title.clone() }</p>
                if let Some(text) = &self.text {
                    <p>{ text.clone() }</p>
                }
                if self.children != Html::default() {
                    <div class="cluster">{ self.children.clone() }</div>
                }
            </div>
        }
    }
}

/// What is shown; drawn by [`Skeleton::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Skeleton {
    /// What is being read, for screen readers and below the bones.
    pub label: AttrValue,
    /// Lines.
    #[prop_or(5)]
    pub lines: usize,
}

impl Skeleton {
    /// The shape of what comes, the first time only.
    pub fn view(&self) -> Html {
        let widths = ["w4", "w3", "w5", "w4", "w2"];
        html! {
            <div class="panel-body stack bones" aria-busy="true">
                { for (0..self.lines).map(|i| html! {
                    <div class="bone-row" key={i}>
                        <span class="bone" />
                        { for (0..4).map(|j| html! {
                            <span class={classes!("bone", widths.get((i + j) % widths.len()).copied())} />
                        }) }
                    </div>
                }) }
                <span class="note" role="status">{ self.label.clone() }</span>
            </div>
        }
    }
}
