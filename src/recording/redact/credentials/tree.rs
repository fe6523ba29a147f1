//! The layers of a text: what the text spells, what that spells, and so on, the shallow ones
//! first.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::{HashSet, HashSetExt as _};

use super::escape::unescape;
use super::layer::TextLayer;
use super::run::decode_runs;

/// The most layers on top of one another.
const DEEPEST: usize = 8;

/// The most bytes of layers for each byte of the text: hostile text costs no more.
const MOST_PER_BYTE: usize = 16;

/// The bytes of layers that a short text has at least.
const LEAST: usize = 1 << 16;

/// What the layers of a text are made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerScope {
    /// Whether the credentials hold [`token bytes`](super::escape::is_token_byte) only.
    pub(super) token: bool,
    /// The fewest characters of a run that may hold one of them.
    pub(super) shortest_run: usize,
}

/// Whether a text spells a layer.
pub(super) fn spells_more(text: &[u8], LayerScope { token, shortest_run }: LayerScope) -> bool {
    !unescape(text, token).is_empty() || decode_runs(text, shortest_run).is_some()
}

/// A layer and the text that spells it.
struct Node {
    layer: TextLayer,
    /// The layer whose text is the source; the text itself where there is none.
    parent: Option<usize>,
    depth: usize,
}

/// The layers of one text, which grow one behind the other.
pub(super) struct LayerTree {
    nodes: Vec<Node>,
    /// The hashes of their texts: different readings often come to the same.
    known: HashSet<u64>,
    /// The bytes that further layers may have.
    left: usize,
}

impl LayerTree {
    /// The layers that the text spells itself.
    pub(super) fn new(text: &[u8], scope: LayerScope) -> Self {
        let left = text.len().saturating_mul(MOST_PER_BYTE).max(LEAST);
        let mut tree = Self { nodes: Vec::new(), known: HashSet::new(), left };
        tree.add_layers_of(text, None, 1, scope);
        tree
    }

    /// The text of a layer, if there are so many.
    pub(super) fn text(&self, at: usize) -> Option<&[u8]> {
        Some(self.nodes.get(at)?.layer.text())
    }

    /// Adds the layers that the text of this one spells, behind those that are there.
    pub(super) fn grow(&mut self, at: usize, scope: LayerScope) {
        let Node { layer, depth, .. } = &mut self.nodes[at];
        if *depth == DEEPEST {
            return;
        }
        let (layer, depth) = (std::mem::take(layer), *depth);
        self.add_layers_of(layer.text(), Some(at), depth + 1, scope);
        self.nodes[at].layer = layer;
    }

    fn add_layers_of(
        &mut self,
        text: &[u8],
        parent: Option<usize>,
        depth: usize,
        LayerScope { token, shortest_run }: LayerScope,
    ) {
        let runs = decode_runs(text, shortest_run);
        for layer in unescape(text, token).into_iter().chain(runs) {
            let Some(left) = self.left.checked_sub(layer.text().len()) else { continue };
            // Most texts have one layer at most: that costs no hash.
            if self.nodes.is_empty() || self.is_new(&layer) {
                self.left = left;
                self.nodes.push(Node { layer, parent, depth });
            }
        }
    }

    fn is_new(&mut self, layer: &TextLayer) -> bool {
        let hash = self.known.hasher().hash_one(layer.text());
        self.known.insert(hash)
    }

    /// The place in the text of a non-empty range of a layer.
    pub(super) fn source_of(&self, at: usize, range: Range<usize>) -> Range<usize> {
        let (mut at, mut range) = (Some(at), range);
        while let Some(node) = at.map(|at| &self.nodes[at]) {
            range = node.layer.source_of(&range);
            at = node.parent;
        }
        range
    }
}
