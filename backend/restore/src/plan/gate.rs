//! How many plans are being made at once: what a plan takes is in no job's share of the budget yet.

use parking_lot::{Condvar, Mutex};

/// Plans being made at once.
const MOST: usize = 2;

/// Lets in as many as fit; the others wait on their threads.
#[derive(Debug)]
pub(crate) struct PlanGate {
    total_bytes: u64,
    making: Mutex<Making>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Making {
    plans: usize,
    bytes: u64,
}

/// Leave to make one plan, until dropped.
#[derive(Debug)]
pub(crate) struct PlanLeave<'a> {
    gate: &'a PlanGate,
    bytes: u64,
}

impl PlanGate {
    pub(crate) fn new(total_bytes: u64) -> Self {
        Self {
            total_bytes,
            making: Mutex::default(),
            left: Condvar::new(),
        }
    }

    /// Waits (blocking) until another plan of `bytes` may be made. One that is larger than all may
    /// be together goes alone.
    pub(crate) fn enter(&self, bytes: u64) -> PlanLeave<'_> {
        let mut making = self.making.lock();
        while making.plans >= MOST
            || (making.plans > 0 && making.bytes.saturating_add(bytes) > self.total_bytes)
        {
            self.left.wait(&mut making);
        }
        making.plans += 1;
        making.bytes = making.bytes.saturating_add(bytes);
        PlanLeave { gate: self, bytes }
    }
}

impl Drop for PlanLeave<'_> {
    fn drop(&mut self) {
        {
            let mut making = self.gate.making.lock();
            making.plans = making.plans.saturating_sub(1);
            making.bytes = making.bytes.saturating_sub(self.bytes);
        }
        self.gate.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    /// Whether a plan of `bytes` has to wait until one of `held` is made.
    fn waits(gate: &PlanGate, held: Vec<PlanLeave<'_>>, bytes: u64) -> bool {
        let (tell, entered) = channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let leave = gate.enter(bytes);
                tell.send(()).expect("somebody listens");
                drop(leave);
            });
            let waited = entered.recv_timeout(Duration::from_millis(100)).is_err();
            drop(held);
            if waited {
                entered.recv().expect("its turn");
            }
            waited
        })
    }

    #[test]
    fn two_plans_are_made_at_once_and_together_fit_into_the_budget() {
        let gate = PlanGate::new(100);
        assert!(!waits(&gate, vec![gate.enter(50)], 50));
        assert!(waits(&gate, vec![gate.enter(50)], 51));
        assert!(waits(&gate, vec![gate.enter(1), gate.enter(1)], 1));
        assert!(!waits(&gate, vec![], 101), "alone");
    }
}
