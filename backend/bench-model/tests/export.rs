//! What every export promises: mail fits, nothing is lost on the way back, HTML holds no markup of strangers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/sweep.rs"]
mod sweep;

use drawn::matrices;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, MAIL_COLUMNS, export};
use fleethold_bench_model::import::{Content, Format, import};
use fleethold_bench_model::matrix::Matrix;
use proptest::prelude::*;
use sweep::restore;

fn text(matrix: &Matrix, format: ExportFormat) -> String {
    export(&Comparison::judge(matrix).unwrap(), format)
}

fn back(text: &str, format: Option<Format>) -> Matrix {
    match import("own", text.as_bytes(), format).unwrap().content {
        Content::Matrix(matrix) => *matrix,
        other => panic!("no matrix: {other:?}"),
    }
}

fn mail_fits(mail: &str) {
    for line in mail.lines() {
        assert!(line.len() <= MAIL_COLUMNS, "{} columns: {line}", line.len());
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
        assert!(!line.ends_with(' '), "{line:?}");
    }
    assert!(mail.ends_with('\n'));
}

#[test]
fn the_mail_of_a_restore_sweep() {
    let mail = text(&restore(), ExportFormat::Mail);
    mail_fits(&mail);
    let expected = include_str!("data/restore.mail.txt");
    assert_eq!(mail, expected, "the mail table changed:\n{mail}");
}

#[test]
fn three_against_three_never_earns_a_star() {
    let mut matrix = restore();
    for cell in matrix.rows.iter_mut().flat_map(|row| &mut row.cells) {
        let first: Vec<_> = cell.samples.iter().take(6).collect();
        cell.samples = Default::default();
        for (side, value) in first {
            cell.samples.push(side, value).unwrap();
        }
    }
    matrix.rules.holm = false;
    matrix.rules.min_effect_ratio = 0.0;
    let mail = text(&matrix, ExportFormat::Mail);
    let tables = mail.split("\nfast, by").nth(1).unwrap();
    assert!(!tables.contains('*'), "{mail}");
    assert!(
        !mail.to_lowercase().contains("faster in") && !mail.to_lowercase().contains("slower in"),
        "{mail}"
    );
}

#[test]
fn a_quick_run_says_so_everywhere_it_is_read() {
    let mut matrix = restore();
    matrix.quick = true;
    for format in [ExportFormat::Mail, ExportFormat::Markdown, ExportFormat::Html] {
        assert!(text(&matrix, format).to_lowercase().contains("quick"), "{format}");
    }
    assert!(text(&matrix, ExportFormat::Json).contains("\"quick\": true"));
}

/// `matrix` as measured on a busy machine.
fn busy(mut matrix: Matrix) -> Matrix {
    let facts = [("quiet", "no"), ("load_of_others", "37.5 %"), ("steal", "4.0 %")];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    matrix.parameters.extend(facts);
    matrix
}

#[test]
fn a_busy_machine_earns_no_star_for_its_times_and_keeps_those_of_cpu() {
    let matrix = busy(restore());
    let comparison = Comparison::judge(&matrix).unwrap();
    let quiet = restore();
    let quiet = Comparison::judge(&quiet).unwrap();
    assert!(comparison.judged_cells > 0 && comparison.judged_cells < quiet.judged_cells);
    let mut stars = 0;
    for (_, cell) in comparison.cells() {
        let wall = cell.metric.unit.is_wall_time();
        assert!(
            !(wall && (cell.verdict.is_some() || cell.adjusted_p.is_some())),
            "{cell:?}"
        );
        assert_eq!(cell.verdict.is_some(), cell.metric.judged && !wall, "{cell:?}");
        stars += usize::from(cell.verdict.is_some_and(|verdict| verdict.is_significant()));
    }
    assert!(stars > 0, "the CPU's gain is still told");

    let mail = text(&matrix, ExportFormat::Mail);
    mail_fits(&mail);
    let rows = |mail: &str| -> Vec<String> {
        let rows = mail
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit() || c == 'c'));
        rows.map(str::to_owned).collect()
    };
    // The first pair of numbers of each row is the time: 7 columns of value, then two numbers and the mark.
    let time_marks: String = rows(&mail).iter().filter_map(|row| row.chars().nth(19)).collect();
    assert!(!time_marks.contains('*') && !time_marks.contains('~'), "{mail}");
    assert!(rows(&mail).iter().any(|row| row.contains('*')), "{mail}");
    let before = text(&restore(), ExportFormat::Mail);
    let time_marks: String = rows(&before)
        .iter()
        .filter_map(|row| row.chars().nth(19))
        .collect();
    assert!(time_marks.contains('*'), "{before}");
}

#[test]
fn every_export_says_that_the_machine_was_busy() {
    let sentence = "CPU time only: the machine was busy (others 37.5 %, steal 4.0 %)";
    let matrix = busy(restore());
    for format in ExportFormat::ALL {
        let said = text(&matrix, format);
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(sentence), "{format}: {said}");
        assert!(!text(&restore(), format).contains("CPU time only"), "{format}");
    }
    for format in [ExportFormat::Json, ExportFormat::Csv, ExportFormat::GoBench] {
        assert_eq!(back(&text(&matrix, format), None), matrix, "{format}");
    }
}

#[test]
fn a_missing_control_is_told() {
    let mut matrix = restore();
    assert!(!text(&matrix, ExportFormat::Mail).contains("No control row"));
    matrix
        .rows
        .retain(|row| !(row.control && row.scenario == "spinner"));
    assert!(text(&matrix, ExportFormat::Mail).contains("No control row in spinner:"));
}

#[test]
fn other_machines_are_refused_or_marked() {
    let mut matrix = restore();
    matrix.after.machine_class = "64-core".to_owned();
    let error = Comparison::judge(&matrix).unwrap_err();
    assert!(
        error.to_string().contains("`2-core-vm` with `64-core`"),
        "{error}"
    );
    matrix.rules.across_machines = true;
    for format in [ExportFormat::Mail, ExportFormat::Markdown, ExportFormat::Html] {
        assert!(
            text(&matrix, format).to_lowercase().contains("across machines"),
            "{format}"
        );
    }
}

#[test]
fn html_escapes_every_stranger() {
    let evil = "<script>alert('x')</script>\"&";
    let mut matrix = restore();
    matrix.workload = evil.to_owned();
    matrix.knob = evil.to_owned();
    matrix.before.label = evil.to_owned();
    matrix.before.environment.insert(evil.to_owned(), evil.to_owned());
    matrix.scenarios[0].legend = evil.to_owned();
    matrix.rows[1].value = evil.to_owned();
    matrix.permalink = Some("javascript:alert(1)".to_owned());
    let html = text(&matrix, ExportFormat::Html);
    assert!(!html.contains("<script") && !html.contains("alert('x')"));
    assert!(!html.contains("href="), "only web addresses are links");
    for outside in ["src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let markdown = text(&matrix, ExportFormat::Markdown);
    assert!(!markdown.contains("<script"));
}

#[test]
fn truncated_and_changed_files_are_refused() {
    let matrix = restore();
    for format in [ExportFormat::Json, ExportFormat::Csv, ExportFormat::GoBench] {
        let whole = text(&matrix, format);
        let lines: Vec<&str> = whole.lines().collect();
        let cut = lines[..lines.len() - 2].join("\n");
        let error = import("run.txt", cut.as_bytes(), None).unwrap_err();
        assert!(error.to_string().starts_with("import run.txt, "), "{error}");
        let negative = whole.replace(",10.02", ",-10.02").replace(" 10.02", " -10.02");
        assert_ne!(negative, whole);
        let error = import("run.txt", negative.as_bytes(), None).unwrap_err();
        assert!(
            error.to_string().contains("at least 0") || error.to_string().contains("sense"),
            "{error}"
        );
    }
    let csv = text(&matrix, ExportFormat::Csv);
    let unit = csv.replacen(",time,s,", ",time,ms,", 1);
    assert!(
        import("run.csv", unit.as_bytes(), None)
            .unwrap_err()
            .to_string()
            .contains("line 4")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mail_fits_whatever_the_matrix(matrix in matrices()) {
        mail_fits(&text(&matrix, ExportFormat::Mail));
    }

    #[test]
    fn import_of_an_export_is_the_same_matrix(matrix in matrices()) {
        for (to, from) in [
            (ExportFormat::Json, Format::OwnJson),
            (ExportFormat::Csv, Format::OwnCsv),
            (ExportFormat::GoBench, Format::GoBench),
        ] {
            let text = text(&matrix, to);
            prop_assert_eq!(&back(&text, Some(from)), &matrix, "{}", text);
            prop_assert_eq!(&back(&text, None), &matrix);
        }
        prop_assert_eq!(back(&text(&matrix, ExportFormat::Json), None).digest(), matrix.digest());
    }

    #[test]
    fn markdown_and_html_print_anything(matrix in matrices()) {
        let html = text(&matrix, ExportFormat::Html);
        prop_assert_eq!(html.matches("<html").count(), 1);
        let markdown = text(&matrix, ExportFormat::Markdown);
        let columns = markdown.lines().filter(|line| line.starts_with('|'));
        for line in columns {
            prop_assert_eq!(line.replace("\\\\", "").replace("\\|", "").matches('|').count(), 8, "{}", line);
        }
    }
}
