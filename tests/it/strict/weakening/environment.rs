//! Every variable of loomrec that no flag has.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::{ALL, Stage, UNREACHED};

/// Returns the names of all variables in the source that begin with `LOOMREC_`.
fn variables_of_source() -> BTreeSet<String> {
    let pattern = Regex::new(r#""(LOOMREC_[A-Z_]+)""#).unwrap();
    let mut names = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                names.extend(pattern.captures_iter(&text).map(|found| found[1].to_owned()));
            }
        }
    }
    names
}

#[test]
fn no_other_variable_of_loomrec_weakens_a_strict_replay() {
    let stage = Stage::new();
    let of_flags: BTreeSet<String> = loomrec_arguments::command_line()
        .get_subcommands()
        .flat_map(|command| command.get_arguments())
        .filter_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()))
        .collect();
    let base = ["-r", "run.json", "--receipt", "receipt.json", "--fault", UNREACHED];
    let base = base.map(str::to_owned);
    let others: Vec<String> = variables_of_source().difference(&of_flags).cloned().collect();
    for name in &others {
        for value in ["1", "weak.toml", "http://127.0.0.1:1"] {
            let variable = (name.clone(), value.to_owned());
            let outcome = stage.replay(&base, &[variable], &ALL);
            let weakened = stage.weakened(&outcome);
            assert!(
                weakened.is_empty(),
                "{name}={value}: {weakened:?}\n{}",
                outcome.finished.stderr
            );
        }
    }
    println!("variables that no flag has: {}: {others:?}", others.len());
    assert!(others.len() >= 3, "{others:?}");
}
