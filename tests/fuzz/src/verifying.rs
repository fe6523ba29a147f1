//! The checks of `verify` and the loading of `replay`, without a command line.

use std::path::Path;
use std::sync::LazyLock;

use loomrec_curation::verification::{EntryChecker, EntryPlace, Problem, Severity, check_entry};
use loomrec_engine::replay::{Matcher, ReplaySource, ReplayTerms};
use loomrec_store::{InspectedFile, Recording};

static CHECKER: LazyLock<EntryChecker> =
    LazyLock::new(|| EntryChecker::new(None).expect("the checker's own patterns"));

/// Whether `replay` loads a recording.
pub fn can_be_replayed(path: &Path) -> bool {
    let Ok(recording) = Recording::open_to_inspect(path) else { return false };
    let sources = vec![ReplaySource { label: "recording".to_owned(), recording }];
    Matcher::new(sources, ReplayTerms::default()).is_ok()
}

/// Whether a file is free of errors.
pub fn is_sound(path: &Path) -> bool {
    let Ok(file) = InspectedFile::open(path) else { return false };
    let Ok(layout) = file.read_layout() else { return false };
    let checker = CHECKER.with_rules(layout.rules.clone());
    let sound = |problems: &[Problem]| {
        problems.iter().all(|problem| {
            assert!(!problem.text.is_empty(), "a problem says what is wrong");
            problem.severity != Severity::Error
        })
    };
    let is_sound = |unit: &EntryPlace| {
        let text = file.read_range(&unit.range).expect("a place in the file");
        sound(&check_entry(unit, &text, &checker).problems)
    };
    // Every entry is checked, even if another one has an error.
    let units = layout.units.entries_in(0..layout.units.len());
    let entries: Vec<bool> = units.iter().map(is_sound).collect();
    sound(&layout.problems) && entries.into_iter().all(|sound| sound)
}
