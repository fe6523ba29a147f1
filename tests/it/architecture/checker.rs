//! Tests that the checker fails on made-up sources that break one rule each.

use super::module_tree::File;
use super::{FORBIDDEN_PACKAGES, violations};

/// The violations in these files, besides the manifests of the present members.
fn house(sources: &[(&str, &str)]) -> Vec<String> {
    let own = |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
    let members = FORBIDDEN_PACKAGES.iter().map(|(name, _)| *name);
    let manifest = |name| File { path: format!("{name}/Cargo.toml"), text: "[package]".into() };
    violations(&sources.iter().map(own).chain(members.map(manifest)).collect::<Vec<_>>())
}

const IDENTITY: (&str, &str) = ("identity/lib.rs", "pub mod key; pub use key::Key;");
const KEY: (&str, &str) = ("identity/key.rs", "pub struct Key;");

#[track_caller]
fn refused(sources: &[(&str, &str)], saying: &str) {
    let found = house(sources);
    assert!(found.iter().any(|line| line.contains(saying)), "{saying:?} not in {found:?}");
}

#[test]
fn a_sound_house_passes() {
    let found = house(&[
        ("main.rs", "fn main() { loomrec_cli::run(dispatch) }"),
        IDENTITY,
        KEY,
        ("provider/mod.rs", "use loomrec_identity::Key; mod sse; pub struct Answer;"),
        ("provider/sse_tests.rs", "use super::super::Answer; use super::split;"),
        ("provider/sse.rs", "use super::Answer; use std::{collections::BTreeMap, time::Duration};"),
        ("engine/lib.rs", "pub mod record; mod miss; mod route; pub mod upstream;"),
        ("engine/upstream/mod.rs", "use std::fs; use loomrec_identity::{Key, key::{self, Form}};"),
        ("engine/record/mod.rs", "use crate::upstream::Client; pub(crate) fn f() {}"),
        ("engine/miss.rs", "use crate::{record::Tee, route::Route};"),
        ("proxy/server/mod.rs", "pub(in crate::server) use loomrec_engine::record::Tee;"),
        ("cli/lib.rs", "use loomrec_proxy::server::serve;"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn an_upward_import_is_refused_however_it_is_written() {
    for text in [
        "use crate::server::Handler;",
        "use crate::{inspector::Key, server};",
        "use crate::{inspector::{self, Key}, server::{Handler, respond::*}};",
        "fn f() { crate::server::stop(); }",
        "use super::server::Handler;",
        "mod inner { use super::super::server::Handler; }",
        "pub use crate::server as front;",
        "/* a */ use /* b */ crate :: server :: Handler ; // c",
    ] {
        let server = ("proxy/server/mod.rs", "pub struct Handler;");
        let inspector = ("proxy/inspector/mod.rs", text);
        refused(&[server, inspector], "inspector may not import server");
    }
}

#[test]
fn an_escape_by_super_is_refused_from_a_deeper_file() {
    let server = ("proxy/server/mod.rs", "");
    let deep = ("proxy/inspector/span/clock.rs", "use super::super::super::server::Handler;");
    refused(&[server, deep], "inspector may not import server");
}

#[test]
fn the_engines_never_import_each_other() {
    let (record, replay) = ("engine/record/mod.rs", "engine/replay/mod.rs");
    let sources = [(record, ""), (replay, "use crate::record::Tee;")];
    refused(&sources, "replay may not import record");
    let sources = [(replay, ""), (record, "use crate::replay::Turn;")];
    refused(&sources, "record may not import replay");
}

#[test]
fn an_engine_does_not_import_the_call_around_it() {
    for to in ["Engine", "call_result", "route"] {
        let text = format!("use crate::{to};");
        refused(&[("engine/replay/pool.rs", &text)], &format!("replay may not import {to}"));
    }
}

#[test]
fn readers_of_recordings_stand_apart() {
    let hunk = ("curation/hunk.rs", "use crate::verification::Problem;");
    refused(&[hunk], "hunk may not import verification");
    let merge = ("curation/merge/mod.rs", "use crate::{comparison::pairs, hunk::Hunk};");
    refused(&[merge], "merge may not import comparison");
    let review = ("curation/review/mod.rs", "use crate::hunk::Hunk; use super::hunk::Hunk;");
    assert!(house(&[review]).is_empty());
}

#[test]
fn the_root_package_is_an_entry_point_only() {
    let main = ("main.rs", "use loomrec_identity::Json; fn main() {}");
    assert!(house(&[main]).is_empty());
    refused(&[("main.rs", "use crate::identity::Key;")], "reaches the crate's root");
    refused(&[("attic/a.rs", "")], "stands on no floor");
}

#[test]
fn the_crate_root_is_no_back_door() {
    refused(&[("proxy/inspector/a.rs", "use crate::*;")], "reaches the crate's root");
    refused(&[("proxy/inspector/a.rs", "use crate as root;")], "imports the crate's root");
    refused(&[("proxy/inspector/a.rs", "use crate::{self as root};")], "imports the crate's root");
    refused(&[("proxy/inspector/a.rs", "use crate::Everything;")], "reaches the crate's root");
}

#[test]
fn a_member_must_do_without_the_packages_of_higher_floors() {
    let manifest =
        |text| File { path: "identity/Cargo.toml".into(), text: format!("[package]\n{text}") };
    for text in [
        "[dependencies]\nbytes = \"1\"\ntokio.workspace = true",
        "[dependencies]\ntokio = { workspace = true, features = [\"net\"] }",
        "[dependencies.tokio]\nworkspace = true",
    ] {
        let found = violations(&[manifest(text)]);
        assert!(found[0].contains("identity may not depend on tokio"), "{found:?}");
    }
    assert!(violations(&[manifest("[dev-dependencies]\ntokio.workspace = true")]).is_empty());
    let unknown = File { path: "attic/Cargo.toml".into(), text: String::new() };
    assert!(violations(&[unknown])[0].contains("does not name this member"));
}

#[test]
fn a_file_over_the_limit_is_refused() {
    refused(&[("engine/upstream/mod.rs", &"\n".repeat(401))], "401 lines");
    assert!(house(&[("engine/upstream/mod.rs", &"\n".repeat(400))]).is_empty());
}

#[test]
fn effects_on_the_ground_floor_are_refused() {
    for text in [
        "use tokio::sync::mpsc;",
        "use hyper::Request;",
        "use std::fs;",
        "use std::{collections::BTreeMap, fs::File};",
        "use std::{net, io};",
        "fn f() { std::env::var(\"HOME\"); }",
        "use std::time::{Duration, Instant};",
        "fn f() { std::time::SystemTime::now(); }",
        "use rand::Rng;",
        "fn f() { time::OffsetDateTime::now_utc(); }",
        "use reqwest;",
    ] {
        refused(&[("recording/a.rs", text)], "on the pure floor");
        assert!(house(&[("store/a.rs", text)]).is_empty(), "{text} is welcome above");
    }
}

#[test]
fn effects_are_welcome_in_tests_and_harmless_in_text() {
    let found = house(&[
        ("identity/a.rs", "fn f() {} #[cfg(test)] mod tests { use std::process::Command; }"),
        (
            "identity/b.rs",
            "#[cfg(test)] use std::fs; #[cfg(test)] #[path = \"b_tests.rs\"] mod tests;",
        ),
        ("identity/b_tests.rs", "use std::{env, fs};"),
        (
            "identity/c.rs",
            "// use std::fs;\n/* std::env /* std::net */ */ const A: &str = \"std::fs\";",
        ),
        (
            "identity/d.rs",
            "const A: &str = r#\"\"use std::fs;\"#; const B: char = '\"'; fn f<'a>() {}",
        ),
        (
            "identity/e.rs",
            "const A: &[u8] = b\"\\\" std::fs\"; const B: [char; 2] = ['\\'', '\\u{41}'];",
        ),
        ("identity/f.rs", "struct S { rand: u8 } fn f(s: S) -> u8 { s.rand }"),
    ]);
    assert!(found.is_empty(), "{found:?}");
    let after = "#[cfg(test)] mod tests { fn f() {} } use std::fs;";
    refused(&[("identity/a.rs", after)], "on the pure floor");
    let quoted = "const A: char = '\"'; use std::fs; const B: char = '\"';";
    refused(&[("identity/a.rs", quoted)], "on the pure floor");
}

#[test]
fn a_bare_allow_is_refused_and_an_expect_is_not() {
    refused(&[("store/a.rs", "#[allow(dead_code)] fn f() {}")], "switches a lint off");
    refused(&[("store/a.rs", "#![allow(dead_code, reason = \"x\")]")], "switches a lint off");
    refused(
        &[("store/a.rs", "#[cfg_attr(test, allow(dead_code))] fn f() {}")],
        "switches a lint off",
    );
    let sound =
        "#[expect(dead_code, reason = \"allow(\")] fn allow(x: [u8; 1]) {} fn g() { allow([1]) }";
    assert!(house(&[("store/a.rs", sound)]).is_empty());
}
