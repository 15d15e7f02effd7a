//! Light, dark or as the system says; kept in the browser's storage.

use gloo::storage::{LocalStorage, Storage};

use crate::i18n::Language;

/// The choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

const THEME: &str = "fleethold.theme";
const LANGUAGE: &str = "fleethold.language";

impl Theme {
    /// Its word in storage and in the markup.
    pub fn key(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The stored choice.
    pub fn stored() -> Self {
        match LocalStorage::get::<String>(THEME).as_deref() {
            Ok("light") => Self::Light,
            Ok("dark") => Self::Dark,
            _ => Self::System,
        }
    }

    /// Sets it on the document and keeps it; a browser that keeps nothing still shows it.
    pub fn apply(self) {
        if let Some(root) = root() {
            let done = match self {
                Self::System => root.remove_attribute("data-theme"),
                Self::Light | Self::Dark => root.set_attribute("data-theme", self.key()),
            };
            if done.is_err() {
                gloo::console::warn!("the theme could not be set");
            }
        }
        if LocalStorage::set(THEME, self.key()).is_err() {
            gloo::console::warn!("the theme could not be kept");
        }
    }

    /// The other one of what is seen now.
    pub fn toggled(self) -> Self {
        let dark = match self {
            Self::Dark => true,
            Self::Light => false,
            Self::System => system_is_dark(),
        };
        if dark { Self::Light } else { Self::Dark }
    }
}

fn root() -> Option<web_sys::Element> {
    web_sys::window()?.document()?.document_element()
}

fn system_is_dark() -> bool {
    web_sys::window()
        .and_then(|w| w.match_media("(prefers-color-scheme: dark)").ok().flatten())
        .is_some_and(|query| query.matches())
}

/// The stored language, else the browser's.
pub fn stored_language() -> Language {
    let tag = LocalStorage::get::<String>(LANGUAGE)
        .ok()
        .or_else(|| web_sys::window().and_then(|w| w.navigator().language()))
        .unwrap_or_default();
    Language::from_tag(&tag)
}

/// Makes a language the page's and keeps it.
pub fn apply_language(language: Language) {
    crate::i18n::set(language);
    if root().is_some_and(|root| root.set_attribute("lang", language.tag()).is_err()) {
        gloo::console::warn!("the language could not be set");
    }
}

/// Keeps a language for the next visit.
pub fn keep_language(language: Language) {
    if LocalStorage::set(LANGUAGE, language.tag()).is_err() {
        gloo::console::warn!("the language could not be kept");
    }
}
