//! Entry point of the WebAssembly module.

fn main() {
    fleethold_frontend::app::start();
}
