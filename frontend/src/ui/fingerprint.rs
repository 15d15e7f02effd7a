//! A fingerprint: long, and broken between its pairs where a line ends. What is copied has no breaks in it.

use yew::prelude::*;

/// Props of [`Fingerprint`].
#[derive(Properties, PartialEq)]
pub struct FingerprintProps {
    /// `xx:xx:…`.
    pub value: AttrValue,
}

/// The pairs.
#[component(Fingerprint)]
pub fn fingerprint(props: &FingerprintProps) -> Html {
    html! { <span class="mono">{ for props.value.split_inclusive(':').map(|pair| html! { <>{ pair.to_owned() }<wbr /></> }) }</span> }
}
