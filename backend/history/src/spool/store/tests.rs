use super::*;

fn payloads(spool: &mut Spool) -> Vec<(Kind, String)> {
    let mut all = Vec::new();
    while let Some(batch) = spool.read().unwrap() {
        for payload in &batch.payloads {
            all.push((batch.kind, String::from_utf8(payload.clone()).unwrap()));
        }
        spool.acknowledge(batch.kind, batch.end, 0).unwrap();
    }
    all
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "spool"))
        .collect();
    paths.sort();
    paths
}

fn on_disk(dir: &Path) -> u64 {
    segments(dir)
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum()
}

#[test]
fn jobs_come_before_samples_and_each_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    for n in 0..3 {
        spool
            .append(Kind::Sample, format!("s{n}").as_bytes(), 10)
            .unwrap();
        spool.append(Kind::Job, format!("j{n}").as_bytes(), 1).unwrap();
    }
    let stats = spool.stats();
    assert_eq!(
        (stats.waiting_jobs, stats.waiting_samples, stats.bytes),
        (3, 30, on_disk(dir.path()))
    );
    let order: Vec<String> = payloads(&mut spool)
        .into_iter()
        .map(|(_, payload)| payload)
        .collect();
    assert_eq!(order, ["j0", "j1", "j2", "s0", "s1", "s2"]);
    assert_eq!(
        spool.stats(),
        SpoolStats {
            max_bytes: 1 << 20,
            ..SpoolStats::default()
        }
    );
    assert_eq!(segments(dir.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_damaged_identity_is_replaced_and_kept_aside() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("instance");
    let open = || Spool::open(dir.path(), 1 << 20).unwrap().instance();
    let first = open();
    for damage in [&b""[..], b"not a UUID", b"\xff\xfe\0"] {
        std::fs::write(&file, damage).unwrap();
        let replaced = open();
        assert_ne!(replaced, first);
        assert_eq!(open(), replaced, "stays from now on");
        assert_eq!(
            std::fs::read(dir.path().join("instance.damaged")).unwrap(),
            damage
        );
    }
}

#[test]
fn what_was_not_acknowledged_comes_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    let instance = spool.instance();
    spool.append(Kind::Job, b"a", 1).unwrap();
    let batch = spool.read().unwrap().unwrap();
    spool.append(Kind::Job, b"b", 1).unwrap();
    assert!(matches!(
        Spool::open(dir.path(), 1 << 20),
        Err(SpoolError::Locked { .. })
    ));
    drop(spool);

    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    assert_eq!(spool.instance(), instance);
    assert_eq!(spool.stats().waiting_jobs, 2);
    spool.append(Kind::Job, b"c", 1).unwrap();
    let order: Vec<String> = payloads(&mut spool)
        .into_iter()
        .map(|(_, payload)| payload)
        .collect();
    assert_eq!(order, ["a", "b", "c"]);
    // An acknowledgement of what is gone changes nothing.
    spool.acknowledge(batch.kind, batch.end, 0).unwrap();
    assert_eq!(spool.stats().waiting_jobs, 0);
}

#[test]
fn torn_last_record_costs_only_itself_at_every_length() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    spool.append(Kind::Job, b"first", 1).unwrap();
    let whole = on_disk(dir.path());
    spool.append(Kind::Job, b"second", 1).unwrap();
    drop(spool);
    let path = segments(dir.path()).pop().unwrap();
    let content = std::fs::read(&path).unwrap();
    for len in whole..content.len() as u64 {
        std::fs::write(&path, &content[..usize::try_from(len).unwrap()]).unwrap();
        let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
        assert_eq!(spool.stats().damaged_segments, 0);
        assert_eq!(spool.stats().waiting_jobs, 1, "cut at {len}");
        assert_eq!(on_disk(dir.path()), whole);
        // The next record follows cleanly.
        spool.append(Kind::Job, b"third", 1).unwrap();
        let order: Vec<String> = payloads(&mut spool)
            .into_iter()
            .map(|(_, payload)| payload)
            .collect();
        assert_eq!(order, ["first", "third"]);
    }
}

#[test]
fn damage_is_counted_and_kept_for_a_look() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    for payload in [b"first", b"other", b"third"] {
        spool.append(Kind::Job, payload, 1).unwrap();
    }
    drop(spool);
    let path = segments(dir.path()).pop().unwrap();
    let mut content = std::fs::read(&path).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(&path, &content).unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    assert_eq!(spool.stats().damaged_segments, 1);
    assert_eq!(payloads(&mut spool), [(Kind::Job, "first".to_owned())]);
    assert_eq!(std::fs::read(path.with_extension("damaged")).unwrap(), content);
}

#[test]
fn bytes_stay_bounded_and_samples_go_before_jobs() {
    const MAX: u64 = 64 * 1024;
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), MAX).unwrap();
    let payload = [b'x'; 1000];
    let mut refused = 0;
    for _ in 0..200 {
        if spool.append(Kind::Sample, &payload, 5).is_err() {
            refused += 5;
        }
        assert!(on_disk(dir.path()) <= MAX);
    }
    assert!(refused > 0);
    assert_eq!(spool.stats().dropped_samples, refused);
    assert_eq!(spool.stats().waiting_samples, 1000 - refused);

    let mut jobs = 0;
    let full = loop {
        match spool.append(Kind::Job, &payload, 1) {
            Ok(()) => jobs += 1,
            Err(error) => break error,
        }
        assert!(on_disk(dir.path()) <= MAX);
    };
    assert!(matches!(full, SpoolError::Full { max: MAX, .. }), "{full}");
    // Jobs took everything, the samples are gone and counted, and so is the job that found no room.
    let stats = spool.stats();
    assert_eq!(jobs, MAX / (1000 + 12));
    assert_eq!((stats.waiting_jobs, stats.dropped_jobs), (jobs, 1));
    assert_eq!((stats.waiting_samples, stats.dropped_samples), (0, 1000));
    assert_eq!(payloads(&mut spool).len() as u64, jobs);
    spool.append(Kind::Sample, &payload, 5).unwrap();
}

#[test]
fn refused_records_are_put_aside_within_a_bound() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    for _ in 0..100 {
        spool.reject(&[b'x'; 20_000], "too odd").unwrap();
    }
    let text = std::fs::read_to_string(dir.path().join("rejected.jsonl")).unwrap();
    assert!(text.len() as u64 <= REJECTED_BYTES && text.starts_with('{') && text.ends_with("}\n"));
    assert!(text.contains("too odd"));
    assert_eq!(spool.stats().rejected, 100);
}

#[test]
fn longest_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
    spool
        .append(Kind::Job, &vec![b'x'; frame::MAX_PAYLOAD], 1)
        .unwrap();
    let error = spool
        .append(Kind::Job, &vec![b'x'; frame::MAX_PAYLOAD + 1], 1)
        .unwrap_err();
    assert!(matches!(error, SpoolError::TooLarge { .. }), "{error}");
    assert_eq!(spool.stats().dropped_jobs, 1);
}
