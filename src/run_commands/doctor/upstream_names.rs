//! The check of the upstream names in the settings: `record` and `replay` refuse a misspelled one.

use std::collections::{BTreeMap, BTreeSet};

use super::environment::set;
use super::finding::DoctorFinding;
use loomrec_cli::serve_setup::misspelled_name;
use loomrec_cli::settings::Settings;

/// Reports misspelled names of upstreams in the settings file and in the environment.
pub(super) fn names(
    settings: &Settings,
    current: &BTreeMap<String, String>,
    findings: &mut Vec<DoctorFinding>,
) {
    let variable = |name: &str| -> Vec<String> {
        let words = set(current, name).into_iter().flat_map(str::split_whitespace);
        words.map(str::to_owned).collect()
    };
    let declared_outside = variable("LOOMREC_NEW_UPSTREAM");
    // Both commands have the upstreams at the top of the file.
    let mut found = BTreeSet::new();
    for command in ["record", "replay"] {
        let in_file = settings.of(command, "new-upstream").into_iter();
        let in_file = in_file.flat_map(|entry| entry.values.iter().cloned());
        let declared: Vec<String> = in_file.chain(declared_outside.iter().cloned()).collect();
        let entries = settings.of(command, "upstream").into_iter();
        let in_file = entries.flat_map(|entry| entry.values.iter().zip(settings.places(entry)));
        for (address, place) in in_file {
            if let Some((name, meant)) = misspelled_name(address, &declared) {
                let remedy = format!("new-upstream = [\"{name}\"]");
                found.insert((place, name.to_owned(), meant, remedy));
            }
        }
    }
    for address in variable("LOOMREC_UPSTREAM") {
        if let Some((name, meant)) = misspelled_name(&address, &declared_outside) {
            let remedy = format!("LOOMREC_NEW_UPSTREAM={name}");
            found.insert(("LOOMREC_UPSTREAM".to_owned(), name.to_owned(), meant, remedy));
        }
    }
    for (place, name, meant, declaration) in found {
        let text = format!("there is no known upstream {name}, and record and replay refuse it");
        let remedy = format!(
            "did you mean {meant}? If {name} is an upstream of its own, declare it: {declaration}"
        );
        findings.push(DoctorFinding::wrong(place, text, remedy));
    }
}
