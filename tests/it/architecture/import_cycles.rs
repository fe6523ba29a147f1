//! Import cycles among the files of a crate, and among the folders below its root.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::module_tree::{File, ModuleTree};

/// Which nodes each node imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The imports in every crate.
pub(crate) struct ImportGraph {
    files: Graph,
    folders: Graph,
}

impl ImportGraph {
    pub(crate) fn new(files: &[File], tree: &ModuleTree<'_>) -> Self {
        let mut graph = Self { files: Graph::new(), folders: Graph::new() };
        let shipped = |file: &File| !file.is_manifest() && !file.is_test();
        for (index, file) in files.iter().enumerate().filter(|(_, file)| shipped(file)) {
            for other in tree.uses(index) {
                let other = &files[other];
                graph.files.entry(file.path.clone()).or_default().insert(other.path.clone());
                let (from, to) = (tree.top_module(file), tree.top_module(other));
                if from != to && tree.member(file).is_none() {
                    graph.folders.entry(from).or_default().insert(to);
                }
            }
        }
        graph
    }

    /// The shortest cycle through each file that is on one, one line each.
    pub(crate) fn file_cycles(&self) -> Vec<String> {
        shortest_cycles(&self.files)
    }

    /// The shortest cycle through each folder below the root that is on one, one line each.
    pub(crate) fn folder_cycles(&self) -> Vec<String> {
        shortest_cycles(&self.folders)
    }
}

fn shortest_cycles(graph: &Graph) -> Vec<String> {
    let ways = graph.keys().filter_map(|node| shortest_cycle(graph, node));
    ways.map(|way| format!("import cycle: {}", way.join(" -> "))).collect()
}

/// The shortest way along the graph from `start` back to itself.
fn shortest_cycle(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = VecDeque::from([vec![start]]);
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
