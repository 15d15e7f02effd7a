//! Ctrl-K: stores, pages and actions by name.

use web_sys::{HtmlDialogElement, HtmlElement, HtmlInputElement};
use yew::prelude::*;
use yew_router::prelude::*;

use super::{Word, glyph, state::store_look};
use crate::{
    app::use_app,
    model::{fleet::Sort, search::Search},
    route::Route,
    t,
};

/// Props of [`Palette`].
#[derive(Properties, PartialEq)]
pub struct PaletteProps {
    /// Closes it.
    pub on_close: Callback<()>,
    /// Switches the theme.
    pub on_theme: Callback<()>,
}

#[derive(Clone, PartialEq)]
enum Act {
    Go(Route),
    Theme,
    SignOut,
}

#[derive(Clone, PartialEq)]
struct Entry {
    icon: &'static str,
    text: String,
    note: Html,
    act: Act,
}

const STORES: usize = 8;

/// The palette.
#[component(Palette)]
pub fn palette(props: &PaletteProps) -> Html {
    let app = use_app();
    let navigator = use_navigator();
    let node = use_node_ref();
    let field = use_node_ref();
    let text = use_state(String::new);
    let chosen = use_state(|| 0usize);
    use_effect_with((), {
        let (node, field) = (node.clone(), field.clone());
        move |()| {
            let opened = node
                .cast::<HtmlDialogElement>()
                .is_some_and(|d| d.show_modal().is_ok());
            let focused = field.cast::<HtmlElement>().is_some_and(|f| f.focus().is_ok());
            if !(opened && focused) {
                gloo::console::error!("the palette did not open");
            }
        }
    });
    let (stores, more) = stores(&app.live.read().fleet, &text);
    let actions = actions(&text);
    let count = stores.len() + actions.len();
    let active = (*chosen).min(count.saturating_sub(1));
    let run = {
        let (app, on_close, on_theme) = (app.clone(), props.on_close.clone(), props.on_theme.clone());
        Callback::from(move |act: Act| {
            on_close.emit(());
            match act {
                Act::Go(route) => {
                    if let Some(navigator) = &navigator {
                        navigator.push(&route);
                    }
                }
                Act::Theme => on_theme.emit(()),
                Act::SignOut => app.sign_out.emit(()),
            }
        })
    };
    let onkeydown = {
        let (chosen, run) = (chosen.clone(), run.clone());
        let acts: Vec<Act> = stores.iter().chain(&actions).map(|e| e.act.clone()).collect();
        move |event: KeyboardEvent| match event.key().as_str() {
            "ArrowDown" | "ArrowUp" if !acts.is_empty() => {
                event.prevent_default();
                let step = if event.key() == "ArrowDown" {
                    1
                } else {
                    acts.len() - 1
                };
                chosen.set((active + step) % acts.len());
            }
            "Enter" => {
                event.prevent_default();
                if let Some(act) = acts.get(active) {
                    run.emit(act.clone());
                }
            }
            _ => {}
        }
    };
    let oninput = {
        let (text, chosen) = (text.clone(), chosen.clone());
        move |event: InputEvent| {
            text.set(event.target_unchecked_into::<HtmlInputElement>().value());
            chosen.set(0);
        }
    };
    let oncancel = {
        let on_close = props.on_close.clone();
        move |event: Event| {
            event.prevent_default();
            on_close.emit(());
        }
    };
    let group = |id: &'static str, title: String, entries: &[Entry], from: usize| {
        if entries.is_empty() {
            return html! {};
        }
        html! {
            <div role="group" aria-labelledby={id}>
                <div class="palette-h" {id}>{ title }</div>
                { for entries.iter().enumerate().map(|(i, entry)| {
                    let (run, act) = (run.clone(), entry.act.clone());
                    html! {
                        <div key={from + i} role="option" id={format!("opt{}", from + i)} aria-selected={(active == from + i).to_string()} onclick={move |_: MouseEvent| run.emit(act.clone())}>
                            { glyph(entry.icon) }<span>{ entry.text.clone() }</span><small>{ entry.note.clone() }</small>
                        </div>
                    }
                }) }
            </div>
        }
    };
    html! {
        <dialog ref={node} class="scrim palette-scrim" {oncancel} aria-label={t!(palette)}>
            <div class="palette" {onkeydown}>
                <div class="palette-in">
                    { glyph("search") }
                    <input ref={field} role="combobox" aria-expanded="true" aria-controls="pal" aria-autocomplete="list" aria-activedescendant={(count > 0).then(|| format!("opt{active}"))} aria-label={t!(search)} value={(*text).clone()} {oninput} autocomplete="off" spellcheck="false" data-testid="palette-input" />
                    <kbd>{ "Esc" }</kbd>
                </div>
                <div role="listbox" id="pal" aria-label={t!(results)}>
                    { group("pg1", t!(palette_stores, n = stores.len(), of = crate::model::format::integer(more as u64)), &stores, 0) }
                    { group("pg2", t!(palette_actions).to_owned(), &actions, stores.len()) }
                </div>
                if count == 0 {
                    <p class="palette-h" role="status">{ t!(nothing_found) }</p>
                }
                <div class="palette-foot"><span><kbd>{ "↑" }</kbd><kbd>{ "↓" }</kbd>{ t!(keys_move) }</span><span><kbd>{ "Enter" }</kbd>{ t!(keys_open) }</span></div>
            </div>
        </dialog>
    }
}

fn stores(fleet: &crate::model::fleet::Fleet, text: &str) -> (Vec<Entry>, usize) {
    let found = fleet.order(&Search::parse(text), Sort::default(), crate::clock::now_s());
    let entries = found.iter().take(STORES).map(|row| Entry {
        icon: "disk",
        text: row.name.clone(),
        note: yew::props!(Word {
            look: store_look(row.state)
        })
        .view(),
        act: Act::Go(Route::Store {
            name: row.name.clone(),
        }),
    });
    (entries.collect(), found.len())
}

fn actions(text: &str) -> Vec<Entry> {
    let entry = |icon, text: &str, keys: &str, act| Entry {
        icon,
        text: text.to_owned(),
        note: html! { keys },
        act,
    };
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    [
        entry("fleet", t!(keys_fleet), "G F", Act::Go(Route::Fleet)),
        entry("jobs", t!(keys_jobs), "G J", Act::Go(Route::Jobs)),
        entry("history", t!(keys_history), "G H", Act::Go(Route::History)),
        entry("bench", t!(bench.keys_bench), "G B", Act::Go(Route::Bench)),
        entry("bench", t!(bench.go_compare), "", Act::Go(Route::BenchCompare)),
        entry("bench", t!(bench.go_series), "", Act::Go(Route::BenchHistory)),
        entry("bench", t!(bench.go_alerts), "", Act::Go(Route::BenchAlerts)),
        entry("bench", t!(bench.go_machines), "", Act::Go(Route::BenchMachines)),
        entry("gear", t!(keys_settings), "G S", Act::Go(Route::Settings)),
        entry("theme", t!(switch_theme), "T", Act::Theme),
        entry("out", t!(sign_out), "", Act::SignOut),
    ]
    .into_iter()
    .filter(|e| words.iter().all(|w| e.text.to_lowercase().contains(w)))
    .collect()
}
