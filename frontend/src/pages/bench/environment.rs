//! What else was different between the sides.

use std::rc::Rc;

use fleethold_api_types::bench::Comparison;
use yew::prelude::*;

use crate::{
    model::bench::diff::{Fact, facts, parts},
    t, tn,
    ui::glyph,
};

/// Props of [`Environment`].
#[derive(Properties, PartialEq)]
pub(super) struct EnvironmentProps {
    /// Comparison.
    pub comparison: Rc<Comparison>,
}

/// Equal facts that are shown before somebody asks for all.
const FEW: usize = 4;

/// The panel.
#[component(Environment)]
pub(super) fn environment(props: &EnvironmentProps) -> Html {
    let all = use_state(|| false);
    let c = &props.comparison;
    let facts = facts(&c.before, &c.after);
    let differ = facts.iter().filter(|f| !f.same()).count();
    let equal = facts.len() - differ;
    let shown = if *all {
        facts.len()
    } else {
        differ + equal.min(FEW)
    };
    let toggle = {
        let all = all.clone();
        move |_: MouseEvent| all.set(!*all)
    };
    let names: Vec<&str> = c.differences.iter().map(|d| d.name.as_str()).collect();
    let names = names.join(", ");
    html! {
        <section class="panel" aria-labelledby="env-h" data-testid="environment">
            <div class="panel-head">
                <h2 id="env-h">{ t!(bench.environment) }<small>{ tn!(differ as u64, bench.differ_one, bench.differ, equal = equal) }</small></h2>
                if equal > FEW {
                    <button type="button" class="btn btn-quiet" aria-pressed={all.to_string()} onclick={toggle}>{ if *all { t!(bench.show_fewer).to_owned() } else { t!(bench.show_all, n = facts.len()) } }</button>
                }
            </div>
            <div class="panel-body stack">
                if facts.is_empty() {
                    <p class="note">{ t!(bench.no_environment) }</p>
                } else {
                    <div class="diff" tabindex="0" role="region" aria-label={t!(bench.environment)}>
                        <table><tbody>{ for facts.iter().take(shown).map(rows) }</tbody></table>
                    </div>
                }
                if !c.differences.is_empty() {
                    <div class="alert" data-state="warning">{ glyph("warn") }
                        <p class="alert-h">{ tn!(c.differences.len() as u64, bench.differs_one, bench.differs, names = names) }</p>
                        <p>{ if c.across_machines { t!(bench.across_text) } else { t!(bench.differs_text) } }</p>
                    </div>
                }
            </div>
        </section>
    }
}

fn rows(fact: &Fact) -> Html {
    if fact.same() {
        return html! {
            <tr class="same"><td class="sign"></td><th scope="row">{ &fact.name }</th><td>{ fact.after.clone().unwrap_or_default() }</td></tr>
        };
    }
    let line = |class: &'static str,
                sign: &'static str,
                word: &'static str,
                text: &Option<String>,
                other: &Option<String>| {
        let Some(text) = text else { return html! {} };
        let (head, middle, tail) = parts(text, other.as_deref().unwrap_or_default());
        html! {
            <tr {class}>
                <td class="sign">{ sign }<span class="vh">{ word }</span></td><th scope="row">{ &fact.name }</th>
                <td>{ head.to_owned() }if !middle.is_empty() { <mark>{ middle.to_owned() }</mark> }{ tail.to_owned() }</td>
            </tr>
        }
    };
    html! {
        <>
            { line("del", "−", t!(bench.before), &fact.before, &fact.after) }
            { line("add", "+", t!(bench.after), &fact.after, &fact.before) }
        </>
    }
}
