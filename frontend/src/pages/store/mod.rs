//! One store: its figures, what it holds, and the way to a restore.

mod detail;
mod figures;
mod key_dialog;
mod tree;

pub use detail::is_archive;

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use wasm_bindgen_futures::spawn_local;
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
        Empty, ProblemAlert, Skeleton, StoreBadge,
        hooks::{use_load, use_query, use_title},
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
    html! {
        <>
            <Head name={props.name.clone()} row={row.clone()} />
            if let Some(problem) = missing {
                <ProblemAlert title={t!(store_not_read, name = props.name)} {problem} on_retry={fetched.reload.clone()} />
            }
            if let Some(row) = row {
                <figures::Figures {row} />
            }
            <div class="store-cols">
                <section class="panel" aria-labelledby="content-h">
                    <div class="panel-head"><h2 id="content-h">{ t!(content) }</h2></div>
                    if let Some(problem) = namespaces.result.error.clone() {
                        <div class="panel-body"><ProblemAlert title={t!(content_not_read)} {problem} on_retry={namespaces.reload.clone()} /></div>
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
                        <Skeleton label={t!(reading_content)} lines=6 />
                    }
                </section>
                <section class="panel" aria-labelledby="snap-h" data-testid="snapshot-detail">
                    if let Some(entry) = &entry {
                        <detail::Detail store={props.name.clone()} ns={ns.clone()} entry={entry.clone()} on_restore={on_restore.clone()} />
                    } else {
                        <h2 id="snap-h" class="vh">{ t!(snapshot) }</h2>
                        <Empty icon="snap" title={t!(no_snapshot_chosen)} text={t!(no_snapshot_chosen_text)} />
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
                        <span class="soft">{ reason.clone() }</span>
                    }
                    <StoreBadge state={row.state} />
                </div>
            }
        </div>
    }
}
