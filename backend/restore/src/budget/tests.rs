//! Who gets memory when, and that it all comes back.

use futures_util::FutureExt;

use super::*;

const MIB: usize = 1 << 20;

fn need(mib: usize) -> ChunkNeed {
    ChunkNeed::new(mib * MIB, mib * MIB)
}

fn job(fixed_mib: usize, chunk_mib: usize, ordered: bool) -> JobNeed {
    JobNeed {
        fixed_bytes: (fixed_mib * MIB) as u64,
        chunk_bytes: need(chunk_mib).bytes(),
        ordered,
    }
}

fn budget(mib: usize) -> MemoryBudget {
    MemoryBudget::new((mib * MIB) as u64)
}

fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    future.now_or_never()
}

fn admitted(budget: &MemoryBudget, need: JobNeed) -> JobShare {
    now(budget.admit(need)).expect("at once").expect("a share")
}

#[test]
fn chunks_wait_in_order_and_nobody_overtakes() {
    let budget = budget(64);
    let (one, two) = (
        admitted(&budget, job(0, 4, false)),
        admitted(&budget, job(0, 4, false)),
    );
    let held: Vec<_> = (0..8)
        .map(|_| now(one.reserve(need(4))).expect("at once").expect("memory"))
        .collect();
    assert_eq!(budget.used_bytes(), 64 << 20);
    let mut large = Box::pin(two.reserve(need(8)));
    assert!(now(large.as_mut()).is_none());
    let mut small = Box::pin(one.reserve(need(1)));
    let mut held = held.into_iter();
    drop(held.next());
    assert!(
        now(small.as_mut()).is_none(),
        "8 MiB are free, but the larger request came first"
    );
    assert!(one.try_reserve(need(1)).is_none());
    drop(held.next());
    let mut memory = now(large.as_mut()).expect("its turn").expect("memory");
    assert!(memory.plain.prefix_mut(8 * MIB).is_some());
    drop(held.next());
    now(small.as_mut()).expect("its turn").expect("memory");
    drop((held, memory));
    drop((large, small));
    drop((one, two));
    assert_eq!((budget.used_bytes(), budget.stats().jobs), (0, 0));
}

#[test]
fn giving_up_a_place_in_the_queue_lets_the_next_one_through() {
    let budget = budget(64);
    let share = admitted(&budget, job(0, 4, false));
    let held: Vec<_> = (0..7)
        .map(|_| now(share.reserve(need(4))).expect("at once").expect("memory"))
        .collect();
    let mut large = Box::pin(share.reserve(need(16)));
    assert!(now(large.as_mut()).is_none());
    let mut small = Box::pin(share.reserve(need(4)));
    assert!(now(small.as_mut()).is_none());
    drop(large);
    assert!(share.try_reserve(need(1)).is_none(), "somebody waits");
    drop(held);
    now(small.as_mut()).expect("its turn").expect("memory");
}

#[test]
fn granted_memory_nobody_takes_comes_back() {
    let budget = budget(64);
    let share = admitted(&budget, job(0, 4, false));
    let held = now(share.reserve(need(32))).expect("at once").expect("memory");
    let mut waiting = Box::pin(share.reserve(need(4)));
    assert!(now(waiting.as_mut()).is_none());
    drop(held);
    assert_eq!(budget.used_bytes(), need(4).bytes(), "granted");
    drop(waiting);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn idle_buffers_are_used_again_and_never_exceed_the_budget() {
    let budget = budget(64);
    let share = admitted(&budget, job(0, 4, false));
    // Where the plain buffer of a chunk lies, once both of its buffers were used.
    let touch = |mut memory: ChunkMemory| {
        let encoded = memory.encoded.lend();
        memory.encoded.restore(encoded);
        memory.plain.prefix_mut(1).expect("a buffer").as_ptr()
    };
    let chunk = |mib| now(share.reserve(need(mib))).expect("at once").expect("memory");
    let place = touch(chunk(4));
    assert_eq!(budget.stats().idle_bytes, need(4).bytes());
    drop(chunk(4));
    assert_eq!(touch(chunk(4)), place, "the same buffer");
    let large = chunk(32);
    let stats = budget.stats();
    assert_eq!(
        (stats.used_bytes, stats.idle_bytes),
        (64 << 20, need(4).bytes()),
        "untouched"
    );
    touch(large);
    let stats = budget.stats();
    assert_eq!(
        (stats.used_bytes, stats.idle_bytes, stats.high_water_bytes),
        (0, 64 << 20, 64 << 20)
    );
    touch(chunk(4));
    let stats = budget.stats();
    assert_eq!((stats.used_bytes, stats.high_water_bytes), (0, 64 << 20));
}

#[test]
fn a_job_that_can_never_fit_is_refused_and_one_that_fits_later_waits() {
    let budget = budget(64);
    let refused = now(budget.admit(job(60, 4, false))).expect("at once");
    assert!(matches!(refused, Err(RestoreErrorKind::MemoryBudget { .. })));

    let first = admitted(&budget, job(30, 4, false));
    let mut second = Box::pin(budget.admit(job(30, 4, false)));
    assert!(
        now(second.as_mut()).is_none(),
        "both plans fit, but no chunk beside them"
    );
    assert_eq!(budget.stats().waiting_jobs, 1);
    drop(first);
    now(second.as_mut()).expect("its turn").expect("a share");
}

#[test]
fn an_ordered_job_has_a_cap_that_leaves_room_for_the_others() {
    let budget = budget(128);
    let ordered = admitted(&budget, job(0, 4, true));
    let mut held = Vec::new();
    while let Some(memory) = ordered.try_reserve(need(4)) {
        held.push(memory);
    }
    assert!(budget.used_bytes() <= ordered.cap_bytes() && ordered.cap_bytes() < 64 << 20);
    assert!(now(ordered.reserve(need(4))).is_none(), "at its cap");
    let other = admitted(&budget, job(0, 16, false));
    now(other.reserve(need(16)))
        .expect("the largest chunk at once")
        .expect("memory");

    // What a reader still holds counts after the job's end.
    drop(ordered);
    assert_eq!(budget.stats().jobs, 2);
    drop(held);
    assert_eq!((budget.used_bytes(), budget.stats().jobs), (0, 1));
}
