//! Nothing to show, in its three kinds (none configured, none found, none match), and not yet anything to show.

use yew::prelude::*;

use super::Icon;

/// Props of [`Empty`].
#[derive(Properties, PartialEq)]
pub struct EmptyProps {
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

/// The message.
#[component(Empty)]
pub fn empty(props: &EmptyProps) -> Html {
    html! {
        <div class="empty">
            <Icon name={props.icon} />
            <p class="empty-h">{ props.title.clone() }</p>
            if let Some(text) = &props.text {
                <p>{ text.clone() }</p>
            }
            if props.children != Html::default() {
                <div class="cluster">{ props.children.clone() }</div>
            }
        </div>
    }
}

/// Props of [`Skeleton`].
#[derive(Properties, PartialEq)]
pub struct SkeletonProps {
    /// What is being read, for screen readers and below the bones.
    pub label: AttrValue,
    /// Lines.
    #[prop_or(5)]
    pub lines: usize,
}

/// The shape of what comes, the first time only.
#[component(Skeleton)]
pub fn skeleton(props: &SkeletonProps) -> Html {
    let widths = ["w4", "w3", "w5", "w4", "w2"];
    html! {
        <div class="panel-body stack bones" aria-busy="true">
            { for (0..props.lines).map(|i| html! {
                <div class="bone-row" key={i}>
                    <span class="bone" />
                    { for (0..4).map(|j| html! {
                        <span class={classes!("bone", widths.get((i + j) % widths.len()).copied())} />
                    }) }
                </div>
            }) }
            <span class="note" role="status">{ props.label.clone() }</span>
        </div>
    }
}
