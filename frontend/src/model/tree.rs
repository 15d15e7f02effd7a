//! What a store holds as a tree: namespaces → groups → snapshots, each level fetched when it is opened.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use fleethold_api_types::{GroupEntry, NamespaceEntry, SnapshotEntry};

use crate::model::load::{LoadResult, Problem};

/// What a row stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A namespace; empty for the root.
    Namespace(String),
    /// A group in a namespace.
    Group(String, String),
    /// A snapshot in a namespace and group.
    Snapshot(String, String, String),
    /// Older snapshots of a group that are not drawn until asked for.
    More(String, String),
}

/// A visible row.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What.
    pub node: Node,
    /// 1 for a namespace.
    pub level: u8,
    /// `None` for what has nothing below it.
    pub open: Option<bool>,
    /// Below it is being fetched.
    pub loading: bool,
    /// Fetching below it failed.
    pub problem: Option<Rc<Problem>>,
    /// What is known of it.
    pub fact: Fact,
}

/// What a row shows at its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// Nothing.
    None,
    /// A number of groups or hidden rows.
    Count(usize),
    /// A group.
    Group(GroupEntry),
    /// A snapshot.
    Snapshot(Box<SnapshotEntry>),
}

/// Snapshots of a group drawn before "more" is asked for.
pub const FIRST: usize = 100;

/// What has been opened and fetched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// Open namespaces and groups, and groups shown whole.
    pub open: BTreeSet<Node>,
    groups: BTreeMap<String, LoadResult<Vec<GroupEntry>>>,
    snapshots: BTreeMap<(String, String), LoadResult<Vec<SnapshotEntry>>>,
}

/// A change.
pub enum Step {
    /// Opens or closes.
    Toggle(Node),
    /// Opens.
    Open(Node),
    /// A fetch began.
    Started(Node),
    /// Groups of a namespace came.
    Groups(String, Result<Vec<GroupEntry>, Problem>, f64),
    /// Snapshots of a group came.
    Snapshots(String, String, Result<Vec<SnapshotEntry>, Problem>, f64),
}

impl Tree {
    /// The tree after a change.
    #[must_use]
    pub fn after(&self, step: Step) -> Self {
        let mut tree = self.clone();
        match step {
            Step::Toggle(node) => {
                if !tree.open.remove(&node) {
                    // a failed fetch is tried again when its row is opened again
                    tree.forget_failed(&node);
                    tree.open.insert(node);
                }
            }
            Step::Open(node) => drop(tree.open.insert(node)),
            Step::Started(Node::Namespace(ns)) => {
                let slot = tree.groups.entry(ns).or_default();
                *slot = slot.started();
            }
            Step::Started(Node::Group(ns, group)) => {
                let slot = tree.snapshots.entry((ns, group)).or_default();
                *slot = slot.started();
            }
            Step::Started(_) => {}
            Step::Groups(ns, outcome, now_ms) => {
                let slot = tree.groups.entry(ns).or_default();
                *slot = slot.finished(outcome, now_ms);
            }
            Step::Snapshots(ns, group, outcome, now_ms) => {
                let slot = tree.snapshots.entry((ns, group)).or_default();
                *slot = slot.finished(outcome, now_ms);
            }
        }
        tree
    }

    fn forget_failed(&mut self, node: &Node) {
        match node {
            Node::Namespace(ns)
                if self
                    .groups
                    .get(ns)
                    .is_some_and(|l| l.value().is_none() && !l.loading) =>
            {
                self.groups.remove(ns);
            }
            Node::Group(ns, group) => {
                let key = (ns.clone(), group.clone());
                if self
                    .snapshots
                    .get(&key)
                    .is_some_and(|l| l.value().is_none() && !l.loading)
                {
                    self.snapshots.remove(&key);
                }
            }
            _ => {}
        }
    }

    /// Open rows whose contents nobody has asked for yet.
    pub fn wanted(&self) -> Vec<Node> {
        let missing = |node: &&Node| match node {
            Node::Namespace(ns) => !self.groups.contains_key(ns),
            Node::Group(ns, group) => !self.snapshots.contains_key(&(ns.clone(), group.clone())),
            Node::Snapshot(..) | Node::More(..) => false,
        };
        self.open.iter().filter(missing).cloned().collect()
    }

    /// A snapshot that has been fetched.
    pub fn snapshot(&self, ns: &str, snapshot: &str) -> Option<&SnapshotEntry> {
        let group = group_of(snapshot)?;
        let list = self.snapshots.get(&(ns.to_owned(), group.to_owned()))?.value()?;
        list.iter().find(|s| s.snapshot == snapshot)
    }

    /// What has been fetched says that there is no such snapshot.
    pub fn lacks(&self, namespaces: &[NamespaceEntry], ns: &str, snapshot: &str) -> bool {
        let Some(group) = group_of(snapshot) else {
            return true;
        };
        let groups = self.groups.get(ns).and_then(LoadResult::value);
        let snapshots = self.snapshots(ns, group).and_then(LoadResult::value);
        namespaces.iter().all(|n| n.ns != ns)
            || groups.is_some_and(|list| list.iter().all(|g| g.group != group))
            || snapshots.is_some_and(|list| list.iter().all(|s| s.snapshot != snapshot))
    }

    /// Snapshots of a group, when they have been fetched.
    pub fn snapshots(&self, ns: &str, group: &str) -> Option<&LoadResult<Vec<SnapshotEntry>>> {
        self.snapshots.get(&(ns.to_owned(), group.to_owned()))
    }

    /// What to show while nothing is chosen: the newest finished snapshot of the first group there is. Nothing is
    /// opened for it, only fetched.
    pub fn suggest(&self, namespaces: &[NamespaceEntry]) -> Suggestion {
        for NamespaceEntry { ns } in namespaces.iter().take(LOOKED_AT) {
            let Some(groups) = self.groups.get(ns) else {
                return Suggestion::Fetch(Node::Namespace(ns.clone()));
            };
            let Some(groups) = groups.value() else {
                return Suggestion::Nothing;
            };
            let Some(group) = groups.iter().find(|g| g.snapshots > 0) else {
                continue;
            };
            let key = (ns.clone(), group.group.clone());
            let Some(snapshots) = self.snapshots.get(&key) else {
                return Suggestion::Fetch(Node::Group(key.0, key.1));
            };
            let Some(list) = snapshots.value() else {
                return Suggestion::Nothing;
            };
            let chosen = list.iter().find(|s| s.finished).or(list.first());
            return chosen.map_or(Suggestion::Nothing, |s| {
                Suggestion::Snapshot(key.0, s.snapshot.clone())
            });
        }
        Suggestion::Nothing
    }

    /// The rows to draw, from top to bottom.
    pub fn lines(&self, namespaces: &[NamespaceEntry]) -> Vec<Line> {
        let mut lines = Vec::new();
        for entry in namespaces {
            let node = Node::Namespace(entry.ns.clone());
            let open = self.open.contains(&node);
            let groups = self.groups.get(&entry.ns);
            let known = groups.and_then(LoadResult::value);
            lines.push(Line {
                node,
                level: 1,
                open: Some(open),
                loading: open && groups.is_some_and(|g| g.loading),
                problem: groups.and_then(|g| g.error.clone()),
                fact: known.map_or(Fact::None, |g| Fact::Count(g.len())),
            });
            if open {
                for group in known.into_iter().flat_map(|g| g.iter()) {
                    self.group_lines(&entry.ns, group, &mut lines);
                }
            }
        }
        lines
    }

    fn group_lines(&self, ns: &str, group: &GroupEntry, lines: &mut Vec<Line>) {
        let key = (ns.to_owned(), group.group.clone());
        let node = Node::Group(key.0.clone(), key.1.clone());
        let open = self.open.contains(&node);
        let snapshots = self.snapshots.get(&key);
        lines.push(Line {
            node,
            level: 2,
            open: Some(open),
            loading: open && snapshots.is_some_and(|s| s.loading),
            problem: snapshots.and_then(|s| s.error.clone()),
            fact: Fact::Group(group.clone()),
        });
        let Some(list) = snapshots.and_then(LoadResult::value).filter(|_| open) else {
            return;
        };
        let more = Node::More(key.0.clone(), key.1.clone());
        let shown = if self.open.contains(&more) {
            list.len()
        } else {
            FIRST
        };
        let leaf = |node, fact| Line {
            node,
            level: 3,
            open: None,
            loading: false,
            problem: None,
            fact,
        };
        for snapshot in list.iter().take(shown) {
            let node = Node::Snapshot(key.0.clone(), key.1.clone(), snapshot.snapshot.clone());
            lines.push(leaf(node, Fact::Snapshot(Box::new(snapshot.clone()))));
        }
        if list.len() > shown {
            lines.push(leaf(more, Fact::Count(list.len() - shown)));
        }
    }
}

/// Namespaces looked into for a suggestion.
const LOOKED_AT: usize = 8;

/// What could be shown while nothing is chosen.
#[derive(Debug, PartialEq, Eq)]
pub enum Suggestion {
    /// Nothing, or not yet.
    Nothing,
    /// Fetch what is below this first.
    Fetch(Node),
    /// This snapshot of this namespace.
    Snapshot(String, String),
}

/// `vm/100/2024-…` → `vm/100`.
pub fn group_of(snapshot: &str) -> Option<&str> {
    snapshot.rsplit_once('/').map(|(group, _)| group)
}

/// Where a key takes the focus: a row, or a change of the row it is on.
#[derive(Debug, PartialEq, Eq)]
pub enum Move {
    /// To this row.
    To(usize),
    /// Opens or closes the row.
    Toggle,
    /// Nothing.
    Stay,
}

/// Arrow keys in a tree, as the ARIA practices have them.
pub fn key_move(key: &str, at: usize, lines: &[Line]) -> Move {
    let Some(line) = lines.get(at) else {
        return Move::Stay;
    };
    match (key, line.open) {
        ("ArrowRight", Some(false)) | ("ArrowLeft", Some(true)) => Move::Toggle,
        ("ArrowRight", Some(true)) if lines.get(at + 1).is_some_and(|n| n.level > line.level) => {
            Move::To(at + 1)
        }
        ("ArrowLeft", _) => lines
            .iter()
            .take(at)
            .rposition(|l| l.level < line.level)
            .map_or(Move::Stay, Move::To),
        ("ArrowDown" | "ArrowUp" | "Home" | "End", _) => {
            crate::model::window::next_row(key, at, lines.len(), 10).map_or(Move::Stay, Move::To)
        }
        _ => Move::Stay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> GroupEntry {
        GroupEntry {
            group: name.into(),
            owner: None,
            notes: None,
            snapshots: 2,
            last_backup: None,
            problem: None,
        }
    }

    fn snapshot(name: &str) -> SnapshotEntry {
        SnapshotEntry {
            snapshot: name.into(),
            time: time::OffsetDateTime::UNIX_EPOCH,
            finished: true,
            protected: false,
            size_bytes: None,
            verify: None,
            owner: None,
            notes: None,
            key_fingerprint: None,
            problem: None,
            files: vec![],
        }
    }

    fn opened() -> (Tree, Vec<NamespaceEntry>) {
        let (root, vm) = (
            Node::Namespace(String::new()),
            Node::Group(String::new(), "vm/1".into()),
        );
        let snapshots = (0..FIRST + 5).map(|i| snapshot(&format!("vm/1/{i}"))).collect();
        let tree = Tree::default()
            .after(Step::Open(root))
            .after(Step::Groups(
                String::new(),
                Ok(vec![group("ct/1"), group("vm/1")]),
                0.0,
            ))
            .after(Step::Toggle(vm))
            .after(Step::Snapshots(String::new(), "vm/1".into(), Ok(snapshots), 0.0));
        (
            tree,
            vec![
                NamespaceEntry { ns: String::new() },
                NamespaceEntry { ns: "a".into() },
            ],
        )
    }

    #[test]
    fn only_what_is_open_is_drawn_and_long_lists_wait() {
        let (tree, namespaces) = opened();
        let lines = tree.lines(&namespaces);
        assert_eq!(lines.len(), 2 + 2 + FIRST + 1);
        assert_eq!(lines[3 + FIRST].fact, Fact::Count(5));
        let whole = tree.after(Step::Open(Node::More(String::new(), "vm/1".into())));
        assert_eq!(whole.lines(&namespaces).len(), 2 + 2 + FIRST + 5);
        assert!(tree.snapshot("", "vm/1/3").is_some() && tree.snapshot("a", "vm/1/3").is_none());
    }

    #[test]
    fn a_store_shows_something_before_anything_is_chosen() {
        let (tree, namespaces) = opened();
        // ct/1 is the first group; nothing is known of its snapshots
        assert_eq!(
            tree.suggest(&namespaces),
            Suggestion::Fetch(Node::Group(String::new(), "ct/1".into()))
        );
        let mut unfinished = snapshot("ct/1/2");
        unfinished.finished = false;
        let step = Step::Snapshots(
            String::new(),
            "ct/1".into(),
            Ok(vec![unfinished, snapshot("ct/1/1")]),
            0.0,
        );
        assert_eq!(
            tree.after(step).suggest(&namespaces),
            Suggestion::Snapshot(String::new(), "ct/1/1".into())
        );
        assert_eq!(
            Tree::default().suggest(&namespaces),
            Suggestion::Fetch(Node::Namespace(String::new()))
        );
        assert_eq!(tree.suggest(&[]), Suggestion::Nothing);
    }

    #[test]
    fn a_snapshot_that_is_gone_is_known_to_be() {
        let (tree, namespaces) = opened();
        let lacks = |ns, snapshot| tree.lacks(&namespaces, ns, snapshot);
        assert!(lacks("", "vm/1/nine") && lacks("", "vm/9/1") && lacks("", "x") && lacks("gone", "vm/1/3"));
        assert!(!lacks("", "vm/1/3"));
        // of these nothing is known yet
        assert!(!lacks("a", "vm/1/3") && !lacks("", "ct/1/3"));
    }

    #[test]
    fn a_fetch_is_asked_for_once_and_again_after_a_failure() {
        let ns = Node::Namespace("a".into());
        let tree = Tree::default().after(Step::Open(ns.clone()));
        assert_eq!(tree.wanted(), std::slice::from_ref(&ns));
        let tree = tree.after(Step::Started(ns.clone()));
        assert!(tree.wanted().is_empty());
        let problem = Problem {
            code: "x".into(),
            status: 500,
            detail: "no".into(),
        };
        let tree = tree.after(Step::Groups("a".into(), Err(problem), 0.0));
        assert!(tree.wanted().is_empty());
        let tree = tree
            .after(Step::Toggle(ns.clone()))
            .after(Step::Toggle(ns.clone()));
        assert_eq!(tree.wanted(), [ns]);
    }

    #[test]
    fn arrows_walk_the_tree() {
        let (tree, namespaces) = opened();
        let lines = tree.lines(&namespaces);
        assert_eq!(key_move("ArrowRight", 1, &lines), Move::Toggle);
        assert_eq!(key_move("ArrowRight", 2, &lines), Move::To(3));
        assert_eq!(key_move("ArrowLeft", 5, &lines), Move::To(2));
        assert_eq!(key_move("ArrowLeft", 2, &lines), Move::Toggle);
        assert_eq!(key_move("End", 0, &lines), Move::To(lines.len() - 1));
        assert_eq!(key_move("x", 0, &lines), Move::Stay);
        assert_eq!(group_of("vm/100/2024-05-01T10:00:00Z"), Some("vm/100"));
    }
}
