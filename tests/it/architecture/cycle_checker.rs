//! Tests that the search for import cycles finds planted cycles and no others.

use super::import_cycles::ImportGraph;
use super::module_tree::{File, ModuleTree};

fn cycles(sources: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
    let files: Vec<File> = sources.iter().map(file).collect();
    let graph = ImportGraph::new(&files, &ModuleTree::new(&files));
    [graph.folder_cycles(), graph.file_cycles()].concat()
}

#[track_caller]
fn found(sources: &[(&str, &str)], cycle: &str) {
    let found = cycles(sources);
    let line = format!("import cycle: {cycle}");
    assert!(found.contains(&line), "{line:?} not in {found:?}");
}

#[track_caller]
fn none(sources: &[(&str, &str)]) {
    let found = cycles(sources);
    assert!(found.is_empty(), "{found:?}");
}

const STORE: (&str, &str) = ("store/mod.rs", "mod a; mod b; mod c; pub use a::make; pub use b::B;");
const A_READS_B: (&str, &str) = ("store/a.rs", "use super::b::B; pub fn make() {}");

#[test]
fn a_cycle_among_the_files_of_a_folder_is_found() {
    let b = ("store/b.rs", "use crate::store::c::C; pub struct B;");
    let c = ("store/c.rs", "pub struct C; fn f() { super::a::make(); }");
    let around = "store/a.rs -> store/b.rs -> store/c.rs -> store/a.rs";
    found(&[STORE, A_READS_B, b, c], around);
    none(&[STORE, A_READS_B, b, ("store/c.rs", "pub struct C;")]);
    let in_test = "pub struct C; #[cfg(test)] mod tests { use super::super::a::make; }";
    none(&[STORE, A_READS_B, b, ("store/c.rs", in_test)]);
    none(&[STORE, A_READS_B, b, ("store/c.rs", "pub struct C;"), ("store/c/tests.rs", c.1)]);
}

#[test]
fn an_import_through_a_front_leads_to_the_file_that_defines_the_name() {
    for text in [
        "use super::make; pub struct B;",
        "use crate::store::make; pub struct B;",
        "use crate::store::{self}; pub struct B; fn f() { store::make() }",
        "use crate::store as kept; pub struct B; fn f() { kept::make() }",
        "pub struct B; fn f() { super::make() }",
        "pub struct B; mod inner { use super::super::make; }",
    ] {
        let b = ("store/b.rs", text);
        found(&[STORE, A_READS_B, b], "store/a.rs -> store/b.rs -> store/a.rs");
    }
    none(&[STORE, ("store/a.rs", "pub fn make() {}"), ("store/b.rs", "use super::make;")]);
}

#[test]
fn a_name_is_followed_through_fronts_of_fronts_and_new_names() {
    found(
        &[
            ("store/mod.rs", "mod deep; mod b; pub use deep::build as make;"),
            ("store/deep/mod.rs", "mod a; pub(crate) use a::{make as build};"),
            ("store/deep/a.rs", "use crate::store::b::B; pub fn make() {}"),
            ("store/b.rs", "use super::make; pub struct B;"),
        ],
        "store/b.rs -> store/deep/a.rs -> store/b.rs",
    );
}

#[test]
fn a_front_that_defines_items_is_a_file_like_any_other() {
    let front = "mod a; pub struct Item; pub fn f() { a::make() }";
    let a = ("store/a.rs", "use super::Item; pub fn make() {}");
    found(&[("store/mod.rs", front), a], "store/a.rs -> store/mod.rs -> store/a.rs");
    found(
        &[("store/mod.rs", "mod a; pub use a::make; pub struct Item; fn f() { make() }"), a],
        "store/a.rs -> store/mod.rs -> store/a.rs",
    );
    none(&[("store/mod.rs", "mod a; pub use a::make; pub struct Item;"), a]);
}

#[test]
fn a_front_that_only_declares_and_passes_on_is_no_file_of_a_cycle() {
    let a = ("store/a.rs", "pub fn make() {}");
    none(&[STORE, a, ("store/b.rs", "use super::make; pub struct B;")]);
}

#[test]
fn a_file_and_one_of_its_own_folder_can_form_a_cycle() {
    let scan = ("store/log/scan.rs", "use super::Log; pub fn scan() {}");
    let log = ("store/log.rs", "mod scan; pub struct Log; fn f() { scan::scan() }");
    found(&[log, scan], "store/log.rs -> store/log/scan.rs -> store/log.rs");
    found(
        &[("store/log.rs", "mod scan; use scan::scan; pub struct Log;"), scan],
        "store/log.rs -> store/log/scan.rs -> store/log.rs",
    );
    none(&[("store/log.rs", "mod scan; pub struct Log;"), scan]);
}

#[test]
fn a_name_that_is_a_module_and_a_function_is_what_its_use_says() {
    let front = ("store/mod.rs", "mod a; mod scan; pub use scan::scan;");
    let scan = ("store/scan.rs", "use super::a::A; pub fn scan() {} pub struct Place;");
    let cycle = "store/a.rs -> store/scan.rs -> store/a.rs";
    found(&[front, scan, ("store/a.rs", "pub struct A; fn f() { super::scan() }")], cycle);
    let by_module = "use super::scan; pub struct A; fn f() { scan::Place; }";
    found(&[front, scan, ("store/a.rs", by_module)], cycle);
}

#[test]
fn methods_and_fields_are_no_imports() {
    let front = ("store/mod.rs", "mod a; pub use a::make; pub struct Item;");
    let a = ("store/a.rs", "use super::Item; pub fn make() {}");
    none(&[front, a]);
    let method = "mod a; pub use a::make; pub struct Item; fn f(x: X) { x.make(); x.make }";
    none(&[("store/mod.rs", method), a]);
    let range = "mod a; pub use a::make; pub struct Item; fn f(x: X) { 0..make() }";
    found(&[("store/mod.rs", range), a], "store/a.rs -> store/mod.rs -> store/a.rs");
}

#[test]
fn a_cycle_inside_a_member_is_found() {
    let manifest = ("identity/Cargo.toml", "[package]\nname = \"loomrec-identity\"");
    let front = ("identity/lib.rs", "mod key; mod rules; pub use key::Key;");
    let key = ("identity/key.rs", "use crate::rules::Rules; pub struct Key;");
    let rules = ("identity/rules.rs", "use crate::Key; pub struct Rules;");
    let cycle = "identity/key.rs -> identity/rules.rs -> identity/key.rs";
    found(&[manifest, front, key, rules], cycle);
    none(&[manifest, front, key, ("identity/rules.rs", "pub struct Rules;")]);
    // Cycles across members are left to the compiler.
    none(&[manifest, front, key, ("store/a.rs", "use loomrec_identity::Key; pub struct Rules;")]);
}

#[test]
fn folders_that_import_each_other_are_a_cycle_where_their_files_are_none() {
    let sources = [
        ("store/a.rs", "use crate::record::b::B; pub struct A;"),
        ("store/c.rs", "pub struct C;"),
        ("record/b.rs", "pub struct B;"),
        ("record/d.rs", "use crate::store::c::C;"),
    ];
    found(&sources, "record -> store -> record");
}
