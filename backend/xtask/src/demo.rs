//! `make run`: the release server over the golden stores and a generated fleet, in `.fleethold/` of the checkout.

mod registry;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;

use crate::golden;
use crate::process;
use crate::repo::Repo;
use crate::setup::{self, Purpose};
use crate::web;

/// How to run the demo.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// Address the demo listens on
    #[arg(long, env = "FLEETHOLD_LISTEN", default_value = "127.0.0.1:8007")]
    listen: SocketAddr,
    /// Small generated stores beside the golden ones
    #[arg(long, default_value_t = 2000)]
    stores: u32,
}

/// What `serve --ready-file` writes once it answers.
#[derive(Deserialize)]
struct Ready {
    url: String,
    user: String,
    password_file: PathBuf,
}

/// Builds the page and the release binary with the page inside; answers the binary's path.
pub(crate) fn build(repo: &Repo) -> Result<PathBuf> {
    setup::run(repo, Purpose::Run)?;
    web::run(repo, false)?;
    process::run(
        repo.cargo()
            .args(["build", "--release", "--package", "fleethold-server"]),
    )?;
    Ok(repo.target().join("release/fleethold"))
}

/// Builds, makes the demo's stores, serves until Ctrl-C.
pub(crate) fn run(repo: &Repo, args: &RunArgs) -> Result<()> {
    refuse_busy(args.listen)?;
    let binary = build(repo)?;
    let state = repo.path(".fleethold");
    make_stores(repo, &binary, &state, args.stores)?;
    serve(&binary, &state, args.listen)
}

/// Minutes of building before "address in use" would be unkind.
fn refuse_busy(listen: SocketAddr) -> Result<()> {
    match TcpListener::bind(listen) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => bail!(
            "{listen} is in use, perhaps by another `make run`; stop that one or choose another address: make run LISTEN={}:{}",
            listen.ip(),
            listen.port().wrapping_add(1000)
        ),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {listen}")),
    }
}

/// Golden stores, one 1 GiB image and the fleet, and their entries in `datastore.cfg`. What is there already, and
/// whole, is left as it is.
fn make_stores(repo: &Repo, binary: &Path, state: &Path, stores: u32) -> Result<()> {
    let demo = state.join("demo");
    let golden = demo.join("golden");
    golden::unpack(repo, &golden)?;

    let image = demo.join("image-1g");
    let fleet = demo.join(format!("fleet-{stores}"));
    let fixture = |kind: &str, dir: &Path, arguments: &[&str]| {
        process::run(
            Command::new(binary)
                .args(["fixture", kind, "--seed", "1", "--dir"])
                .arg(dir)
                .args(arguments),
        )
    };
    fixture("image", &image, &["--size", "1GiB"])?;
    fixture("fleet", &fleet, &["--stores", &stores.to_string()])?;

    let mut entries = vec![
        registry::Entry::new(
            "golden",
            &golden.join("store"),
            "Written by the reference implementation",
        ),
        registry::Entry::new(
            "golden-real",
            &golden.join("real/store"),
            "Written by the reference implementation",
        ),
        registry::Entry::new("image-1g", &image, "One generated image of 1 GiB"),
    ];
    entries.extend(registry::generated(&fleet)?);
    registry::register(&state.join("etc/datastore.cfg"), &demo, &entries)
}

/// Starts the server, says how to reach it, and stays until it has stopped.
fn serve(binary: &Path, state: &Path, listen: SocketAddr) -> Result<()> {
    let ready_file = state.join("ready.json");
    match std::fs::remove_file(&ready_file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("removing {}", ready_file.display()));
        }
        _ => {}
    }
    // Ctrl-C reaches the server, too (one terminal, one process group); we only have to outlive it.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("registering a signal handler")?;
    }
    let mut command = Command::new(binary);
    command
        .args(["serve", "--listen", &listen.to_string(), "--ready-file"])
        .arg(&ready_file)
        .env("FLEETHOLD_STATE_DIR", state)
        .env("FLEETHOLD_CONFIG_DIR", state.join("etc"))
        .env("FLEETHOLD_RUN_DIR", state.join("run"));
    println!("$ {}", process::display(&command));
    let mut server = command
        .spawn()
        .with_context(|| format!("could not start {}", binary.display()))?;
    let mut announced = false;
    let mut asked = false;
    loop {
        if let Some(status) = server.try_wait().context("waiting for the server")? {
            if status.success() || stop.load(Ordering::Relaxed) {
                println!("stopped");
                return Ok(());
            }
            bail!("the server ended with {status}");
        }
        if !announced && ready_file.exists() {
            announce(&ready_file)?;
            announced = true;
        }
        if stop.load(Ordering::Relaxed) && !asked {
            terminate(&server)?;
            asked = true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Passes our own end on to the server, for when the signal was meant for us alone.
fn terminate(server: &Child) -> Result<()> {
    let pid = i32::try_from(server.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let pid = pid.context("the server has no process id")?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).context("stopping the server")
}

fn announce(ready_file: &Path) -> Result<()> {
    let text =
        std::fs::read_to_string(ready_file).with_context(|| format!("reading {}", ready_file.display()))?;
    let ready: Ready = serde_json::from_str(&text)
        .with_context(|| format!("{}: not what serve writes", ready_file.display()))?;
    let password = std::fs::read_to_string(&ready.password_file)
        .with_context(|| format!("reading {}", ready.password_file.display()))?;
    println!();
    println!("  Fleethold is running at  {}", ready.url);
    println!("  user                     {}", ready.user);
    println!("  password                 {}", password.trim());
    println!("  (a certificate of its own: the browser asks once; Ctrl-C stops the server)");
    println!();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_port_is_named_with_a_way_out() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let text = refuse_busy(address).unwrap_err().to_string();
        assert!(
            text.contains(&address.to_string()) && text.contains("make run LISTEN="),
            "{text}"
        );
        drop(taken);
        refuse_busy(address).unwrap();
    }
}
