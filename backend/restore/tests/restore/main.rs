//! Restores through the public API: golden stores, a model, damage, faults, targets.

mod damage;
mod golden;
mod model;
mod pipeline;
mod support;
mod target;
