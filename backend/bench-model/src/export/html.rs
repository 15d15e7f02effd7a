//! One HTML file: no scripts, nothing loaded from anywhere, every text escaped.

use crate::comparison::{Comparison, JudgedCell, JudgedRow, Summary};
use crate::export::{show, strip};
use crate::histogram::Log2Histogram;
use crate::unit::Unit;

/// Readable on paper and in the dark; meaning is never told by colour alone.
const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #8886; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2), td:last-child, th:last-child { text-align: left; }
td { font-variant-numeric: tabular-nums; }
.faster { color: #176f3c; font-weight: 600; } .slower { color: #b3261e; font-weight: 600; }
@media (prefers-color-scheme: dark) { .faster { color: #6dd58c; } .slower { color: #f2b8b5; } }
.quick, .busy, .machines { border: 2px solid; padding: .5rem 1rem; font-weight: 600; }
svg.strip { width: 11rem; height: 2rem; } svg .b { fill: #8a6d1d; } svg .a { fill: #1d5a8a; }
pre { overflow-x: auto; }
";

/// `plain` without meaning for HTML, in text and in quoted attributes.
pub(super) fn escape(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn export(comparison: &Comparison<'_>) -> String {
    let matrix = comparison.matrix;
    let title = format!(
        "{} by {}: {} against {}",
        matrix.workload, matrix.knob, matrix.before.label, matrix.after.label
    );
    let title = escape(&title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    if matrix.quick {
        out.push_str("<p class=\"quick\">Quick: a short version of the workload.</p>\n");
    }
    if let Some(busy) = matrix.busy() {
        out.push_str(&format!("<p class=\"busy\">{}.</p>\n", escape(&busy)));
    }
    if comparison.across_machines {
        out.push_str(
            "<p class=\"machines\">Across machines: the change is not that of the code alone.</p>\n",
        );
    }
    let parameters = matrix
        .parameters
        .iter()
        .map(|(name, value)| format!("With {name}={value}."));
    out.push_str(&list(show::notes(comparison).into_iter().chain(parameters)));
    for scenario in &matrix.scenarios {
        let rows = comparison
            .rows
            .iter()
            .filter(|judged| judged.row.scenario == scenario.name);
        out.push_str(&format!(
            "<h2>{}</h2>\n<p>{}</p>\n<table>\n<thead><tr><th scope=\"col\">{}</th><th scope=\"col\">metric</th>\
             <th scope=\"col\">before</th><th scope=\"col\">after</th><th scope=\"col\">change</th>\
             <th scope=\"col\">p</th><th scope=\"col\">verdict</th><th scope=\"col\">samples</th></tr></thead>\n<tbody>\n",
            escape(&scenario.name),
            escape(&scenario.legend),
            escape(&matrix.knob)
        ));
        rows.for_each(|judged| table_rows(&mut out, judged));
        out.push_str("</tbody>\n</table>\n");
    }
    out.push_str("<h2>Verdicts</h2>\n");
    out.push_str(&list(show::findings(comparison).into_iter()));
    out.push_str(&list(show::warnings(comparison).into_iter()));
    out.push_str(&format!("<p>data <code>{}</code>", escape(&matrix.data_sha256)));
    if let Some(link) = &matrix.permalink {
        out.push_str(&permalink(link));
    }
    out.push_str("</p>\n</body>\n</html>\n");
    out
}

/// Only a web address becomes a link: anything else could run a script.
fn permalink(link: &str) -> String {
    let shown = escape(link);
    if link.starts_with("https://") || link.starts_with("http://") {
        format!(", <a href=\"{shown}\" rel=\"noreferrer\">{shown}</a>")
    } else {
        format!(", {shown}")
    }
}

fn list(lines: impl Iterator<Item = String>) -> String {
    let items: String = lines
        .map(|line| format!("<li>{}</li>\n", escape(&line)))
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<ul>\n{items}</ul>\n")
    }
}

fn table_rows(out: &mut String, judged: &JudgedRow<'_>) {
    let control = if judged.row.control { " (control)" } else { "" };
    for cell in &judged.cells {
        let word = cell.verdict.map_or("", |verdict| verdict.word());
        out.push_str(&format!(
            "<tr><td>{}{control}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"{word}\">{word}</td><td>{}</td></tr>\n",
            escape(&judged.row.value),
            escape(&cell.metric.name),
            side(cell.before, cell.metric.unit),
            side(cell.after, cell.metric.unit),
            escape(&show::change(cell)),
            p_value(cell),
            strip::svg(cell),
        ));
    }
    if let Some(sizes) = &judged.row.write_sizes {
        for (name, histogram) in [("before", &sizes.before), ("after", &sizes.after)] {
            write_sizes(out, name, histogram);
        }
    }
}

fn write_sizes(out: &mut String, name: &str, histogram: &Log2Histogram) {
    let lines = histogram.lines(72).join("\n");
    if !lines.is_empty() {
        out.push_str(&format!(
            "<tr><td colspan=\"8\"><details><summary>Write sizes, {name}</summary><pre>{}</pre></details></td></tr>\n",
            escape(&lines)
        ));
    }
}

fn side(summary: Option<Summary>, unit: Unit) -> String {
    summary.map_or_else(|| "-".to_owned(), |summary| escape(&unit.human(summary.median)))
}

fn p_value(cell: &JudgedCell<'_>) -> String {
    cell.adjusted_p.map_or_else(String::new, |p| format!("{p:.4}"))
}
