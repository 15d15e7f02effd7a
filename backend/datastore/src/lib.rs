//! One datastore on disk: chunk sources, namespaces, groups, snapshots, locks
