//! Icons of the sprite in `index.html`.

use yew::prelude::*;

/// A decorative icon, by its name in the sprite without `i-`; the word beside it carries the meaning. A function, as
/// most elements that draw without state: each component of yew is a type with some kilobytes of code of its own.
pub fn glyph(name: &str) -> Html {
    svg("i", name)
}

/// The same in its 14 px form.
pub fn small_glyph(name: &str) -> Html {
    svg("i i-s", name)
}

fn svg(class: &'static str, name: &str) -> Html {
    html! { <svg {class} aria-hidden="true"><use href={format!("#i-{name}")} /></svg> }
}
