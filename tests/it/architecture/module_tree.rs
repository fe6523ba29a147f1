//! The modules of every crate under `src`, and the file that a path leads to. Re-exports and the
//! modules' own imports are followed to the file that defines the name.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Path, items, paths, tokens, without_tests};

/// A source file: its path under `src`, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_manifest(&self) -> bool {
        self.path.ends_with("Cargo.toml")
    }

    pub(crate) fn is_test(&self) -> bool {
        let name = self.path.trim_end_matches(".rs");
        name.ends_with("/tests") || name.ends_with("_tests") || name.contains("/tests/")
    }
}

/// A module as its crate's name and the names below it: `[loomrec, server, route]`.
pub(crate) type ModulePath = Vec<String>;

/// The contents of a module besides its submodules.
#[derive(Default)]
struct Scope {
    /// Its file, as an index.
    file: usize,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<Vec<String>>>,
}

/// What a path leads to.
enum Target {
    /// An item, in this file.
    Item(usize),
    Module(ModulePath),
    /// Something in another package, or a local name.
    Elsewhere,
}

/// All modules of the project.
pub(crate) struct ModuleTree<'a> {
    files: &'a [File],
    members: BTreeSet<&'a str>,
    scopes: BTreeMap<ModulePath, Scope>,
}

/// Re-exports of re-exports are followed this far.
const LONGEST_CHAIN: usize = 16;

impl<'a> ModuleTree<'a> {
    /// Reads the files. A folder with a `Cargo.toml` is a separate crate; all other files belong to
    /// the crate `loomrec`.
    pub(crate) fn new(files: &'a [File]) -> Self {
        let manifests = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
        let mut tree = Self { files, members: manifests.collect(), scopes: BTreeMap::new() };
        for (index, file) in files.iter().enumerate() {
            if !file.is_manifest() && !file.is_test() {
                tree.read_file(index, file);
            }
        }
        tree
    }

    fn read_file(&mut self, index: usize, file: &File) {
        let module = self.module(file);
        let shipped = without_tests(&tokens(&file.text));
        for depth in 1..module.len() {
            self.scopes.entry(module[..depth].to_vec()).or_default();
        }
        self.scopes.entry(module.clone()).or_default().file = index;
        for item in items(&shipped) {
            let inside = [&module[..], &item.inside].concat();
            if item.is_module {
                let inner = [&inside[..], &[item.name]].concat();
                self.scopes.entry(inner).or_default().file = index;
            } else {
                self.scopes.entry(inside).or_default().items.insert(item.name);
            }
        }
        for path in paths(&shipped) {
            if let Some(import) = path.import {
                let scope = self.scopes.entry([&module[..], &path.inside].concat()).or_default();
                scope.imports.entry(import.name).or_default().push(path.segments);
            }
        }
    }

    /// The member that a file belongs to: its folder under `src`; `None` for the root package.
    pub(crate) fn member(&self, file: &File) -> Option<&'a str> {
        let inside = |member: &&str| {
            file.path.strip_prefix(*member).is_some_and(|rest| rest.starts_with('/'))
        };
        self.members.iter().copied().find(inside)
    }

    /// The module in a file: `identity/mod.rs` is `identity`, `lib.rs` is its crate's root.
    pub(crate) fn module(&self, file: &File) -> ModulePath {
        let (crate_name, path) = match self.member(file) {
            Some(member) => (crate_of(member), &file.path[member.len() + 1..]),
            None => ("loomrec".to_owned(), file.path.as_str()),
        };
        let stem = path.trim_end_matches(".rs");
        let mut parts: Vec<String> = stem.split('/').map(str::to_owned).collect();
        let is_root = parts.len() == 1 && parts[0] == "lib";
        // `#[path = "body_tests.rs"] mod tests;` in body.rs is the module body::tests.
        if let Some(tested) = parts.last().and_then(|last| last.strip_suffix("_tests")) {
            let tested = tested.to_owned();
            parts.pop();
            parts.extend([tested, "tests".to_owned()]);
        }
        if is_root || parts.last().is_some_and(|last| last == "mod") {
            parts.pop();
        }
        parts.insert(0, crate_name);
        parts
    }

    /// The module directly below its crate's root that a file belongs to; empty for the root.
    pub(crate) fn top_module(&self, file: &File) -> String {
        self.module(file).get(1).cloned().unwrap_or_default()
    }

    /// The path from a crate's root; `None` for a path into another package or a local one.
    pub(crate) fn absolute(&self, file: &File, path: &Path) -> Option<ModulePath> {
        let module = self.module(file);
        let mut here = module.clone();
        if file.path == "main.rs" {
            here.truncate(1);
        }
        here.extend(path.inside.iter().cloned());
        let first = path.segments.first()?;
        let (start, rest) = match first.as_str() {
            "crate" => (here[..1].to_vec(), &path.segments[1..]),
            "self" => (here, &path.segments[1..]),
            "super" => (here, &path.segments[..]),
            name => (vec![self.member_crate(name)?], &path.segments[1..]),
        };
        Some(climb(start, rest))
    }

    fn member_crate(&self, name: &str) -> Option<String> {
        let mut names = self.members.iter().map(|member| crate_of(member));
        names.find(|known| known == name)
    }

    /// The other files whose items this file uses, by index: only those of its own crate.
    pub(crate) fn uses(&self, index: usize) -> BTreeSet<usize> {
        let file = &self.files[index];
        let module = self.module(file);
        let mut out = BTreeSet::new();
        for path in paths(&without_tests(&tokens(&file.text))) {
            // A re-export is not a use.
            if path.import.as_ref().is_some_and(|import| import.reexported) {
                continue;
            }
            let scope = [&module[..], &path.inside].concat();
            if let Target::Item(other) = self.resolve(&scope, &path.segments, 0) {
                let own = self.member(&self.files[other]) == self.member(file);
                if other != index && own {
                    out.insert(other);
                }
            }
        }
        out
    }

    fn resolve(&self, scope: &[String], path: &[String], depth: usize) -> Target {
        let Some(first) = path.first().filter(|_| depth < LONGEST_CHAIN) else {
            return Target::Elsewhere;
        };
        match first.as_str() {
            "crate" => self.walk(scope[..1].to_vec(), &path[1..], depth),
            "self" => self.walk(scope.to_vec(), &path[1..], depth),
            "super" => {
                let ups = path.iter().take_while(|word| *word == "super").count();
                let start = climb(scope.to_vec(), &path[..ups]);
                self.walk(start, &path[ups..], depth)
            }
            name => {
                if self.has_name(scope, name) {
                    return self.walk(scope.to_vec(), path, depth);
                }
                match self.member_crate(name) {
                    Some(root) => self.walk(vec![root], &path[1..], depth),
                    None => Target::Elsewhere,
                }
            }
        }
    }

    fn has_name(&self, scope: &[String], name: &str) -> bool {
        let here = self.scopes.get(scope);
        let known = |here: &Scope| here.items.contains(name) || here.imports.contains_key(name);
        here.is_some_and(known) || self.scopes.contains_key(&below(scope, name))
    }

    /// Follows a path from a module downwards. A name that is both a module and an item is the
    /// module if something follows it, else the item.
    fn walk(&self, module: ModulePath, rest: &[String], depth: usize) -> Target {
        let Some(name) = rest.first() else { return Target::Module(module) };
        let Some(scope) = self.scopes.get(&module) else { return Target::Elsewhere };
        let inner = below(&module, name);
        let is_module = self.scopes.contains_key(&inner);
        if is_module && rest.len() > 1 {
            return self.walk(inner, &rest[1..], depth);
        }
        if scope.items.contains(name) {
            return Target::Item(scope.file);
        }
        let mut found = Target::Elsewhere;
        for import in scope.imports.get(name).into_iter().flatten() {
            let whole = [&import[..], &rest[1..]].concat();
            match self.resolve(&module, &whole, depth + 1) {
                Target::Item(file) => return Target::Item(file),
                Target::Module(path) => found = Target::Module(path),
                Target::Elsewhere => {}
            }
        }
        match found {
            Target::Elsewhere if is_module => Target::Module(inner),
            found => found,
        }
    }
}

fn below(module: &[String], name: &str) -> ModulePath {
    [module, &[name.to_owned()]].concat()
}

/// Follows a path in which `super` leads upwards.
fn climb(mut here: ModulePath, path: &[String]) -> ModulePath {
    for word in path {
        if word == "super" {
            here.pop();
        } else {
            here.push(word.clone());
        }
    }
    here
}

/// The crate of the member in a folder.
fn crate_of(member: &str) -> String {
    format!("loomrec_{}", member.replace('/', "_"))
}
