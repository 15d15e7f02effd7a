//! Icons of the sprite in `index.html`.

use yew::prelude::*;

/// Name in the sprite, without `i-`.
#[derive(Properties, PartialEq)]
pub struct IconProps {
    /// Name.
    pub name: &'static str,
    /// The 14 px form.
    #[prop_or_default]
    pub small: bool,
}

/// A decorative icon; the word beside it carries the meaning.
#[component(Icon)]
pub fn icon(props: &IconProps) -> Html {
    html! {
        <svg class={classes!("i", props.small.then_some("i-s"))} aria-hidden="true">
            <use href={format!("#i-{}", props.name)} />
        </svg>
    }
}
