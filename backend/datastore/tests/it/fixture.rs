//! Fixtures: what they promise in `fleet.json` and `image.json` is what the stores restore to.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::restore;
use fleethold_datastore::Datastore;
use fleethold_datastore::fixture::{
    BrokenKind, FixtureError, FleetFile, FleetSpec, FleetStore, ImageFile, ImageSpec, Mix, Outcome,
    generate_fleet, generate_image,
};
use fleethold_format::index::zero_digest;
use fleethold_format::manifest::VerifyOutcome;
use fleethold_format::names::Namespace;
use fleethold_format::section_config::SectionConfig;

const NOW: i64 = 1_750_000_000;

fn fleet(dir: &Path, stores: u64, broken_percent: u8) -> FleetSpec {
    let mut spec = FleetSpec::new(dir, stores, 42, NOW);
    spec.max_image_bytes = 16 << 20;
    spec.broken_percent = broken_percent;
    spec
}

fn silent(_: fleethold_datastore::fixture::FixtureProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Restores every archive; says which of them fail.
fn failures(dir: &Path, record: &FleetStore) -> Vec<(usize, String)> {
    let store = match Datastore::open(record.name.clone(), &dir.join(record.name.as_str())) {
        Ok(store) => store,
        Err(error) => {
            return (0..record.archives.len())
                .map(|at| (at, error.code().to_owned()))
                .collect();
        }
    };
    let mut failures = Vec::new();
    for (at, archive) in record.archives.iter().enumerate() {
        let outcome = store
            .snapshot(&archive.ns, &archive.snapshot)
            .map_err(|error| error.to_string())
            .and_then(|snapshot| restore(&snapshot, &archive.archive, None));
        match outcome {
            Ok((sha256, size)) => {
                assert_eq!(
                    (sha256, size),
                    (archive.sha256.clone(), archive.size),
                    "{}",
                    archive.archive
                );
            }
            Err(error) => failures.push((at, error)),
        }
    }
    failures
}

#[test]
fn a_fleet_of_thirty_restores_to_what_it_promises() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("fleet");
    let spec = fleet(&dir, 30, 30);
    let seen = AtomicU64::new(0);
    let outcome = generate_fleet(&spec, &|progress| {
        assert!(progress.total == 30 && progress.done <= 30);
        seen.fetch_max(progress.done, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    assert_eq!((outcome.unwrap(), seen.into_inner()), (Outcome::Created, 30));

    let file = FleetFile::read(&dir).unwrap();
    assert_eq!((file.store_count, file.stores.len()), (30, 30));
    let config = SectionConfig::parse(&fs::read_to_string(dir.join("datastore.cfg")).unwrap()).unwrap();
    let mut kinds = HashSet::new();
    for record in &file.stores {
        let section = config.section(record.name.as_str()).unwrap();
        let path = section.get("path").unwrap().unwrap();
        assert_eq!(Path::new(path), dir.join(record.name.as_str()));
        assert_eq!(
            section.get("maintenance-mode").unwrap(),
            record.maintenance.as_deref()
        );

        assert!(record.groups >= 2 && record.snapshots >= 3, "{}", record.name);
        let found = failures(&dir, record);
        let affected: Vec<_> = found.iter().map(|(at, _)| *at).collect();
        match &record.broken {
            None => {
                assert_eq!(found, [], "{}", record.name);
                check_lists(&dir, record);
            }
            Some(broken) => {
                assert_eq!(affected, broken.affected, "{}: {:?}", record.name, broken.kind);
                assert!(!affected.is_empty());
                for (chunk, (_, error)) in broken.chunk.iter().zip(&found) {
                    let named = broken.kind == BrokenKind::ChangedIndex || error.contains(&chunk.to_string());
                    assert!(named, "{error}");
                }
                kinds.insert(broken.kind);
            }
        }
    }
    assert_eq!(
        kinds.len(),
        BrokenKind::ALL.len(),
        "every way to break a store was tried"
    );
}

/// The lists of the store say the same as `fleet.json`.
fn check_lists(dir: &Path, record: &FleetStore) {
    let store = Datastore::open(record.name.clone(), &dir.join(record.name.as_str())).unwrap();
    let counts = store.counts().unwrap();
    assert_eq!(counts.groups(), record.groups);
    assert_eq!(counts.snapshots(), record.snapshots + record.unfinished);
    assert_eq!(counts.last_backup.unwrap().epoch(), record.last_backup);
    assert!(record.last_backup <= NOW);
    let (mut failed, mut archives) = (0, 0);
    for ns in store.namespaces(&Namespace::root(), 8).unwrap() {
        for group in store.groups(&ns).unwrap() {
            assert!(group.owner.is_some());
            for info in store.snapshots(&ns, &group.path).unwrap() {
                assert_eq!(info.manifest_error, None);
                archives += info
                    .files
                    .iter()
                    .filter(|file| file.name != "index.json.blob")
                    .count();
                failed += u64::from(
                    info.verify
                        .is_some_and(|verify| verify.state == VerifyOutcome::Failed),
                );
            }
        }
    }
    assert_eq!(
        (failed, archives),
        (record.failed_verifications, record.archives.len())
    );
    for entry in fs::read_dir(store.path().join(".chunks")).unwrap() {
        let chunks = fs::read_dir(entry.unwrap().path()).unwrap().count();
        assert!(chunks > 0, "only directories that hold something");
    }
}

#[test]
fn fleets_differ_by_seed_only_and_vary() {
    let temp = tempfile::tempdir().unwrap();
    let make = |name: &str, seed| {
        let mut spec = fleet(&temp.path().join(name), 60, 0);
        spec.max_image_bytes = 8 << 20;
        spec.seed = seed;
        generate_fleet(&spec, &silent).unwrap();
        FleetFile::read(&spec.dir).unwrap()
    };
    let (one, two, three) = (make("one", 1), make("two", 1), make("three", 2));
    assert_eq!(one, two);
    assert_ne!(one.stores, three.stores);
    let manifest = |fleet: &str| {
        let store = &one.stores[7];
        let snapshot = store.archives[0].snapshot.rel_path().join("index.json.blob");
        fs::read(temp.path().join(fleet).join(store.name.as_str()).join(snapshot)).unwrap()
    };
    assert_eq!(manifest("one"), manifest("two"), "byte for byte");

    let distinct = |of: fn(&FleetStore) -> String| one.stores.iter().map(of).collect::<HashSet<_>>().len();
    assert!(distinct(|store| store.comment.clone()) > 10);
    assert!(distinct(|store| store.archives[0].size.to_string()) > 20);
    assert!(distinct(|store| store.last_backup.to_string()) > 50);
    assert!(
        distinct(|store| store
            .archives
            .iter()
            .map(|archive| archive.ns.to_string())
            .collect())
            > 1
    );
}

#[test]
fn fixtures_leave_what_is_complete_and_refuse_what_is_foreign() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("fleet");
    let spec = fleet(&dir, 3, 0);
    assert_eq!(generate_fleet(&spec, &silent).unwrap(), Outcome::Created);
    let json = fs::metadata(dir.join("fleet.json")).unwrap().modified().unwrap();
    let later = FleetSpec {
        now: NOW + 5,
        ..spec.clone()
    };
    assert_eq!(generate_fleet(&later, &silent).unwrap(), Outcome::Unchanged);
    assert_eq!(
        fs::metadata(dir.join("fleet.json")).unwrap().modified().unwrap(),
        json
    );

    let other = FleetSpec {
        seed: 43,
        ..spec.clone()
    };
    let error = generate_fleet(&other, &silent).unwrap_err();
    assert!(
        error.to_string().contains("seed 42") && error.to_string().contains("seed 43"),
        "{error}"
    );
    let image = ImageSpec::new(&dir, 1, 1, NOW);
    assert!(matches!(
        generate_image(&image, &silent),
        Err(FixtureError::OtherFixture { .. })
    ));

    let foreign = temp.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.txt"), "mine").unwrap();
    let refused = generate_fleet(&fleet(&foreign, 3, 0), &silent);
    assert!(matches!(refused, Err(FixtureError::Foreign { .. })));
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);

    // Interrupted: the marker says so, parts are there.
    let marker = dir.join(".fleethold-fixture.json");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, text.replace("\"complete\":true", "\"complete\":false")).unwrap();
    assert_eq!(generate_fleet(&spec, &silent).unwrap(), Outcome::Created);
    for record in FleetFile::read(&dir).unwrap().stores {
        assert_eq!(failures(&dir, &record), []);
    }
}

#[test]
fn parameters_that_make_no_sense_are_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("none");
    let image = |change: fn(&mut ImageSpec)| {
        let mut spec = ImageSpec::new(&dir, 1 << 20, 1, NOW);
        change(&mut spec);
        generate_image(&spec, &silent).unwrap_err().to_string()
    };
    assert!(image(|spec| spec.mix.zero = 26).contains("mix"));
    assert!(image(|spec| spec.size = 0).contains("size"));
    assert!(image(|spec| spec.chunk_size = 100_000).contains("chunk_size"));
    assert!(image(|spec| spec.now = 0).contains("backup time"));
    assert!(
        generate_fleet(&fleet(&dir, 0, 0), &silent)
            .unwrap_err()
            .to_string()
            .contains("stores")
    );
    assert!(!dir.exists());
}

#[test]
fn an_image_has_its_mix_and_restores_to_its_digest() {
    let temp = tempfile::tempdir().unwrap();
    let make = |name: &str, mix: Mix| {
        let mut spec = ImageSpec::new(temp.path().join(name), (100 << 16) - 1000, 7, NOW);
        spec.chunk_size = 64 << 10;
        spec.mix = mix;
        let done = AtomicU64::new(0);
        let progress = |progress: fleethold_datastore::fixture::FixtureProgress| {
            done.store(progress.done, Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        assert_eq!(generate_image(&spec, &progress).unwrap(), Outcome::Created);
        assert_eq!(generate_image(&spec, &silent).unwrap(), Outcome::Unchanged);
        assert_eq!(done.into_inner(), spec.size);
        let json = fs::read(spec.dir.join("image.json")).unwrap();
        (spec.dir, serde_json::from_slice::<ImageFile>(&json).unwrap())
    };
    let (dir, file) = make("one", Mix::default());
    let store = crate::common::open(&dir);
    let snapshot = store.snapshot(&Namespace::root(), &file.snapshot).unwrap();
    assert_eq!(
        restore(&snapshot, &file.archive, None).unwrap(),
        (file.sha256.clone(), file.size)
    );
    let csum = snapshot.open_index(&file.archive).unwrap().verify_csum().unwrap();
    assert_eq!(hex::encode(csum), file.index_csum);

    let zero = zero_digest(64 << 10, None);
    let zeros = file.chunks.iter().filter(|chunk| **chunk == zero).count();
    // The short last chunk may be one of the zeros.
    assert!(file.chunks.len() == 100 && (24..=25).contains(&zeros), "{zeros}");
    let (text, random) = (35 << 16, 40 << 16);
    let stored = file.encoded_bytes;
    assert!(
        stored > random && stored < random + text / 2,
        "{stored}: text compresses, noise does not"
    );

    assert_eq!(make("two", Mix::default()).1, file);
    let (_, noise) = make(
        "three",
        Mix {
            zero: 0,
            text: 0,
            random: 100,
        },
    );
    assert!(noise.encoded_bytes > noise.size);
}

#[test]
fn who_wants_no_more_stops_the_making_and_the_next_is_whole() {
    let temp = tempfile::tempdir().unwrap();
    let image = ImageSpec::new(temp.path().join("image"), 64 << 20, 1, NOW);
    let stores = fleet(&temp.path().join("fleet"), 40, 0);
    let told = AtomicU64::new(0);
    let stop = |progress: fleethold_datastore::fixture::FixtureProgress| {
        told.fetch_add(1, Ordering::Relaxed);
        assert!(progress.done < progress.total);
        ControlFlow::Break(())
    };
    assert!(matches!(
        generate_image(&image, &stop),
        Err(FixtureError::Stopped)
    ));
    assert_eq!(told.swap(0, Ordering::Relaxed), 1, "after the first chunk");
    assert!(!image.dir.join("image.json").exists());
    assert!(matches!(
        generate_fleet(&stores, &stop),
        Err(FixtureError::Stopped)
    ));
    let threads = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(told.into_inner() <= threads, "each thread ends its store");

    assert_eq!(generate_image(&image, &silent).unwrap(), Outcome::Created);
    assert_eq!(generate_fleet(&stores, &silent).unwrap(), Outcome::Created);
}
