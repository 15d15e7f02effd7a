//! The binary `fleethold`.
fn main() {}
