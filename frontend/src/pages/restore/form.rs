//! The fields of the restore dialog.

use std::rc::Rc;

use fleethold_api_types::{AboutInfo, TargetKind};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::Form;
use crate::{
    model::format,
    t,
    ui::{
        Fingerprint,
        key_fields::{Key, KeyFields},
    },
};

/// Props of [`Fields`].
#[derive(Properties, PartialEq)]
pub(super) struct FieldsProps {
    /// The form.
    pub form: UseStateHandle<Form>,
    /// The server, once known: roots, devices, defaults.
    pub about: Option<Rc<AboutInfo>>,
    /// The file is encrypted.
    pub encrypted: bool,
    /// Fingerprint of the key the snapshot was made with.
    pub signed: Option<String>,
}

fn text(event: &InputEvent) -> String {
    event.target_unchecked_into::<HtmlInputElement>().value()
}

fn checked(event: &Event) -> bool {
    event.target_unchecked_into::<HtmlInputElement>().checked()
}

/// The fields.
#[component(Fields)]
pub(super) fn fields(props: &FieldsProps) -> Html {
    let form = &props.form;
    let key = props.encrypted || props.signed.is_some();
    let on_key = {
        let form = form.clone();
        Callback::from(move |key: Key| {
            form.set(Form {
                key,
                ..(*form).clone()
            })
        })
    };
    let sha256 = {
        let form = form.clone();
        move |event: Event| {
            form.set(Form {
                sha256: checked(&event),
                ..(*form).clone()
            })
        }
    };
    let overwrite = {
        let form = form.clone();
        move |event: Event| {
            form.set(Form {
                overwrite: checked(&event),
                ..(*form).clone()
            })
        }
    };
    html! {
        <>
            <Target form={form.clone()} about={props.about.clone()} />
            if key {
                { yew::props!(KeyFields { value: form.key.clone(), on_change: on_key, required: props.encrypted }).view() }
                if let Some(fingerprint) = &props.signed {
                    <p class="note">{ t!(key_fingerprint) }{ ": " }{ yew::props!(Fingerprint { value: fingerprint.clone() }).view() }</p>
                }
            }
            <Pace form={form.clone()} about={props.about.clone()} />
            <div class="two">
                <label class="check">
                    <input type="checkbox" checked={form.sha256} onchange={sha256} data-testid="restore-sha256" />
                    <span>{ t!(compute_sha256) }<small>{ t!(compute_sha256_note) }</small></span>
                </label>
                if form.kind == TargetKind::File {
                    <label class="check">
                        <input type="checkbox" checked={form.overwrite} onchange={overwrite} data-testid="restore-overwrite" />
                        <span>{ t!(overwrite) }<small>{ t!(overwrite_note) }</small></span>
                    </label>
                }
            </div>
        </>
    }
}

#[derive(Properties, PartialEq)]
struct PartProps {
    form: UseStateHandle<Form>,
    about: Option<Rc<AboutInfo>>,
}

#[component(Target)]
fn target(props: &PartProps) -> Html {
    let form = &props.form;
    let devices = props
        .about
        .as_ref()
        .map(|a| a.devices.clone())
        .unwrap_or_default();
    let roots = props
        .about
        .as_ref()
        .map(|a| a.restore_roots.clone())
        .unwrap_or_default();
    let on_kind = {
        let form = form.clone();
        move |event: Event| {
            let kind = match event
                .target_unchecked_into::<HtmlSelectElement>()
                .value()
                .as_str()
            {
                "null" => TargetKind::Null,
                "device" => TargetKind::Device,
                _ => TargetKind::File,
            };
            form.set(Form {
                kind,
                ..(*form).clone()
            });
        }
    };
    let on_path = {
        let form = form.clone();
        move |event: InputEvent| {
            form.set(Form {
                path: text(&event),
                ..(*form).clone()
            })
        }
    };
    let on_device = {
        let form = form.clone();
        move |event: Event| {
            let device = event.target_unchecked_into::<HtmlSelectElement>().value();
            form.set(Form {
                device,
                ..(*form).clone()
            });
        }
    };
    let path_problem = form.path_problem(&roots);
    html! {
        <div class="two target">
            <div class="field">
                <label for="target-kind">{ t!(write_to) }</label>
                <select class="select" id="target-kind" autofocus=true onchange={on_kind} data-testid="restore-target-kind">
                    <option value="file" selected={form.kind == TargetKind::File}>{ t!(target_file) }</option>
                    <option value="null" selected={form.kind == TargetKind::Null}>{ t!(target_null) }</option>
                    if !devices.is_empty() {
                        <option value="device" selected={form.kind == TargetKind::Device}>{ t!(target_device) }</option>
                    }
                </select>
                <small>
                    { match form.kind {
                        TargetKind::File => t!(target_file_note),
                        TargetKind::Null => t!(target_null_note),
                        TargetKind::Device => t!(target_device_note),
                    } }
                </small>
            </div>
            if form.kind == TargetKind::File {
                <div class="field" data-invalid={path_problem.is_some().then_some("")}>
                    <label for="target">{ t!(path) }</label>
                    <input class="input mono" id="target" aria-invalid={path_problem.is_some().to_string()} aria-describedby="target-note" value={form.path.clone()} oninput={on_path} autocomplete="off" spellcheck="false" required=true data-testid="restore-target-path" />
                    <small id="target-note" data-testid="restore-target-note">
                        { path_problem.or_else(|| roots.first().map(|root| t!(below_root, root = root))).unwrap_or_default() }
                    </small>
                </div>
            }
            if form.kind == TargetKind::Device {
                <div class="field">
                    <label for="target-device">{ t!(device) }</label>
                    <select class="select mono" id="target-device" onchange={on_device}>
                        <option value="" selected={form.device.is_empty()}>{ t!(choose) }</option>
                        { for devices.iter().map(|d| html! { <option value={d.clone()} selected={form.device == *d}>{ d.clone() }</option> }) }
                    </select>
                    <small>{ t!(device_note) }</small>
                </div>
            }
        </div>
    }
}

#[component(Pace)]
fn pace(props: &PartProps) -> Html {
    let form = &props.form;
    let default = props.about.as_ref().map(|a| a.default_parallel);
    let memory = props.about.as_ref().map(|a| format::bytes(a.memory_bytes));
    let on_parallel = {
        let form = form.clone();
        move |event: InputEvent| {
            form.set(Form {
                parallel: text(&event),
                ..(*form).clone()
            })
        }
    };
    let on_latency = {
        let form = form.clone();
        move |event: InputEvent| {
            form.set(Form {
                latency_ms: text(&event),
                ..(*form).clone()
            })
        }
    };
    html! {
        <div class="two">
            <div class="field">
                <label for="par">{ t!(parallel_fetches) }</label>
                <input class="input" id="par" type="number" min="1" max="1024" inputmode="numeric" value={form.parallel.clone()} placeholder={default.map(|n| t!(server_default, n = n))} oninput={on_parallel} data-testid="restore-parallel" />
                <small>{ memory.map(|m| t!(memory_note, memory = m)).unwrap_or_default() }</small>
            </div>
            <div class="field">
                <label for="lat">{ t!(simulate_latency) }</label>
                <input class="input" id="lat" type="number" min="0" max="10000" inputmode="numeric" value={form.latency_ms.clone()} placeholder={t!(latency_none)} oninput={on_latency} data-testid="restore-latency" />
                <small>{ t!(simulate_latency_note) }</small>
            </div>
        </div>
    }
}
