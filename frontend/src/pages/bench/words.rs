//! Words of the lab: verdicts, states of runs, the tabs between its pages.

use fleethold_api_types::bench::{AlertState, BenchRun, BenchState, Verdict};
use web_sys::{Element, ScrollIntoViewOptions, ScrollLogicalPosition};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    app::use_app,
    live::{topic, use_topics},
    model::bench::verdict,
    route::Route,
    t,
    ui::{glyph, state::Look},
};

/// What is shown; drawn by [`VerdictWord::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct VerdictWord {
    /// Verdict.
    pub verdict: Verdict,
    /// What follows the word, such as the change.
    #[prop_or_default]
    pub change: Option<String>,
}

impl VerdictWord {
    /// A verdict: glyph, word, colour; the same everywhere.
    pub(super) fn view(&self) -> Html {
        let (key, word) = verdict::look(self.verdict);
        html! {
            <span class="verdict" data-v={key}>
                { glyph(key) }{ word }
                if let Some(change) = &self.change { { format!(", {change}") } }
            </span>
        }
    }
}

/// Look of a run's state.
pub(super) fn run_look(state: BenchState) -> Look {
    let (state, icon, word) = match state {
        BenchState::Queued => ("queued", "queue", t!(job_queued)),
        BenchState::Running => ("running", "run", t!(bench.measuring)),
        BenchState::Ok => ("ok", "ok", t!(job_ok)),
        BenchState::Partial => ("warning", "warn", t!(bench.partial)),
        BenchState::Failed => ("error", "error", t!(job_failed)),
    };
    Look { state, icon, word }
}

/// A run's state in a pill.
#[derive(Properties, PartialEq)]
pub(super) struct RunBadge {
    /// State.
    pub state: BenchState,
}

impl RunBadge {
    /// The pill.
    pub(super) fn view(&self) -> Html {
        let look = run_look(self.state);
        html! {
            <span class="badge" data-state={look.state} data-testid="bench-state" data-bench-state={crate::api::bench::word(&self.state)}>{ glyph(look.icon) }{ look.word }</span>
        }
    }
}

/// Look of an alert's state.
pub(super) fn alert_look(state: AlertState) -> Look {
    let (state, icon, word) = match state {
        AlertState::Open => ("warning", "warn", t!(bench.alert_open)),
        AlertState::Confirmed => ("error", "error", t!(bench.alert_confirmed)),
        AlertState::Acknowledged => ("ok", "ok", t!(bench.alert_acknowledged)),
        AlertState::Muted => ("offline", "off", t!(bench.alert_muted)),
        AlertState::Gone => ("queued", "queue", t!(bench.alert_gone)),
    };
    Look { state, icon, word }
}

/// A run in a few words, for lists to choose from.
pub(super) fn run_line(run: &BenchRun) -> String {
    let what = if run.revision.is_empty() {
        run.source.clone()
    } else {
        revision(run)
    };
    let at = crate::clock::date_time(run.started_at.unwrap_or(run.created_at));
    format!("{} · {what} · {at}", run.workload)
}

/// `d27ab91`, with a word when the tree had changes.
pub(super) fn revision(run: &BenchRun) -> String {
    let short = crate::model::bench::history::short(&run.revision).to_owned();
    if run.dirty {
        t!(bench.dirty, revision = short)
    } else {
        short
    }
}

/// Props of [`Tabs`].
#[derive(Properties, PartialEq)]
pub(super) struct TabsProps {
    /// The page that is shown.
    pub here: Route,
}

/// The pages of the lab.
#[component(Tabs)]
pub(super) fn tabs(props: &TabsProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::ALERTS);
    let alerts = app.live.read().alerts.standing;
    let pages = [
        (Route::Bench, t!(bench.runs_tab)),
        (Route::BenchCompare, t!(bench.compare)),
        (Route::BenchHistory, t!(bench.series_title)),
        (Route::BenchAlerts, t!(bench.alerts)),
        (Route::BenchMachines, t!(bench.machines)),
    ];
    html! {
        <nav class="tabs" aria-label={t!(bench.title)}>
            { for pages.into_iter().map(|(route, word)| {
                let current = route == props.here;
                let count = (route == Route::BenchAlerts && alerts > 0).then_some(alerts);
                html! { <TabLink to={route} {current} {word} {count} /> }
            }) }
        </nav>
    }
}

#[derive(Properties, PartialEq)]
struct TabProps {
    to: Route,
    current: bool,
    word: &'static str,
    /// Behind the word.
    count: Option<u32>,
}

/// The router's own link has no `aria-current`.
#[component(TabLink)]
fn tab_link(props: &TabProps) -> Html {
    let node = use_node_ref();
    // on a phone the last tabs are beyond the edge
    use_effect_with((node.clone(), props.current), |(node, current)| {
        if let (true, Some(link)) = (*current, node.cast::<Element>()) {
            let how = ScrollIntoViewOptions::new();
            how.set_block(ScrollLogicalPosition::Nearest);
            how.set_inline(ScrollLogicalPosition::Nearest);
            link.scroll_into_view_with_scroll_into_view_options(&how);
        }
    });
    let navigator = use_navigator();
    let onclick = {
        let to = props.to.clone();
        move |event: MouseEvent| {
            if event.ctrl_key() || event.meta_key() || event.shift_key() {
                return;
            }
            if let Some(navigator) = &navigator {
                event.prevent_default();
                navigator.push(&to);
            }
        }
    };
    html! { <a ref={node} href={props.to.to_path()} {onclick} aria-current={props.current.then_some("page")}>{ props.word }if let Some(n) = props.count { { " " }<span class="count">{ n }</span> }</a> }
}

/// Verdict counts of a run: the sign, the number, the word for screen readers.
pub(super) fn counts(verdicts: [u32; 4]) -> Html {
    let [faster, slower, equal, open] = verdicts;
    let all = [
        ("faster", faster, t!(bench.faster)),
        ("slower", slower, t!(bench.slower)),
        ("equal", equal, t!(bench.equal)),
        ("open", open, t!(bench.inconclusive)),
    ];
    html! {
        <span class="counts">
            { for all.into_iter().filter(|(_, n, _)| *n > 0).map(|(key, n, word)| html! {
                <span class="verdict" data-v={key} title={word}>{ glyph(key) }{ n }<span class="vh">{ " " }{ word }</span></span>
            }) }
        </span>
    }
}
