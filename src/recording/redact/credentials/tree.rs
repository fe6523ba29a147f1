//! The layers of a text: what the text encodes, what that encodes, and so on. Shallow layers come
//! first.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::{HashSet, HashSetExt as _};

use super::escape::unescaped_layers;
use super::layer::TextLayer;
use super::run::decode_runs;
use super::wide::decode_wide;

/// The deepest nesting of layers.
const DEEPEST: usize = 8;

/// The most bytes of layers for each byte of the text. It limits the cost of hostile text.
const MOST_PER_BYTE: usize = 16;

/// The minimum number of bytes that the layers of a short text may have.
const LEAST: usize = 1 << 16;

/// Which layers of a text are needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerScope {
    /// Whether the credentials hold only [`token bytes`](super::escape::is_token_byte).
    pub(super) token: bool,
    /// The length of the shortest run that may hold a credential.
    pub(super) shortest_run: usize,
}

/// Whether a text has a further layer.
pub(super) fn spells_more(text: &[u8], LayerScope { token, shortest_run }: LayerScope) -> bool {
    !unescaped_layers(text, token).is_empty()
        || decode_runs(text, shortest_run).is_some()
        || decode_wide(text).is_some()
}

/// Decodes the escapes and the runs of base64 and hex in a text.
fn escapes_and_runs(
    text: &[u8],
    LayerScope { token, shortest_run }: LayerScope,
) -> impl Iterator<Item = TextLayer> {
    unescaped_layers(text, token).into_iter().chain(decode_runs(text, shortest_run))
}

/// A layer, with a link to the text that it was decoded from.
struct Node {
    layer: TextLayer,
    /// The layer that it was decoded from; `None` for the text itself.
    parent: Option<usize>,
    depth: usize,
}

/// The layers of one text, in breadth-first order.
pub(super) struct LayerTree {
    nodes: Vec<Node>,
    /// The hashes of their texts. Different decodings often have the same result.
    known: HashSet<u64>,
    /// How many bytes further layers may have.
    left: usize,
}

impl LayerTree {
    /// Returns the layers that the text itself encodes.
    pub(super) fn new(text: &[u8], scope: LayerScope) -> Self {
        let mut tree = Self::without_wide(text, scope);
        tree.add_layers(decode_wide(text), None, 1);
        tree
    }

    /// As [`Self::new`], without the UTF-16 and UTF-32 of the text itself.
    pub(super) fn without_wide(text: &[u8], scope: LayerScope) -> Self {
        let left = text.len().saturating_mul(MOST_PER_BYTE).max(LEAST);
        let mut tree = Self { nodes: Vec::new(), known: HashSet::new(), left };
        tree.add_layers(escapes_and_runs(text, scope), None, 1);
        tree
    }

    /// Returns the text of a layer, or `None` if there are not that many.
    pub(super) fn layer_text(&self, at: usize) -> Option<&[u8]> {
        Some(self.nodes.get(at)?.layer.decoded_text())
    }

    /// Decodes the text of this layer, and appends its layers.
    pub(super) fn expand_layer(&mut self, at: usize, scope: LayerScope) {
        let Node { layer, depth, .. } = &mut self.nodes[at];
        if *depth == DEEPEST {
            return;
        }
        let (layer, depth) = (std::mem::take(layer), *depth);
        let layers =
            escapes_and_runs(layer.decoded_text(), scope).chain(decode_wide(layer.decoded_text()));
        self.add_layers(layers, Some(at), depth + 1);
        self.nodes[at].layer = layer;
    }

    fn add_layers(
        &mut self,
        layers: impl IntoIterator<Item = TextLayer>,
        parent: Option<usize>,
        depth: usize,
    ) {
        for layer in layers {
            let Some(left) = self.left.checked_sub(layer.decoded_text().len()) else { continue };
            // Most texts have at most one layer, which then needs no hash.
            if self.nodes.is_empty() || self.is_new(&layer) {
                self.left = left;
                self.nodes.push(Node { layer, parent, depth });
            }
        }
    }

    fn is_new(&mut self, layer: &TextLayer) -> bool {
        let hash = self.known.hasher().hash_one(layer.decoded_text());
        self.known.insert(hash)
    }

    /// Returns the range in the original text of a non-empty range of a layer.
    pub(super) fn source_of(&self, at: usize, range: Range<usize>) -> Range<usize> {
        let (mut at, mut range) = (Some(at), range);
        while let Some(node) = at.map(|at| &self.nodes[at]) {
            range = node.layer.source_of(&range);
            at = node.parent;
        }
        range
    }
}
