//! What the types of a workload file cannot say: names that refer to each other and to the code.

use std::collections::BTreeSet;

use fleethold_bench_model::matrix::MAX_NAME;

use super::{Definition, Floor};

/// How the name of a metric ends that is made of another by `[share]`.
const SHARE: &str = "_share";

/// Checks a workload file; says which field is wrong, what was expected and what was found.
pub(super) fn check(definition: &Definition) -> Result<(), String> {
    // Before anything is measured: names become names of files and of series.
    is_name(&definition.name)
        .map_err(|expected| format!("name: expected {expected}, found {:?}", definition.name))?;
    texts(definition)?;
    knob_and_scenarios(definition)?;
    parameters(definition)?;
    judged(definition)?;
    share(definition)?;
    definition
        .floors
        .iter()
        .try_for_each(|one| floor(definition, one))
}

fn texts(definition: &Definition) -> Result<(), String> {
    let texts = [
        ("title", &definition.title),
        ("before", &definition.before),
        ("after", &definition.after),
        ("knob.name", &definition.knob.name),
    ];
    let scenarios = definition.scenarios.iter();
    let names = scenarios.flat_map(|scenario| {
        [
            ("scenario.name", &scenario.name),
            ("scenario.legend", &scenario.legend),
        ]
    });
    let values = definition.knob.values.iter().map(|value| ("knob.values", value));
    let reasons = definition.floors.iter().map(|floor| ("floor.why", &floor.why));
    for (place, text) in texts.into_iter().chain(names).chain(values).chain(reasons) {
        if text.is_empty() || text.len() > MAX_NAME || text.contains(char::is_control) {
            return Err(format!(
                "{place}: expected 1 to {MAX_NAME} bytes without control characters, found {text:?}"
            ));
        }
    }
    Ok(())
}

/// What stands twice would be one field with the samples of two.
fn once<'a>(texts: impl IntoIterator<Item = &'a String>, place: &str) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match texts.into_iter().find(|text| !seen.insert(*text)) {
        Some(text) => Err(format!("{place}: `{text}` stands there twice")),
        None => Ok(()),
    }
}

fn knob_and_scenarios(definition: &Definition) -> Result<(), String> {
    let quick = &definition.quick;
    once(&definition.knob.values, "knob.values")?;
    once(
        definition.scenarios.iter().map(|scenario| &scenario.name),
        "scenario.name",
    )?;
    once(&quick.values, "quick.values")?;
    once(&quick.scenarios, "quick.scenarios")?;
    if definition.knob.values.is_empty() || definition.scenarios.is_empty() {
        return Err("expected at least one value of the knob and one scenario".to_owned());
    }
    knob(definition, &definition.knob.default, "knob.default")?;
    if quick.values.is_empty() || quick.scenarios.is_empty() {
        return Err("quick: expected at least one value and one scenario".to_owned());
    }
    quick
        .values
        .iter()
        .try_for_each(|value| knob(definition, value, "quick.values"))?;
    quick
        .scenarios
        .iter()
        .try_for_each(|name| scenario(definition, name, "quick.scenarios"))?;
    for one in &definition.scenarios {
        let place = format!("values of scenario {}", one.name);
        once(one.values.iter().flatten(), &place)?;
        one.values
            .iter()
            .flatten()
            .try_for_each(|value| knob(definition, value, &place))?;
    }
    Ok(())
}

/// A parameter that the code does not know would be a scenario that is not what its legend says.
fn parameters(definition: &Definition) -> Result<(), String> {
    let workload = definition.kind.workload();
    let of_scenarios = definition
        .scenarios
        .iter()
        .map(|scenario| (format!("scenario {}", scenario.name), &scenario.parameters));
    let of_quick = std::iter::once(("quick".to_owned(), &definition.quick.parameters));
    for (place, parameters) in of_scenarios.chain(of_quick) {
        let unknown = parameters
            .keys()
            .find(|name| !workload.parameters.contains(&name.as_str()));
        if let Some(name) = unknown {
            return Err(format!(
                "{place}: parameters: expected one of {} of kind {}, found `{name}`",
                workload.parameters.join(", "),
                workload.name
            ));
        }
    }
    Ok(())
}

fn judged(definition: &Definition) -> Result<(), String> {
    if definition.judged.is_empty() {
        return Err("judged: expected at least one metric".to_owned());
    }
    once(&definition.judged, "judged")?;
    definition
        .judged
        .iter()
        .try_for_each(|name| metric(definition, name, "judged"))
}

fn share(definition: &Definition) -> Result<(), String> {
    let Some(share) = &definition.share else {
        return Ok(());
    };
    metric(definition, &share.metric, "share.metric")?;
    metric(definition, &share.of, "share.of")?;
    scenario(definition, &share.limit, "share.limit")?;
    if !share.metric.ends_with(SHARE) {
        return Err(format!(
            "share.metric: expected a metric that no sample measures itself (its name ends in `{SHARE}`), found `{}`",
            share.metric
        ));
    }
    let limit = definition
        .scenarios
        .iter()
        .find(|scenario| scenario.name == share.limit);
    let values = limit.map(|limit| limit.values.as_ref().unwrap_or(&definition.knob.values).len());
    if values != Some(1) {
        return Err(format!(
            "share.limit: expected a scenario with one value of {}, found {} values of `{}`",
            definition.knob.name,
            values.unwrap_or(0),
            share.limit
        ));
    }
    if !definition.quick.scenarios.contains(&share.limit) {
        return Err(format!(
            "quick.scenarios: expected `{}`, of which share.metric is a share",
            share.limit
        ));
    }
    Ok(())
}

fn floor(definition: &Definition, floor: &Floor) -> Result<(), String> {
    let place = format!("floor of {}", floor.metric);
    metric(definition, &floor.metric, &place)?;
    if !floor.value.is_finite() {
        return Err(format!("{place}: expected a finite value, found {}", floor.value));
    }
    floor
        .at
        .iter()
        .try_for_each(|value| knob(definition, value, &place))?;
    floor
        .scenario
        .iter()
        .try_for_each(|name| scenario(definition, name, &place))
}

fn metric(definition: &Definition, name: &str, place: &str) -> Result<(), String> {
    let workload = definition.kind.workload();
    if workload.metrics.contains(&name) {
        Ok(())
    } else {
        Err(format!(
            "{place}: expected a metric of kind {} ({}), found `{name}`",
            workload.name,
            workload.metrics.join(", ")
        ))
    }
}

fn knob(definition: &Definition, value: &String, place: &str) -> Result<(), String> {
    let knob = &definition.knob;
    if knob.values.contains(value) {
        Ok(())
    } else {
        Err(format!(
            "{place}: expected a value of {} ({}), found `{value}`",
            knob.name,
            knob.values.join(", ")
        ))
    }
}

fn scenario(definition: &Definition, name: &str, place: &str) -> Result<(), String> {
    if definition.scenarios.iter().any(|scenario| scenario.name == name) {
        Ok(())
    } else {
        Err(format!("{place}: no scenario is called `{name}`"))
    }
}

/// What a workload may be called, or what is expected.
fn is_name(text: &str) -> Result<(), &'static str> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&text.len()) && text.bytes().all(good) {
        Ok(())
    } else {
        Err("1 to 64 letters, digits, `-` or `_`")
    }
}
