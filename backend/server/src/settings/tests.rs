use super::*;

fn around(variables: &'static [(&'static str, &'static str)]) -> Surroundings {
    Surroundings {
        variable: Box::new(move |name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        }),
        is_root: false,
        cores: 3,
    }
}

fn in_dir(dir: &Path) -> CommonFlags {
    CommonFlags {
        state_dir: Some(dir.to_owned()),
        ..CommonFlags::default()
    }
}

fn write_file(dir: &Path, text: &str) {
    std::fs::create_dir_all(dir.join("etc")).unwrap();
    std::fs::write(dir.join("etc").join(FILE_NAME), text).unwrap();
}

#[test]
fn defaults_of_a_user_and_of_root() {
    let user = Settings::load(
        &CommonFlags::default(),
        &ServerFlags::default(),
        &around(&[("HOME", "/nonexistent/ann"), ("XDG_RUNTIME_DIR", "/run/user/7")]),
    )
    .unwrap();
    assert_eq!(
        user.state_dir,
        Path::new("/nonexistent/ann/.local/state/fleethold")
    );
    assert_eq!(
        user.config_dir,
        Path::new("/nonexistent/ann/.local/state/fleethold/etc")
    );
    assert_eq!(user.run_dir, Path::new("/run/user/7/fleethold"));
    assert_eq!(user.listen.to_string(), "127.0.0.1:8007");
    assert_eq!(user.memory_bytes, 512 << 20);
    assert_eq!(user.cpu_threads, 3);
    assert_eq!(user.default_parallel, 16);
    assert_eq!(user.restore_roots, [user.state_dir.join("restore")]);
    assert!(
        user.rows()
            .iter()
            .all(|(_, _, origin)| *origin == Origin::Default)
    );

    let root = Surroundings {
        is_root: true,
        ..around(&[])
    };
    assert_eq!(default_state_dir(&root), Path::new("/var/lib/fleethold"));
    assert_eq!(
        default_run_dir(&root, Path::new("/s")),
        Path::new("/run/fleethold")
    );
    assert_eq!(
        default_run_dir(&around(&[]), Path::new("/s")),
        Path::new("/s/run")
    );
    assert_eq!(
        default_state_dir(&around(&[("HOME", "relative")])),
        Path::new("/var/lib/fleethold")
    );
}

#[test]
fn flag_beats_variable_beats_file_beats_default() {
    let dir = tempfile::tempdir().unwrap();
    write_file(
        dir.path(),
        "listen = \"127.0.0.1:1\"\nmemory = \"128MiB\"\nparallel = 2\ncpu_threads = 9\nlog = \"debug\"\n",
    );
    let variables = around(&[
        ("FLEETHOLD_LISTEN", "127.0.0.1:2"),
        ("FLEETHOLD_MEMORY", "256MiB"),
        ("FLEETHOLD_PARALLEL", ""),
    ]);
    let flags = ServerFlags {
        listen: Some("127.0.0.1:3".into()),
        ..ServerFlags::default()
    };
    let settings = Settings::load(&in_dir(dir.path()), &flags, &variables).unwrap();
    assert_eq!(
        (settings.listen.port(), settings.origin("listen")),
        (3, Origin::Flag("--listen"))
    );
    assert_eq!(
        (settings.memory_bytes, settings.origin("memory_bytes")),
        (256 << 20, Origin::Variable("FLEETHOLD_MEMORY"))
    );
    let file = Origin::File(dir.path().join("etc/fleethold.toml"));
    assert_eq!(
        (settings.default_parallel, settings.origin("default_parallel")),
        (2, file.clone())
    );
    assert_eq!(
        (settings.cpu_threads, settings.origin("cpu_threads")),
        (9, file.clone())
    );
    assert_eq!(
        (settings.log_filter.as_str(), settings.origin("log_filter")),
        ("debug", file)
    );
    assert_eq!(settings.origin("state_dir"), Origin::Flag("--state-dir"));
    assert_eq!(settings.origin("tls_cert"), Origin::Default);
}

#[test]
fn paths_in_the_file_are_beside_the_file() {
    let dir = tempfile::tempdir().unwrap();
    write_file(
        dir.path(),
        "restore_roots = [\"out\", \"/srv/restore\"]\nmemory = 67108864\n",
    );
    let settings = Settings::load(&in_dir(dir.path()), &ServerFlags::default(), &around(&[])).unwrap();
    assert_eq!(
        settings.restore_roots,
        [dir.path().join("etc/out"), "/srv/restore".into()]
    );
    assert_eq!(settings.memory_bytes, MIN_MEMORY_BYTES);
}

#[test]
fn the_database_url_and_its_password() {
    let dir = tempfile::tempdir().unwrap();
    let url = "postgres://ann:s3cret@db:5432/fleet?sslmode=require&password=s3cret";
    let variables = around(&[(
        "DATABASE_URL",
        "postgres://ann:s3cret@db:5432/fleet?sslmode=require&password=s3cret",
    )]);
    let settings = Settings::load(&in_dir(dir.path()), &ServerFlags::default(), &variables).unwrap();
    assert_eq!(settings.database_url.as_deref(), Some(url));
    assert_eq!(settings.origin("database_url"), Origin::Variable("DATABASE_URL"));
    let shown = format!("{settings:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(
        shown.contains("postgres://ann:***@db:5432/fleet?sslmode=require&password=***"),
        "{shown}"
    );

    let flags = ServerFlags {
        database_url: Some("mysql://a:s3cret@b".into()),
        ..ServerFlags::default()
    };
    let error = Settings::load(&in_dir(dir.path()), &flags, &around(&[]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--database-url") && error.contains("mysql") && !error.contains("s3cret"),
        "{error}"
    );
}

#[test]
fn bad_values_name_the_setting_its_origin_and_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let load = |variables| Settings::load(&in_dir(dir.path()), &ServerFlags::default(), &around(variables));
    for (variables, expected) in [
        (
            &[("FLEETHOLD_LISTEN", "everywhere")][..],
            "listen from variable FLEETHOLD_LISTEN: expected an address",
        ),
        (
            &[("FLEETHOLD_MEMORY", "1MiB")][..],
            "memory_bytes from variable FLEETHOLD_MEMORY: expected at least 64MiB",
        ),
        (
            &[("FLEETHOLD_PARALLEL", "0")][..],
            "expected a whole number from 1 to 1024, found 0",
        ),
        (
            &[("FLEETHOLD_PARALLEL", "many")][..],
            "expected a whole number from 1 to 1024, found \"many\"",
        ),
        (
            &[("FLEETHOLD_LOG_FORMAT", "xml")][..],
            "expected human or json, found \"xml\"",
        ),
        (
            &[("FLEETHOLD_TLS_CERT", "/x.pem")][..],
            "a certificate and its key come together, found only /x.pem",
        ),
    ] {
        let error = load(variables).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for (text, expected) in [
        ("listen = 5", "fleethold.toml: line 1: invalid type"),
        (
            "log = \"info\"\nlisten_on = 5\n",
            "fleethold.toml: line 2: unknown field `listen_on`",
        ),
        ("= 1", "fleethold.toml: line 1: "),
        ("restore_roots = []", "expected at least one directory"),
        ("memory = -1", "expected a size"),
    ] {
        write_file(dir.path(), text);
        let error = load(&[]).unwrap_err().to_string();
        assert!(
            error.contains(expected) || error.contains("a size such as"),
            "{text}: {error}"
        );
    }
}
