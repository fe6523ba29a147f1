//! Tests of the architecture: which module may import which, no cycles, no file that is too long,
//! no effects in pure code, no lint switched off without a reason.

mod cycle_checker;
mod import_cycles;
mod module_tree;
mod platform;
mod provider_names;
mod source;

use std::collections::BTreeSet;
use std::path::{Path as FsPath, PathBuf};

use import_cycles::ImportGraph;
use module_tree::{File, ModuleTree};
use source::{Path, has_bare_allow, paths, tokens, without_tests};

const LONGEST_FILE: usize = 400;

/// The layers of a crate: a module imports only from lower layers or from its own folder.
const FLOORS: &[(&str, &str, u8)] = &[
    ("loomrec", "main", 1),
    ("loomrec_proxy", "server", 3),
    ("loomrec_proxy", "inspector", 2),
    ("loomrec_proxy", "guard", 1),
    ("loomrec_engine", "replay", 2),
    ("loomrec_engine", "record", 2),
    ("loomrec_engine", "upstream", 1),
    ("loomrec_engine", "websocket", 0),
    ("loomrec_engine", "blocking", 1),
    ("loomrec_engine", "strictness", 1),
];

/// Crates whose other modules share one layer above those.
const SHARED_FLOORS: &[(&str, u8)] = &[("loomrec_engine", 3)];

/// The modules of the member `curation` that do not import each other and that its other modules
/// do not import.
const READERS: &[&str] = &["comparison", "inspection", "merge", "noise", "review", "verification"];

/// The members with pure code.
const PURE_MEMBERS: &[&str] =
    &["identity", "provider", "fault", "recording", "dialect", "curation"];

/// Packages that a member must not depend on; `dev-dependencies` may have them.
const FORBIDDEN_PACKAGES: &[(&str, &[&str])] = &[
    ("identity", PURE_FORBIDS),
    ("provider", PURE_FORBIDS),
    ("fault", PURE_FORBIDS),
    ("recording", PURE_FORBIDS),
    ("curation", PURE_FORBIDS),
    ("dialect", PURE_FORBIDS),
    ("script", PURE_FORBIDS),
    ("store", &["tokio", "hyper", "hyper-util", "reqwest", "rustls", "socket2", "rustix"]),
    ("engine", &["clap", "indicatif", "reqwest", "opentelemetry", "prometheus-client", "rustix"]),
    (
        "telemetry",
        &["clap", "indicatif", "hyper", "hyper-util", "hyper-rustls", "rustls", "rustix"],
    ),
    (
        "proxy",
        &[
            "clap",
            "indicatif",
            "hyper-rustls",
            "rustix",
            "reqwest",
            "opentelemetry",
            "prometheus-client",
        ],
    ),
    (
        "arguments",
        &["tokio", "hyper", "reqwest", "rustls", "socket2", "fs2", "rustix", "indicatif"],
    ),
    ("remote", &["clap", "indicatif", "hyper", "hyper-util", "rustls", "socket2", "rustix"]),
    (
        "cli",
        &[
            "hyper",
            "hyper-rustls",
            "reqwest",
            "rustix",
            "socket2",
            "fs2",
            "opentelemetry",
            "prometheus-client",
        ],
    ),
    (
        "file_commands",
        &[
            "loomrec-run-commands",
            "loomrec-proxy",
            "loomrec-remote",
            "hyper",
            "hyper-util",
            "reqwest",
            "rustls",
            "rustix",
            "socket2",
            "fs2",
            "opentelemetry",
            "prometheus-client",
        ],
    ),
    (
        "run_commands",
        &[
            "loomrec-file-commands",
            "loomrec-curation",
            "hyper-rustls",
            "rustix",
            "socket2",
            "fs2",
            "opentelemetry",
            "prometheus-client",
        ],
    ),
    ("os", &["hyper", "hyper-util", "reqwest", "rustls", "socket2", "fs2", "tempfile"]),
];

const PURE_FORBIDS: &[&str] = &[
    "tokio",
    "hyper",
    "hyper-util",
    "reqwest",
    "rustls",
    "socket2",
    "fs2",
    "tempfile",
    "rustix",
    "loomrec-os",
    "rand",
    "getrandom",
];

/// What pure code must not use: files, sockets, environment, clocks, chance.
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

fn floor(crate_name: &str, module: &str) -> Option<u8> {
    let listed = FLOORS.iter().find(|(owner, name, _)| *owner == crate_name && *name == module);
    listed.map(|(_, _, floor)| *floor).or_else(|| shared_floor(crate_name))
}

fn shared_floor(crate_name: &str) -> Option<u8> {
    SHARED_FLOORS.iter().find(|(owner, _)| *owner == crate_name).map(|(_, floor)| *floor)
}

fn may_import(crate_name: &str, from: &str, to: &str) -> bool {
    let (above, below) = (floor(crate_name, from), floor(crate_name, to));
    from == to || below < above || (above == below && above == shared_floor(crate_name))
}

/// Every broken rule, one line each, in a stable order.
fn violations(files: &[File]) -> Vec<String> {
    let tree = ModuleTree::new(files);
    let mut out = BTreeSet::new();
    for file in files {
        if file.is_manifest() {
            out.extend(heavy_dependencies(file));
            continue;
        }
        let all = tokens(&file.text);
        if has_bare_allow(&all) {
            out.insert(format!("{}: switches a lint off with allow; use expect", file.path));
        }
        out.extend(too_long(&file.path, &file.text));
        let top = tree.top_module(file);
        let member = tree.member(file);
        let crate_name = tree.module(file).swap_remove(0);
        let has_floors = FLOORS.iter().any(|(owner, ..)| *owner == crate_name);
        if has_floors && !top.is_empty() {
            if floor(&crate_name, &top).is_none() {
                out.insert(format!("{}: module {top} stands on no floor", file.path));
                continue;
            }
            for path in paths(&all) {
                let Some(target) = tree.absolute(file, &path) else { continue };
                if target[0] == crate_name {
                    out.extend(upward(file, &top, &path, &target));
                }
            }
        }
        if member == Some("curation") && !top.is_empty() {
            let targets = paths(&all).into_iter().filter_map(|path| tree.absolute(file, &path));
            out.extend(targets.filter_map(|target| across(file, &top, &target)));
        }
        let pure = member.is_some_and(|member| PURE_MEMBERS.contains(&member));
        if pure && !file.is_test() {
            out.extend(effects(file));
        }
    }
    out.into_iter().collect()
}

fn too_long(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST_FILE).then(|| format!("{path}: {lines} lines, over {LONGEST_FILE}"))
}

fn upward(file: &File, top: &str, path: &Path, target: &[String]) -> Option<String> {
    let Some(to) = target.get(1) else {
        // `pub(crate)` and a lone `self` are not imports; `use crate as x` is one.
        let escapes = path.import.is_some() || path.segments.len() > 1;
        return escapes.then(|| format!("{}: imports the crate's root", file.path));
    };
    let written = path.segments.join("::");
    if to == "*" || (floor(&target[0], to).is_none() && top != to) {
        return Some(format!("{}: {written} reaches the crate's root", file.path));
    }
    let refused = !may_import(&target[0], top, to);
    refused.then(|| format!("{}: {top} may not import {to} ({written})", file.path))
}

/// Refuses an import within `curation` that leads into one of its readers.
fn across(file: &File, top: &str, target: &[String]) -> Option<String> {
    let to = target.get(1).filter(|_| target[0] == "loomrec_curation")?;
    let refused = READERS.contains(&to.as_str()) && to != top;
    refused.then(|| format!("{}: {top} may not import {to} within curation", file.path))
}

/// The forbidden packages that the manifest of a member depends on.
fn heavy_dependencies(manifest: &File) -> Vec<String> {
    let member = manifest.path.trim_end_matches("/Cargo.toml");
    let rules = FORBIDDEN_PACKAGES.iter().find(|(name, _)| *name == member);
    let Some((_, forbidden)) = rules else {
        return vec![format!("{}: FORBIDDEN_PACKAGES does not name this member", manifest.path)];
    };
    let mut section = "";
    let mut out = Vec::new();
    for line in manifest.text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        let named_by_section = section.trim_matches(['[', ']']).strip_prefix("dependencies.");
        let asked = if section == "[dependencies]" { name } else { named_by_section.unwrap_or("") };
        if forbidden.contains(&asked) {
            out.push(format!("{}: {member} may not depend on {asked}", manifest.path));
        }
    }
    out.dedup();
    out
}

fn effects(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    for path in paths(&without_tests(&tokens(&file.text))) {
        let written = path.segments.join("::");
        let banned = EFFECTS.iter().find(|effect| {
            written == **effect
                && (effect.contains("::")
                    || path.import.is_some()
                    || effect.starts_with(char::is_uppercase))
                || written.starts_with(&format!("{effect}::"))
        });
        if banned.is_some() {
            out.push(format!("{}: {written} on the pure floor", file.path));
        }
    }
    out
}

fn source_files(root: &FsPath, folder: &FsPath, out: &mut Vec<File>) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    for path in found {
        if path.is_dir() {
            source_files(root, &path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            || path.file_name().is_some_and(|name| name == "Cargo.toml")
        {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            out.push(File { path: name, text });
        }
    }
}

fn files_under(folder: &str) -> Vec<File> {
    let root = FsPath::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    source_files(&root, &root, &mut files);
    files
}

#[test]
fn no_file_is_on_an_import_cycle() {
    let files = files_under("src");
    let tree = ModuleTree::new(&files);
    let graph = ImportGraph::new(&files, &tree);
    let cycles = graph.file_cycles();
    println!("files in an import cycle: {}", cycles.len());
    let found = [graph.folder_cycles(), cycles].concat();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_source_keeps_every_rule_of_the_house() {
    let files = files_under("src");
    assert!(files.len() > 5, "found only {} source files", files.len());
    let long = files.iter().filter(|file| too_long(&file.path, &file.text).is_some());
    println!("files over {LONGEST_FILE} lines: {}", long.count());
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
