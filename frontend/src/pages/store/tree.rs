//! Namespaces → groups → snapshots, as an ARIA tree with one tab stop.

use fleethold_api_types::{SnapshotEntry, VerifyState};
use yew::prelude::*;

use super::TreeState;
use crate::{
    clock,
    model::{
        format,
        tree::{Fact, Line, Move, Node, Step, key_move},
    },
    t, tn,
    ui::{Empty, Word, glyph, hooks, small_glyph, state::Look},
};

/// Props of [`ContentTree`].
#[derive(Properties, PartialEq)]
pub(super) struct TreeProps {
    /// Visible rows.
    pub lines: Vec<Line>,
    /// Chosen snapshot.
    pub selected: String,
    /// Its namespace.
    pub selected_ns: String,
    /// Opens and closes.
    pub dispatch: UseReducerDispatcher<TreeState>,
    /// Chooses a snapshot: namespace and path.
    pub on_snapshot: Callback<(String, String)>,
}

/// The tree.
#[component(ContentTree)]
pub(super) fn content_tree(props: &TreeProps) -> Html {
    let node = use_node_ref();
    let focus = use_state(|| 0usize);
    let wants_focus = use_mut_ref(|| false);
    let at = (*focus).min(props.lines.len().saturating_sub(1));
    use_effect_with((at, props.lines.len()), {
        let (node, wants_focus) = (node.clone(), wants_focus.clone());
        move |(at, _)| {
            let mut wants_focus = wants_focus.borrow_mut();
            if *wants_focus {
                *wants_focus = !hooks::focus_moved_elsewhere(&node) && !hooks::focus_index(&node, *at);
            }
        }
    });
    let act = {
        let (dispatch, on_snapshot) = (props.dispatch.clone(), props.on_snapshot.clone());
        Callback::from(move |node: Node| match node {
            Node::Snapshot(ns, _, snapshot) => on_snapshot.emit((ns, snapshot)),
            Node::More(..) => dispatch.dispatch(Step::Open(node)),
            Node::Namespace(_) | Node::Group(..) => dispatch.dispatch(Step::Toggle(node)),
        })
    };
    let onkeydown = {
        let (lines, focus, act) = (props.lines.clone(), focus.clone(), act.clone());
        move |event: KeyboardEvent| {
            let key = event.key();
            let Some(line) = lines.get(at) else { return };
            if key == "Enter" || key == " " {
                event.prevent_default();
                act.emit(line.node.clone());
                return;
            }
            match key_move(&key, at, &lines) {
                Move::To(next) => {
                    *wants_focus.borrow_mut() = true;
                    focus.set(next);
                }
                Move::Toggle => act.emit(line.node.clone()),
                Move::Stay => return,
            }
            event.prevent_default();
        }
    };
    let empty = props.lines.len() == 1
        && props
            .lines
            .iter()
            .all(|l| l.open == Some(true) && !l.loading && l.fact == Fact::Count(0));
    html! {
        <>
            <div class="tree content-tree" role="tree" aria-label={t!(content)} ref={node} {onkeydown}>
                { for props.lines.iter().enumerate().map(|(i, line)| {
                    let chosen = matches!(&line.node, Node::Snapshot(ns, _, s) if *s == props.selected && *ns == props.selected_ns);
                    let (act, focus, target) = (act.clone(), focus.clone(), line.node.clone());
                    let onclick = move |_: MouseEvent| {
                        focus.set(i);
                        act.emit(target.clone());
                    };
                    html! {
                        <div
                            key={format!("{:?}", line.node)}
                            class="tree-row" role="treeitem"
                            aria-level={line.level.to_string()}
                            aria-expanded={line.open.map(|o| o.to_string())}
                            aria-selected={chosen.to_string()}
                            tabindex={if i == at { "0" } else { "-1" }}
                            data-index={i.to_string()}
                            data-testid={testid(&line.node)}
                            {onclick}
                        >
                            { label(line) }
                            { fact(line) }
                        </div>
                    }
                }) }
            </div>
            if empty {
                { yew::props!(Empty { icon: "snap", title: t!(no_groups), text: t!(no_groups_text) }).view() }
            }
        </>
    }
}

fn testid(node: &Node) -> String {
    match node {
        Node::Namespace(ns) if ns.is_empty() => "ns-root".to_owned(),
        Node::Namespace(ns) => format!("ns-{ns}"),
        Node::Group(_, group) => format!("group-{group}"),
        Node::Snapshot(_, _, snapshot) => format!("snapshot-{snapshot}"),
        Node::More(_, group) => format!("more-{group}"),
    }
}

fn label(line: &Line) -> Html {
    let arrow = match line.open {
        Some(true) => html! { { small_glyph("down") } },
        Some(false) => html! { { small_glyph("right") } },
        None => html! {},
    };
    let title = match &line.fact {
        Fact::Snapshot(entry) => Some(clock::both_zones(entry.time)),
        _ => None,
    };
    let (icon, text, note) = match (&line.node, &line.fact) {
        (Node::Namespace(ns), _) if ns.is_empty() => ("folder", t!(root_namespace).to_owned(), None),
        (Node::Namespace(ns), _) => ("folder", ns.clone(), None),
        (Node::Group(_, group), Fact::Group(entry)) => (
            "server",
            group.clone(),
            entry.problem.clone().or_else(|| entry.notes.clone()),
        ),
        (Node::Snapshot(..), Fact::Snapshot(entry)) => {
            ("snap", clock::snapshot_time(entry.time), entry.notes.clone())
        }
        (Node::More(..), Fact::Count(n)) => {
            ("dots", tn!(*n as u64, more_snapshots_one, more_snapshots), None)
        }
        (Node::Group(_, text) | Node::Snapshot(_, _, text) | Node::More(_, text), _) => {
            ("file", text.clone(), None)
        }
    };
    html! {
        <span>
            { arrow }{ glyph(icon) }<span class="t" {title}>{ text }</span>
            if let Some(note) = note {
                <span class="faint t">{ note }</span>
            }
        </span>
    }
}

fn fact(line: &Line) -> Html {
    if let Some(problem) = &line.problem {
        let look = Look {
            state: "error",
            icon: "error",
            word: "",
        };
        return html! { <span>{ yew::props!(Word { look, text: t!(not_read), title: problem.detail.clone() }).view() }</span> };
    }
    if line.loading {
        let look = Look {
            state: "running",
            icon: "run",
            word: t!(loading),
        };
        return html! { <span>{ yew::props!(Word { look }).view() }</span> };
    }
    html! {
        <span>
            { match &line.fact {
                Fact::Group(entry) => html! { { format::integer(entry.snapshots) } },
                Fact::Count(n) if matches!(line.node, Node::Namespace(_)) => html! { { tn!(*n as u64, n_groups_one, n_groups) } },
                Fact::Snapshot(entry) => snapshot_state(entry),
                Fact::Count(_) | Fact::None => html! {},
            } }
        </span>
    }
}

/// What deserves a word of a snapshot: unfinished, damaged, protected, verified.
pub(super) fn snapshot_state(entry: &SnapshotEntry) -> Html {
    let verify = match (entry.finished, &entry.problem, entry.verify) {
        (false, ..) => Look {
            state: "warning",
            icon: "warn",
            word: t!(unfinished),
        },
        (_, Some(_), _) => Look {
            state: "error",
            icon: "error",
            word: t!(manifest_damaged),
        },
        (.., Some(VerifyState::Failed)) => Look {
            state: "error",
            icon: "error",
            word: t!(damaged),
        },
        (.., Some(VerifyState::Ok)) => Look {
            state: "ok",
            icon: "ok",
            word: t!(verified_ok),
        },
        (.., None) => Look {
            state: "queued",
            icon: "queue",
            word: t!(not_verified),
        },
    };
    html! {
        <span class="states">
            if entry.protected {
                { yew::props!(Word { look: Look { state: "", icon: "pin", word: t!(protected) } }).view() }
            }
            { yew::props!(Word { look: verify }).view() }
        </span>
    }
}
