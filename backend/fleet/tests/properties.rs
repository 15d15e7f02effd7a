//! Whatever the configuration holds, a change of one datastore leaves the others as they were.

use std::path::Path;

use fleethold_fleet::Fleet;
use fleethold_format::names::DatastoreName;
use proptest::prelude::*;

fn section() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::vec(("x-[a-z]{1,8}", "[!-~][ -~]{0,20}[!-~]"), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_and_removing_gives_the_file_back(sections in proptest::collection::vec(section(), 0..5)) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("datastore.cfg");
        let mut text = String::new();
        for (number, props) in sections.iter().enumerate() {
            if number > 0 {
                text.push('\n');
            }
            text.push_str(&format!("datastore: store{number}\n\tpath /srv/{number}\n"));
            for (key, value) in props {
                text.push_str(&format!("\t{key} {value}\n"));
            }
        }
        std::fs::write(&file, &text).unwrap();
        let fleet = Fleet::open(directory.path()).unwrap();
        prop_assert_eq!(fleet.current().error.clone(), None);
        let name = DatastoreName::parse("another").unwrap();
        fleet.store_add(&name, Path::new("/srv/another"), Some("a comment")).unwrap();
        prop_assert_eq!(fleet.current().stores.len(), sections.len() + 1);
        fleet.store_remove(&name).unwrap();
        prop_assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn no_text_panics_and_a_broken_one_is_a_problem_with_its_file(text in "(datastore: |path |\t|\n|[ -~]{0,8}){0,20}") {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("datastore.cfg");
        std::fs::write(&file, &text).unwrap();
        let generation = Fleet::open(directory.path()).unwrap().current();
        if let Some(problem) = &generation.error {
            prop_assert_eq!(&problem.file, &file);
            prop_assert_eq!(generation.stores.len(), 0);
        }
    }
}
