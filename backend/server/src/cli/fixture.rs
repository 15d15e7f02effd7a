//! `fleethold fixture`: datastores made on purpose, to try and to measure.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use fleethold_datastore::fixture::{
    FixtureProgress, FleetSpec, ImageSpec, Mix, Outcome, generate_fleet, generate_image,
};
use serde_json::json;

use super::exit::{CliResult, Exit};
use super::output;
use super::progress::counting_bar;
use super::values::{format_size, parse_size};
use crate::clock;

/// Make datastores to try and to measure
#[derive(Subcommand)]
pub(super) enum FixtureCommand {
    Fleet(FleetArgs),
    Image(ImageArgs),
}

/// Make many small real datastores, with datastore.cfg and fleet.json (expected digests) beside them
///
/// One in a hundred is broken in a known way, which fleet.json names.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold fixture fleet --stores 2000 --dir /tmp/fleet
  fleethold --config-dir /tmp/fleet serve")]
pub(super) struct FleetArgs {
    /// How many
    #[arg(long, value_name = "N")]
    stores: u64,
    /// Where; a directory per datastore
    #[arg(long)]
    dir: PathBuf,
    /// The same seed makes the same fleet
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Make a datastore with one image of a given mix
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold fixture image --size 1GiB --dir /tmp/image
  fleethold fixture image --size 10GiB --mix 50,25,25 --seed 7 --dir /tmp/image")]
pub(super) struct ImageArgs {
    /// Size of the image
    #[arg(long, value_parser = parse_size)]
    size: u64,
    /// Percent of zeros, compressible text and random bytes
    #[arg(long, value_name = "ZERO,TEXT,RANDOM", default_value = "25,35,40", value_parser = parse_mix)]
    mix: Mix,
    /// Where; this directory becomes the datastore
    #[arg(long)]
    dir: PathBuf,
    /// The same seed makes the same image
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Three percentages that add up to 100.
fn parse_mix(text: &str) -> Result<Mix, String> {
    let wrong = || format!("expected three percentages that add up to 100 such as 25,35,40, found {text:?}");
    let parts: Vec<u8> = text
        .split(',')
        .map(|part| part.trim().parse().map_err(|_| wrong()))
        .collect::<Result<_, _>>()?;
    match parts.as_slice() {
        &[zero, text, random] if u32::from(zero) + u32::from(text) + u32::from(random) == 100 => {
            Ok(Mix { zero, text, random })
        }
        _ => Err(wrong()),
    }
}

pub(super) fn run(command: FixtureCommand) -> CliResult {
    let bar = counting_bar(match &command {
        FixtureCommand::Fleet(_) => "stores",
        FixtureCommand::Image(_) => "image",
    });
    let show = |progress: FixtureProgress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        ControlFlow::Continue(())
    };
    let now = clock::epoch();
    let (outcome, as_json, object, text) = match &command {
        FixtureCommand::Fleet(args) => {
            let outcome = generate_fleet(&FleetSpec::new(&args.dir, args.stores, args.seed, now), &show)?;
            let object = json!({"dir": args.dir, "stores": args.stores, "seed": args.seed});
            (
                outcome,
                args.json,
                object,
                format!("{} stores in {}", args.stores, args.dir.display()),
            )
        }
        FixtureCommand::Image(args) => {
            let spec = ImageSpec {
                mix: args.mix,
                ..ImageSpec::new(&args.dir, args.size, args.seed, now)
            };
            let outcome = generate_image(&spec, &show)?;
            let object = json!({"dir": args.dir, "size": args.size, "mix": args.mix, "seed": args.seed});
            (
                outcome,
                args.json,
                object,
                format!("image of {} in {}", format_size(args.size), args.dir.display()),
            )
        }
    };
    bar.finish_and_clear();
    let (word, verb) = match outcome {
        Outcome::Created => ("created", "made"),
        Outcome::Unchanged => ("unchanged", "already there:"),
    };
    if as_json {
        let mut object = object;
        if let Some(fields) = object.as_object_mut() {
            fields.insert("outcome".to_owned(), word.into());
        }
        output::json(&object)?;
    } else {
        output::line(&format!("{verb} {text}"))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes() {
        assert_eq!(parse_mix("25,35,40"), Ok(Mix::default()));
        assert_eq!(
            parse_mix("100, 0, 0"),
            Ok(Mix {
                zero: 100,
                text: 0,
                random: 0
            })
        );
        for text in [
            "",
            "25,35",
            "25,35,41",
            "25,35,40,0",
            "-1,61,40",
            "256,0,0",
            "a,b,c",
        ] {
            assert!(parse_mix(text).unwrap_err().contains("add up to 100"), "{text}");
        }
    }
}
