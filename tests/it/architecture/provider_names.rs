//! Tests that the properties of a provider are in its own folder: no other file uses a provider or
//! an operation by name.

use super::source::{Path, paths, tokens, without_tests};
use super::{File, files_under};

/// Names that are not a provider's.
const NEUTRAL: [&str; 3] = ["ALL", "OTHER", "UNKNOWN"];

/// Files that may use one, and why.
const ALLOWED: [(&str, &str); 3] = [
    ("run_commands/demo/agent.rs", "the demo's program speaks one API"),
    ("run_commands/demo/stage.rs", "the demo's program speaks one API"),
    ("dialect/interchange/agentloom/write.rs", "AgentLoom replays an empty answer of chat alone"),
];

/// The constant of a provider or operation in a path.
fn named(path: &Path) -> Option<String> {
    let [.., family, name] = path.segments.as_slice() else { return None };
    let is_constant = name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let is_named = matches!(family.as_str(), "Provider" | "Operation") && is_constant;
    (is_named && !NEUTRAL.contains(&name.as_str())).then(|| format!("{family}::{name}"))
}

fn names(file: &File) -> Vec<String> {
    let shipped = without_tests(&tokens(&file.text));
    paths(&shipped).iter().filter_map(named).collect()
}

#[test]
fn no_file_outside_of_provider_names_a_provider_or_an_operation() {
    let files = files_under("src");
    let others = files.iter().filter(|file| !file.path.starts_with("provider/") && !file.is_test());
    let mut found = Vec::new();
    let mut naming = Vec::new();
    for file in others {
        let names = names(file);
        if names.is_empty() {
            continue;
        }
        naming.push(file.path.as_str());
        if ALLOWED.iter().all(|(path, _)| *path != file.path) {
            found.push(format!("{}: names {}; ask its row", file.path, names.join(", ")));
        }
    }
    let unused = ALLOWED.iter().filter(|(path, _)| !naming.contains(path));
    found.extend(unused.map(|(path, _)| format!("{path} names none: take it off the list")));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn planted_name_is_found_and_a_neutral_one_is_not() {
    let file = |text: &str| File { path: "a/b.rs".to_owned(), text: text.to_owned() };
    let found = names(&file("fn f() { let _ = x == provider::Operation::MESSAGES; }"));
    assert_eq!(found, ["Operation::MESSAGES"]);
    let text = "fn f() { let _ = (Operation::OTHER, Provider::UNKNOWN.name()); }\n\
                #[cfg(test)]\nmod tests { fn f() { let _ = Provider::GEMINI; } }";
    assert_eq!(names(&file(text)), [""; 0]);
}
