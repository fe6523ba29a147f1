//! Tests that only `os` depends on the operating system.

use super::source::{Path, Token, paths, tokens, without_tests};
use super::{File, files_under};

/// Paths that only `os` may use.
const PLATFORM: [&[&str]; 8] = [
    &["std", "os"],
    &["core", "os"],
    &["tokio", "signal"],
    &["rustix"],
    &["libc"],
    &["nix"],
    &["windows"],
    &["windows_sys"],
];

/// Words of a `cfg` that select a system.
const SYSTEMS: [&str; 5] = ["unix", "windows", "target_os", "target_family", "target_vendor"];

/// Files that may use one, and why.
const ALLOWED: [(&str, &str); 1] = [(
    "engine/upstream/connect.rs",
    "hyper-util has a timeout for unanswered bytes on some systems alone",
)];

fn may_name(file: &File) -> bool {
    file.path.starts_with("os/")
        || ALLOWED.iter().any(|(path, _)| *path == file.path)
        || file.is_test()
        || file.is_manifest()
}

fn is_platform(path: &Path) -> bool {
    let starts = |banned: &&[&str]| {
        let first = path.segments.iter().take(banned.len());
        // A lone word may be the name of a variable; `use rustix;` is an import.
        let is_path = path.segments.len() > 1 || path.import.is_some();
        is_path && first.eq(banned.iter().copied())
    };
    PLATFORM.iter().any(starts)
}

/// The systems that `cfg`s in the text select.
fn systems(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = None;
    for token in tokens {
        match (token, depth) {
            (Token::Word(word), None) if word == "cfg" || word == "cfg_attr" => depth = Some(0),
            (Token::Word(word), Some(1..)) if SYSTEMS.contains(&word.as_str()) => {
                found.push(word.clone());
            }
            (Token::Mark('('), Some(open)) => depth = Some(open + 1),
            (Token::Mark(')'), Some(open)) => depth = Some(open - 1).filter(|open| *open > 0),
            (Token::Mark('!'), Some(0)) | (_, Some(1..) | None) => {}
            (_, Some(_)) => depth = None,
        }
    }
    found
}

/// The uses of the operating system in a file.
fn names(file: &File) -> Vec<String> {
    let shipped = without_tests(&tokens(&file.text));
    let found = paths(&shipped);
    let found = found.iter().filter(|path| is_platform(path)).map(|path| path.segments.join("::"));
    found.chain(systems(&shipped)).collect()
}

#[test]
fn no_file_outside_of_os_names_the_operating_system() {
    let files = files_under("src");
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !may_name(file)) {
        let names = names(file);
        if !names.is_empty() {
            found.push(format!("{}: names {}; ask os", file.path, names.join(", ")));
        }
    }
    let is_named = |path: &str| files.iter().any(|f| f.path == path && !names(f).is_empty());
    let unused = ALLOWED.iter().filter(|(path, _)| !is_named(path));
    found.extend(unused.map(|(path, _)| format!("{path} names none: take it off the list")));
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(is_named("os/process.rs"));
}

#[test]
fn each_way_to_name_the_operating_system_is_found() {
    let named = |text: &str| names(&File { path: "store/a.rs".into(), text: text.into() });
    for (text, name) in [
        ("use std::os::unix::fs::FileExt as _;", "std::os::unix::fs::FileExt"),
        ("use std::{fs, os::fd::AsFd};", "std::os::fd::AsFd"),
        ("use std::os as platform;", "std::os"),
        ("fn f() { std::os::unix::fs::symlink(a, b); }", "std::os::unix::fs::symlink"),
        ("use rustix::fs::OFlags;", "rustix::fs::OFlags"),
        ("use rustix as system;", "rustix"),
        ("fn f() { rustix::process::nice(1); }", "rustix::process::nice"),
        ("use tokio::{signal::unix::signal, sync};", "tokio::signal::unix::signal"),
        ("async fn f() { tokio::signal::ctrl_c().await; }", "tokio::signal::ctrl_c"),
        ("#[cfg(unix)] fn f() {}", "unix"),
        ("#[cfg(all(feature = \"a\", not(windows)))] fn f() {}", "windows"),
        ("const A: bool = cfg!(target_os = \"linux\");", "target_os"),
    ] {
        assert_eq!(named(text), [name], "{text}");
    }
    for text in [
        "fn f(rustix: u8, windows: &[u8]) -> u8 { windows.windows(2).count(); rustix }",
        "use std::ffi::OsStr; use crate::os::FileId; use tokio::sync::mpsc;",
        "// std::os::unix\nconst A: &str = \"rustix::fs\";",
        "#[cfg(feature = \"otel\")] fn unix() { unix() }",
        "fn f() {} #[cfg(test)] mod tests { use std::os::unix::fs::symlink; }",
    ] {
        assert_eq!(named(text), [""; 0], "{text}");
    }
}
