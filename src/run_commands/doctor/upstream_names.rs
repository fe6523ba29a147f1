//! The check of the upstream names in the settings: `record` and `replay` refuse a misspelled one.

use std::collections::{BTreeMap, BTreeSet};

use super::environment::nonempty_value;
use super::finding::DoctorFinding;
use loomrec_cli::serve_setup::misspelled_name;
use loomrec_cli::settings::Settings;

/// Reports misspelled names of upstreams in the settings file and in the environment.
pub(super) fn report_misspellings(
    settings: &Settings,
    current: &BTreeMap<String, String>,
    findings: &mut Vec<DoctorFinding>,
) {
    // Both commands have the upstreams at the top of the file.
    let mut found = BTreeSet::new();
    for command in ["record", "replay"] {
        let entries = settings.find_setting(command, "upstream").into_iter();
        let in_file =
            entries.flat_map(|entry| entry.values.iter().zip(settings.value_places(entry)));
        for (address, place) in in_file {
            if let Some((name, meant)) = misspelled_name(address) {
                found.insert((place, name.to_owned(), meant));
            }
        }
    }
    let variable = "LOOMREC_UPSTREAM";
    for address in nonempty_value(current, variable).into_iter().flat_map(str::split_whitespace) {
        if let Some((name, meant)) = misspelled_name(address) {
            found.insert((variable.to_owned(), name.to_owned(), meant));
        }
    }
    for (place, name, meant) in found {
        let text = format!("there is no known upstream {name}, and record and replay refuse it");
        let remedy = format!(
            "did you mean {meant}? If {name} is an upstream of its own, give it another name"
        );
        findings.push(DoctorFinding::wrong(place, text, remedy));
    }
}
