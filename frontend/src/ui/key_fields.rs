//! A key file and its password. Both stay in memory, go into the body of one request and are never stored.

use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::t;

/// What was given.
#[derive(Clone, PartialEq, Default)]
pub struct Key {
    /// Name of the file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Its password; empty for none.
    pub password: String,
    /// Why the file could not be read.
    pub problem: Option<String>,
}

impl Key {
    /// The text, when a file was given.
    pub fn text(&self) -> Option<String> {
        (!self.text.is_empty()).then(|| self.text.clone())
    }

    /// The password, when there is one.
    pub fn password(&self) -> Option<String> {
        (!self.password.is_empty()).then(|| self.password.clone())
    }

    /// The file says that it is locked by a password.
    pub fn needs_password(&self) -> bool {
        serde_json::from_str::<serde_json::Value>(&self.text)
            .ok()
            .and_then(|v| v.get("kdf").cloned())
            .is_some_and(|kdf| !kdf.is_null() && kdf != "None")
    }
}

/// A key file is some hundred bytes.
const LARGEST: f64 = 65_536.0;

/// What is shown; drawn by [`KeyFields::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct KeyFields {
    /// What is given now.
    pub value: Key,
    /// Something else was given.
    pub on_change: Callback<Key>,
    /// The key is needed.
    #[prop_or_default]
    pub required: bool,
}

impl KeyFields {
    /// The two fields.
    pub fn view(&self) -> Html {
        let onchange = {
            let (value, on_change) = (self.value.clone(), self.on_change.clone());
            move |event: Event| {
                let input: HtmlInputElement = event.target_unchecked_into();
                let Some(file) = input.files().and_then(|f| f.get(0)) else {
                    on_change.emit(Key::default());
                    return;
                };
                let (mut key, on_change) = (
                    Key {
                        problem: None,
                        ..value.clone()
                    },
                    on_change.clone(),
                );
                key.file = file.name();
                if file.size() > LARGEST {
                    key.text = String::new();
                    key.problem = Some(t!(key_too_large).to_owned());
                    on_change.emit(key);
                    return;
                }
                spawn_local(async move {
                    match gloo::file::futures::read_as_text(&gloo::file::Blob::from(file)).await {
                        Ok(text) => key.text = text,
                        Err(error) => key.problem = Some(error.to_string()),
                    }
                    on_change.emit(key);
                });
            }
        };
        let oninput = {
            let (value, on_change) = (self.value.clone(), self.on_change.clone());
            move |event: InputEvent| {
                let password = event.target_unchecked_into::<HtmlInputElement>().value();
                on_change.emit(Key {
                    password,
                    ..value.clone()
                });
            }
        };
        let note = match &self.value.problem {
            Some(problem) => problem.clone(),
            None => t!(key_note).to_owned(),
        };
        html! {
            <div class="two">
                <div class="field" data-invalid={self.value.problem.is_some().then_some("")}>
                    <label for="key">{ t!(encryption_key) }</label>
                    <input class="input file" id="key" type="file" accept=".json,.key,.enc,application/json" required={self.required} {onchange} aria-describedby="key-note" data-testid="restore-key" />
                    <small id="key-note">{ note }</small>
                </div>
                <div class="field">
                    <label for="key-pw">{ t!(key_password) }</label>
                    <input class="input" id="key-pw" type="password" autocomplete="off" value={self.value.password.clone()} {oninput} disabled={self.value.text.is_empty()} data-testid="restore-key-password" />
                    <small>{ if self.value.needs_password() { t!(key_password_needed) } else { t!(key_password_note) } }</small>
                </div>
            </div>
        }
    }
}
