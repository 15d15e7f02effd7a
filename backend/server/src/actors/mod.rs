//! The five actors: they alone change what they own; everybody reads what they publish.
//!
//! | actor | owns | publishes |
//! |---|---|---|
//! | [`fleet::FleetActor`] | which store actors run | the table of stores |
//! | [`store::StoreActor`] | one datastore's entry, scan result, tasks | its row |
//! | [`jobs::JobsActor`] | admission and the queue of restores | the table of jobs |
//! | [`bench::BenchActor`] | the queue of benchmark runs | the table of runs |
//! | [`events::EventHub`] | the live feed's ring and clients | events |
//!
//! Mailboxes are bounded: a full one is an error of kind `Unavailable` to the caller (503), never a longer queue.

pub mod audience;
pub mod bench;
pub mod events;
pub mod feed;
pub mod fleet;
pub mod jobs;
pub mod store;
