//! One store: its figures, what it holds, and the way to a restore.

mod detail;
mod failed;
mod figures;
mod key_dialog;
mod tree;

pub use detail::is_archive;

use std::rc::Rc;

use fleethold_api_types::{SnapshotEntry, StoreRow, VerifyState};
use wasm_bindgen_futures::spawn_local;
use web_sys::Element;
use yew::prelude::*;

use crate::{
    api,
    app::use_app,
    clock,
    live::{topic, use_topics},
    model::tree::{Node, Step, Suggestion, Tree, group_of},
    pages::restore::RestoreDialog,
    t,
    ui::{
        Empty, ProblemAlert, Skeleton, StoreBadge, glyph,
        hooks::{use_load, use_query, use_title},
        toast::use_toast,
    },
};

/// Props of [`StorePage`].
#[derive(Properties, PartialEq)]
pub struct StoreProps {
    /// Name.
    pub name: String,
}

/// The tree as yew keeps it.
#[derive(Default, PartialEq)]
pub struct TreeState(pub Tree);

impl Reducible for TreeState {
    type Action = Step;

    fn reduce(self: Rc<Self>, step: Step) -> Rc<Self> {
        Rc::new(Self(self.0.after(step)))
    }
}

/// The page. Selection and dialog live in the address: `?ns=&snapshot=&restore=`.
#[component(StorePage)]
pub fn store_page(props: &StoreProps) -> Html {
    let app = use_app();
    use_title(&props.name);
    use_topics(&app.live, topic::FLEET);
    let (query, set_query) = use_query();
    let (ns, snapshot, restore) = (
        query.get("ns").to_owned(),
        query.get("snapshot").to_owned(),
        query.get("restore").to_owned(),
    );
    let fetched = use_load(props.name.clone(), |name| async move { api::store(&name).await });
    let namespaces = use_load(
        props.name.clone(),
        |name| async move { api::namespaces(&name).await },
    );
    let tree = use_reducer(TreeState::default);
    use_effect_with((ns.clone(), snapshot.clone()), {
        let dispatch = tree.dispatcher();
        move |(ns, snapshot)| {
            dispatch.dispatch(Step::Open(Node::Namespace(ns.clone())));
            if let Some(group) = group_of(snapshot) {
                dispatch.dispatch(Step::Open(Node::Group(ns.clone(), group.to_owned())));
            }
        }
    });
    let suggestion = match namespaces.result.value() {
        Some(list) if snapshot.is_empty() => tree.0.suggest(list),
        _ => Suggestion::Nothing,
    };
    let also = match &suggestion {
        Suggestion::Fetch(node) => Some(node.clone()),
        Suggestion::Snapshot(..) | Suggestion::Nothing => None,
    };
    use_fetching(&props.name, &tree, also);
    let (ns, snapshot) = match suggestion {
        Suggestion::Snapshot(ns, snapshot) => (ns, snapshot),
        Suggestion::Fetch(_) | Suggestion::Nothing => (ns, snapshot),
    };

    let row = app
        .live
        .read()
        .fleet
        .get(&props.name)
        .cloned()
        .or_else(|| fetched.result.value().cloned());
    let missing = fetched.result.error.clone().filter(|_| row.is_none());
    let on_snapshot = {
        let (query, set_query) = (query.clone(), set_query.clone());
        Callback::from(move |(ns, snapshot): (String, String)| {
            set_query.emit(
                query
                    .with("ns", &ns)
                    .with("snapshot", &snapshot)
                    .with("restore", ""),
            );
        })
    };
    let on_restore = {
        let (query, set_query) = (query.clone(), set_query);
        let (ns, snapshot) = (ns.clone(), snapshot.clone());
        Callback::from(move |file: String| {
            set_query.emit(
                query
                    .with("ns", &ns)
                    .with("snapshot", &snapshot)
                    .with("restore", &file),
            );
        })
    };
    let entry = tree.0.snapshot(&ns, &snapshot).cloned();
    let (looking, on_failed) = use_failed(&props.name, &row, &entry, &ns, on_snapshot.clone());
    let details = use_node_ref();
    let on_snapshot = use_bring_into_view(&details, &ns, &entry, on_snapshot);
    let gone = entry.is_none()
        && !snapshot.is_empty()
        && namespaces
            .result
            .value()
            .is_some_and(|list| tree.0.lacks(list, &ns, &snapshot));
    let file_gone = entry
        .as_ref()
        .filter(|e| !restore.is_empty() && e.files.iter().all(|f| f.name != restore))
        .map(|_| t!(file_gone, file = restore));
    html! {
        <>
            <Head name={props.name.clone()} row={row.clone()} on_failed={on_failed.clone()} />
            if let Some(problem) = missing {
                { yew::props!(ProblemAlert { title: t!(store_not_read, name = props.name), problem, on_retry: fetched.reload.clone() }).view() }
            }
            if let Some(row) = row {
                <figures::Figures {row} {on_failed} {looking} />
            }
            <div class="store-cols">
                <section class="panel" aria-labelledby="content-h">
                    <div class="panel-head"><h2 id="content-h">{ t!(content) }</h2></div>
                    if let Some(problem) = namespaces.result.error.clone() {
                        <div class="panel-body">{ yew::props!(ProblemAlert { title: t!(content_not_read), problem, on_retry: namespaces.reload.clone() }).view() }</div>
                    }
                    if let Some(list) = namespaces.result.value() {
                        <tree::ContentTree
                            lines={tree.0.lines(list)}
                            selected={snapshot.clone()}
                            selected_ns={ns.clone()}
                            dispatch={tree.dispatcher()}
                            {on_snapshot}
                        />
                    } else if namespaces.result.error.is_none() {
                        { yew::props!(Skeleton { label: t!(reading_content), lines: 6 }).view() }
                    }
                </section>
                <section class="panel details" aria-labelledby="snap-h" ref={details} data-testid="snapshot-detail">
                    if let Some(text) = file_gone {
                        <div class="alert" data-state="warning" role="alert">{ glyph("warn") }<p class="alert-h">{ text }</p></div>
                    }
                    if let Some(entry) = &entry {
                        <detail::Detail store={props.name.clone()} ns={ns.clone()} entry={entry.clone()} on_restore={on_restore.clone()} />
                    } else if gone {
                        <h2 id="snap-h" class="vh">{ t!(snapshot) }</h2>
                        <div class="alert" data-state="warning" role="alert" data-testid="snapshot-gone">{ glyph("warn") }<p class="alert-h">{ t!(snapshot_gone) }</p><p>{ t!(snapshot_gone_text, snapshot = snapshot) }</p></div>
                    } else {
                        <h2 id="snap-h" class="vh">{ t!(snapshot) }</h2>
                        { yew::props!(Empty { icon: "snap", title: t!(no_snapshot_chosen), text: t!(no_snapshot_chosen_text) }).view() }
                    }
                </section>
            </div>
            if let Some(entry) = entry.filter(|e| e.files.iter().any(|f| f.name == restore)) {
                <RestoreDialog
                    store={props.name.clone()}
                    {ns}
                    {entry}
                    file={restore}
                    on_file={on_restore.clone()}
                    on_close={on_restore.reform(|()| String::new())}
                />
            }
        </>
    }
}

/// The way to the next snapshot whose last verification failed, and whether it is being looked for.
#[hook]
fn use_failed(
    store: &str,
    row: &Option<Rc<StoreRow>>,
    entry: &Option<SnapshotEntry>,
    ns: &str,
    on_snapshot: Callback<(String, String)>,
) -> (bool, Callback<()>) {
    let looking = use_state(|| false);
    let toast = use_toast();
    let expected = row.as_ref().and_then(|r| r.verify_failed).unwrap_or(0);
    let after = entry
        .as_ref()
        .filter(|e| e.verify == Some(VerifyState::Failed))
        .map(|e| (ns.to_owned(), e.snapshot.clone()));
    let go = {
        let (looking, store) = (looking.clone(), store.to_owned());
        Callback::from(move |()| {
            let (looking, store, after) = (looking.clone(), store.clone(), after.clone());
            let (toast, on_snapshot) = (toast.clone(), on_snapshot.clone());
            looking.set(true);
            spawn_local(async move {
                match failed::find(&store, after.as_ref(), expected).await {
                    Ok(Some(place)) => on_snapshot.emit(place),
                    Ok(None) => toast.error(t!(none_failed)),
                    Err(problem) => toast.error(problem.detail),
                }
                looking.set(false);
            });
        })
    };
    (*looking, go)
}

/// A person who chooses a snapshot sees its details, also where they stand below the tree. Wraps the callback that
/// chooses; what is shown without being chosen scrolls nothing.
#[hook]
fn use_bring_into_view(
    details: &NodeRef,
    ns: &str,
    entry: &Option<SnapshotEntry>,
    on_snapshot: Callback<(String, String)>,
) -> Callback<(String, String)> {
    let chosen = use_mut_ref(|| None::<(String, String)>);
    let shown = entry.as_ref().map(|e| (ns.to_owned(), e.snapshot.clone()));
    use_effect_with(shown.clone(), {
        let (chosen, details) = (chosen.clone(), details.clone());
        move |shown: &Option<(String, String)>| {
            if shown.is_some() && *chosen.borrow() == *shown {
                chosen.borrow_mut().take();
                bring_into_view(&details);
            }
        }
    });
    let details = details.clone();
    Callback::from(move |place: (String, String)| {
        if shown.as_ref() == Some(&place) {
            // shown already, by suggestion or from before: nothing will change
            bring_into_view(&details);
        } else {
            *chosen.borrow_mut() = Some(place.clone());
        }
        on_snapshot.emit(place);
    })
}

/// Scrolls only when the top of it is not on the screen, or at its lower edge.
fn bring_into_view(details: &NodeRef) {
    let height = web_sys::window()
        .and_then(|w| w.inner_height().ok())
        .and_then(|h| h.as_f64())
        .unwrap_or(900.0);
    if let Some(element) = details.cast::<Element>() {
        let top = element.get_bounding_client_rect().top();
        if top < 0.0 || top > height * 0.6 {
            element.scroll_into_view();
        }
    }
}

/// Fetches what has been opened and is not there.
#[hook]
fn use_fetching(store: &str, tree: &UseReducerHandle<TreeState>, also: Option<Node>) {
    let mut wanted = tree.0.wanted();
    if let Some(node) = also.filter(|node| !wanted.contains(node)) {
        wanted.push(node);
    }
    use_effect_with(wanted, {
        let (store, dispatch) = (store.to_owned(), tree.dispatcher());
        move |wanted| {
            for node in wanted.iter().cloned() {
                dispatch.dispatch(Step::Started(node.clone()));
                let (store, dispatch) = (store.clone(), dispatch.clone());
                spawn_local(async move {
                    let step = match node {
                        Node::Namespace(ns) => {
                            let outcome = api::groups(&store, &ns).await;
                            Step::Groups(ns, outcome, clock::now_ms())
                        }
                        Node::Group(ns, group) => {
                            let outcome = api::snapshots(&store, &ns, &group).await;
                            Step::Snapshots(ns, group, outcome, clock::now_ms())
                        }
                        Node::Snapshot(..) | Node::More(..) => return,
                    };
                    dispatch.dispatch(step);
                });
            }
        }
    });
}

#[derive(Properties, PartialEq)]
struct HeadProps {
    name: String,
    row: Option<Rc<StoreRow>>,
    on_failed: Callback<()>,
}

#[component(Head)]
fn head(props: &HeadProps) -> Html {
    html! {
        <div class="page-head">
            <div>
                <h1>{ props.name.clone() }</h1>
                if let Some(row) = &props.row {
                    <p><span class="mono">{ row.path.clone() }</span>{ row.comment.as_ref().map(|c| format!(" · {c}")) }</p>
                }
            </div>
            if let Some(row) = &props.row {
                <div class="cluster">
                    if let Some(reason) = &row.reason {
                        if row.verify_failed.is_some_and(|n| n > 0) {
                            <button type="button" class="link" onclick={props.on_failed.reform(|_: MouseEvent| ())}>{ reason.clone() }</button>
                        } else {
                            <span class="soft">{ reason.clone() }</span>
                        }
                    }
                    { yew::props!(StoreBadge { state: row.state }).view() }
                </div>
            }
        </div>
    }
}
