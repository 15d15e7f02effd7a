//! Who gets memory when, and that it all comes back.

use std::time::Duration;

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

/// Takes all the memory the job may have now, as the job of a reader that reads nothing does.
fn hoard(share: &JobShare) -> Vec<ChunkMemory> {
    std::iter::from_fn(|| share.try_reserve(need(4))).collect()
}

#[test]
fn any_number_of_idle_readers_leaves_a_quarter_to_unordered_jobs() {
    for total in [64, 128, 512] {
        let budget = budget(total);
        let mut waiting = Vec::new();
        let mut hoards = Vec::new();
        for _ in 0..100 {
            let mut asked = Box::pin(budget.admit(job(0, 4, true)));
            match now(asked.as_mut()) {
                Some(share) => {
                    let share = share.expect("a share");
                    let mut held = hoard(&share);
                    // One chunk in any case, however late it came.
                    if held.is_empty() {
                        held.push(now(share.reserve(need(4))).expect("at once").expect("memory"));
                    }
                    hoards.push((share, held));
                }
                None => waiting.push(asked),
            }
        }
        assert!(!waiting.is_empty() && hoards.len() > 2, "{}", hoards.len());
        assert!(budget.used_bytes() <= (total * MIB) as u64 / 4 * 3, "{total}");
        let other = admitted(&budget, job(1, 4, false));
        let memory = now(other.reserve(need(4))).expect("at once").expect("memory");
        // The readers read: those who wait come in.
        let in_line = waiting.len();
        drop(hoards);
        waiting.retain_mut(|asked| now(asked.as_mut()).is_none());
        assert!(waiting.len() < in_line);
        drop((memory, other, waiting));
    }
}

#[test]
fn a_job_that_waits_blocks_none_that_fits_and_is_overtaken_a_limited_number_of_times() {
    let budget = budget(128);
    let first = admitted(&budget, job(60, 16, true));
    // 92 MiB of the 96 are promised to the first: this one does not fit beside it.
    let mut large = Box::pin(budget.admit(job(0, 8, true)));
    assert!(now(large.as_mut()).is_none());
    for _ in 0..16 {
        drop(admitted(&budget, job(0, 2, true)));
    }
    let mut small = Box::pin(budget.admit(job(0, 2, true)));
    assert!(
        now(small.as_mut()).is_none(),
        "the large one came first, and long ago"
    );
    drop(admitted(&budget, job(0, 4, false)));
    drop(first);
    now(large.as_mut()).expect("its turn").expect("a share");
    now(small.as_mut()).expect("its turn").expect("a share");
}

#[test]
fn an_unordered_job_with_a_large_plan_does_not_starve_behind_small_ones() {
    let budget = budget(128);
    let busy = admitted(&budget, job(60, 4, false));
    let mut large = Box::pin(budget.admit(job(80, 4, false)));
    assert!(now(large.as_mut()).is_none());
    let mut passed = Vec::new();
    for _ in 0..40 {
        let mut asked = Box::pin(budget.admit(job(3, 4, false)));
        match now(asked.as_mut()) {
            Some(share) => passed.push(share.expect("a share")),
            None => break,
        }
    }
    assert_eq!(passed.len(), 16);
    drop(passed);
    let mut later = Box::pin(budget.admit(job(3, 4, false)));
    assert!(now(later.as_mut()).is_none(), "the large one comes first");
    drop(busy);
    let _large = now(large.as_mut()).expect("its turn").expect("a share");
    now(later.as_mut()).expect("beside it").expect("a share");
}

#[test]
fn a_cap_grows_when_others_leave() {
    let budget = budget(128);
    let mut others: Vec<_> = (0..8).map(|_| admitted(&budget, job(0, 4, true))).collect();
    let late = others.pop().expect("a share");
    let held = hoard(&late);
    assert_eq!((held.len(), late.cap_bytes()), (1, need(4).bytes()));
    drop(others);
    assert_eq!(late.cap_bytes(), 4 * need(4).bytes());
    assert_eq!(hoard(&late).len(), 3);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn an_idle_reader_goes_only_when_somebody_else_waited_as_long_as_it_was_idle() {
    let budget = budget(64);
    let idle = admitted(&budget, job(0, 16, true));
    let also_idle = admitted(&budget, job(0, 6, true));
    let _held = now(idle.reserve(need(16))).expect("at once").expect("memory");
    let idle_since = Instant::now();
    let goes = || (idle.must_go(idle_since), also_idle.must_go(idle_since));
    let later = |seconds| tokio::time::advance(Duration::from_secs(seconds));
    later(3600).await;
    assert_eq!(goes(), (false, false), "nobody waits");

    // Its own chunk waits for its own reader: that is nobody else.
    let mut own = Box::pin(idle.reserve(need(4)));
    assert!(now(own.as_mut()).is_none());
    assert!(idle.waits_for_its_reader());
    later(3600).await;
    assert_eq!(goes(), (false, false), "nobody else waits");

    let mut other = Box::pin(budget.admit(job(0, 8, true)));
    assert!(now(other.as_mut()).is_none());
    later(29).await;
    assert_eq!(goes(), (false, false), "not for long");
    later(1).await;
    assert_eq!(goes(), (true, false), "one at a time");
    later(1).await;
    assert!(also_idle.must_go(idle_since));
    assert!(!idle.must_go(Instant::now()), "it reads");
}
