//! Holds the house together: which module may import which, no cycles, no file
//! too long, a pure ground floor, no lint switched off without a reason.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FsPath, PathBuf};

use source::{Path, has_bare_allow, paths, tokens, without_tests};

const LONGEST_FILE: usize = 400;

const FLOORS: &[(&str, u8)] = &[
    ("main", 6),
    ("cli", 6),
    ("server", 5),
    ("inspector", 4),
    ("telemetry", 3),
    ("replay", 2),
    ("record", 2),
    ("store", 1),
    ("upstream", 1),
    ("tls", 1),
    ("identity", 0),
    ("inspection", 0),
    ("interchange", 0),
    ("recording", 0),
    ("comparison", 0),
    ("review", 0),
    ("fault", 0),
    ("merge", 0),
    ("provider", 0),
    ("recovery", 0),
    ("verification", 0),
    ("spelling", 0),
    ("printable", 0),
];

/// What a ground-floor module may read of its neighbours.
const NEIGHBOURS: &[(&str, &[&str])] = &[
    ("provider", &["identity"]),
    ("fault", &["identity", "provider", "spelling"]),
    ("recording", &["identity", "provider", "fault"]),
    ("comparison", &["identity", "provider", "recording", "spelling"]),
    ("inspection", &["identity", "provider", "recording"]),
    ("merge", &["recording"]),
    ("recovery", &["spelling"]),
    ("interchange", &["identity", "provider", "recording", "spelling"]),
    ("review", &["identity", "recording"]),
    ("verification", &["identity", "provider", "fault", "recording", "spelling"]),
];

/// What the ground floor must do without: files, sockets, environment, clocks, chance.
const EFFECTS: &[&str] = &[
    "tokio",
    "hyper",
    "hyper_util",
    "reqwest",
    "socket2",
    "fs2",
    "tempfile",
    "rand",
    "getrandom",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::time::SystemTime",
    "std::time::Instant",
    "SystemTime",
    "Instant",
    "OffsetDateTime::now_utc",
    "time::OffsetDateTime::now_utc",
];

/// A source file: its path under `src`, and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    /// The module that the file is: `identity/mod.rs` is `identity`, `lib.rs` the root.
    fn module(&self) -> Vec<String> {
        let stem = self.path.trim_end_matches(".rs");
        let mut parts: Vec<String> = stem.split('/').map(str::to_owned).collect();
        let root = parts.len() == 1 && parts[0] == "lib";
        // `#[path = "body_tests.rs"] mod tests;` in body.rs is the module body::tests.
        if let Some(of) = parts.last().and_then(|last| last.strip_suffix("_tests")) {
            let of = of.to_owned();
            parts.pop();
            parts.extend([of, "tests".to_owned()]);
        }
        if root || parts.last().is_some_and(|last| last == "mod") {
            parts.pop();
        }
        parts
    }

    fn is_front(&self) -> bool {
        self.path == "lib.rs" || self.path.ends_with("/mod.rs")
    }

    fn is_test(&self) -> bool {
        let name = self.path.trim_end_matches(".rs");
        name.ends_with("/tests") || name.ends_with("_tests") || name.contains("/tests/")
    }
}

fn floor(module: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == module).map(|(_, floor)| *floor)
}

fn may_import(from: &str, to: &str) -> bool {
    let neighbours = NEIGHBOURS.iter().find(|(name, _)| *name == from);
    let (Some(above), Some(below)) = (floor(from), floor(to)) else { return false };
    from == to
        || from == "main"
        || below < above
        || neighbours.is_some_and(|(_, allowed)| allowed.contains(&to))
}

/// The path counted from the crate's root; `None` for another crate's or a local one.
fn absolute(file: &File, path: &Path) -> Option<Vec<String>> {
    let mut here = file.module();
    if file.path == "main.rs" {
        here.clear();
    }
    here.extend(path.inside.iter().cloned());
    let mut rest = path.segments.as_slice();
    let first = rest.first()?.as_str();
    match first {
        "crate" => here.clear(),
        "loomrec" if file.path == "main.rs" => here.clear(),
        "self" | "super" => {}
        _ => return None,
    }
    if first != "super" {
        rest = &rest[1..];
    }
    while rest.first().is_some_and(|word| word == "super") {
        here.pop();
        rest = &rest[1..];
    }
    here.extend(rest.iter().cloned());
    Some(here)
}

/// Every broken rule, one line each, in a stable order.
fn violations(files: &[File]) -> Vec<String> {
    let modules: BTreeSet<Vec<String>> = files.iter().map(File::module).collect();
    let mut out = BTreeSet::new();
    let mut edges: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for file in files {
        let all = tokens(&file.text);
        if has_bare_allow(&all) {
            out.insert(format!("{}: switches a lint off with allow; use expect", file.path));
        }
        out.extend(too_long(&file.path, &file.text));
        let top = file.module().first().cloned().unwrap_or_default();
        if top.is_empty() {
            continue;
        }
        if floor(&top).is_none() {
            out.insert(format!("{}: module {top} stands on no floor", file.path));
            continue;
        }
        for path in paths(&all) {
            let Some(target) = absolute(file, &path) else { continue };
            out.extend(upward(file, &top, &path, &target));
        }
        let shipped = if file.is_test() { Vec::new() } else { without_tests(&all) };
        for target in paths(&shipped).iter().filter_map(|path| absolute(file, path)) {
            let known = (1..=target.len()).rev().find(|n| modules.contains(&target[..*n]));
            let Some(known) = known.map(|n| target[..n].to_vec()) else { continue };
            edges.entry(file.module()).or_default().insert(known);
        }
        if floor(&top) == Some(0) && !file.is_test() {
            out.extend(effects(file));
        }
    }
    out.extend(cycles(files, &edges));
    out.into_iter().collect()
}

fn too_long(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST_FILE).then(|| format!("{path}: {lines} lines, over {LONGEST_FILE}"))
}

fn upward(file: &File, top: &str, path: &Path, target: &[String]) -> Option<String> {
    let Some(to) = target.first() else {
        // `pub(crate)` and a lone `self` are no imports; `use crate as x` is one.
        let escapes = path.imported || path.segments.len() > 1;
        return escapes.then(|| format!("{}: imports the crate's root", file.path));
    };
    let written = path.segments.join("::");
    if to == "*" || (floor(to).is_none() && top != to) {
        return Some(format!("{}: {written} reaches the crate's root", file.path));
    }
    (!may_import(top, to)).then(|| format!("{}: {top} may not import {to} ({written})", file.path))
}

fn effects(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    for path in paths(&without_tests(&tokens(&file.text))) {
        let written = path.segments.join("::");
        let banned = EFFECTS.iter().find(|effect| {
            written == **effect
                && (effect.contains("::")
                    || path.imported
                    || effect.starts_with(char::is_uppercase))
                || written.starts_with(&format!("{effect}::"))
        });
        if banned.is_some() {
            out.push(format!("{}: {written} on the pure floor", file.path));
        }
    }
    out
}

/// Cycles among the top modules, and among the files of a folder. A folder's
/// `mod.rs` is its front: it names its files and they may read its types.
fn cycles(files: &[File], edges: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<String> {
    let fronts: BTreeSet<_> = files.iter().filter(|f| f.is_front()).map(File::module).collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, targets) in edges {
        for to in targets {
            if from[0] != to[0] {
                graph.entry(from[0].clone()).or_default().insert(to[0].clone());
            } else if from != to && !fronts.contains(from) && !fronts.contains(to) {
                graph.entry(from.join("::")).or_default().insert(to.join("::"));
            }
        }
    }
    let looped = graph.keys().filter_map(|node| way_back(&graph, node));
    looped.map(|way| format!("import cycle: {}", way.join(" -> "))).collect()
}

/// The shortest way along the graph from `start` back to itself.
fn way_back(graph: &BTreeMap<String, BTreeSet<String>>, start: &str) -> Option<Vec<String>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = std::collections::VecDeque::from([vec![start]]);
    while let Some(way) = open.pop_front() {
        for next in graph.get(*way.last()?).into_iter().flatten() {
            let longer = [&way[..], &[next.as_str()]].concat();
            if next == start {
                return Some(longer.into_iter().map(str::to_owned).collect());
            }
            if seen.insert(next) {
                open.push_back(longer);
            }
        }
    }
    None
}

fn rust_files(root: &FsPath, folder: &FsPath, out: &mut Vec<File>) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    for path in found {
        if path.is_dir() {
            rust_files(root, &path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            out.push(File { path: name, text });
        }
    }
}

fn files_under(folder: &str) -> Vec<File> {
    let root = FsPath::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    rust_files(&root, &root, &mut files);
    files
}

#[test]
fn the_source_keeps_every_rule_of_the_house() {
    let files = files_under("src");
    assert!(files.len() > 5, "found only {} source files", files.len());
    let found = violations(&files);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_test_file_is_too_long() {
    let files = files_under("tests");
    let found: Vec<_> = files.iter().filter_map(|f| too_long(&f.path, &f.text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

mod checker;
