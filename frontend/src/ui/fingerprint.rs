//! A fingerprint: long, and broken between its pairs where a line ends. What is copied has no breaks in it.

use yew::prelude::*;

/// What is shown; drawn by [`Fingerprint::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Fingerprint {
    /// `xx:xx:…`.
    pub value: AttrValue,
}

impl Fingerprint {
    /// The pairs.
    pub fn view(&self) -> Html {
        html! { <span class="mono">{ for self.value.split_inclusive(':').map(|pair| html! { <>{ pair.to_owned() }<wbr /></> }) }</span> }
    }
}
