//! The search for credentials in a text, and in everything that the text encodes.
//!
//! One pass looks for each credential as it is and as base64 at each alignment. Then the same
//! search goes through the decoded escapes of the text and its decoded runs of base64 and hex,
//! layer by layer. So a credential is found regardless of how, and how often, its characters are
//! escaped. Each layer maps back to the text, so a match is a range of the text. A text without
//! escapes and long runs costs only the one pass.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

use aho_corasick::Span;
use aho_corasick::packed::{Config, MatchKind, Searcher};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;

use super::escape::{is_token_byte, unescaped_layers};
use super::run::shortest_run;
use super::tree::{LayerScope, LayerTree, spells_more};

/// Shorter values are too likely to be ordinary text.
pub(super) const SHORTEST: usize = 8;

/// The number of patterns in one pass: as many as the processor compares at once.
const PATTERNS: usize = 32;

/// Credentials prepared for the search.
#[derive(Clone, Debug)]
pub(super) struct CredentialSearch {
    passes: Vec<Pass>,
    scope: LayerScope,
}

/// One pass over a text.
#[derive(Clone, Debug)]
enum Pass {
    /// Several patterns at once.
    Packed(Searcher),
    /// One pattern after the other, on processors that cannot compare several at once.
    Single(Vec<Finder<'static>>),
}

impl CredentialSearch {
    /// Prepares the search for these credentials.
    pub(super) fn new(values: &BTreeSet<String>) -> Self {
        let plain: BTreeSet<Vec<u8>> = values.iter().flat_map(|value| plain_forms(value)).collect();
        let token = plain.iter().all(|text| text.iter().copied().all(is_token_byte));
        let shortest = plain.iter().map(Vec::len).min().unwrap_or(SHORTEST);
        let scope = LayerScope { token, shortest_run: shortest_run(shortest) };
        let mut patterns = BTreeSet::new();
        for text in plain {
            add_patterns(text, &mut patterns);
        }
        let patterns: Vec<Vec<u8>> = patterns.into_iter().collect();
        Self { passes: patterns.chunks(PATTERNS).map(Pass::new).collect(), scope }
    }

    /// Whether one of them is in the text.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.visit_matches(text, &mut |_| ControlFlow::Break(()))
    }

    /// Whether one of them is in the text, or may be in what it encodes. A text with nested escapes
    /// is not decoded to the end and counts as a possible match. A part of a text may decode
    /// further than the whole, since the whole reaches a limit sooner.
    pub(super) fn may_match(&self, text: &[u8]) -> bool {
        if self.is_too_short(text) {
            return false;
        }
        let stop: OnMatch<'_> = &mut |_| ControlFlow::Break(());
        if self.passes.iter().any(|pass| pass.visit_matches(text, stop).is_break()) {
            return true;
        }
        let tree = LayerTree::new(text, self.scope);
        (0..).map_while(|at| tree.layer_text(at)).any(|layer| {
            self.passes.iter().any(|pass| pass.visit_matches(layer, stop).is_break())
                || spells_more(layer, self.scope)
        })
    }

    /// Whether one of them is in a text that was composed of parts which were searched. What the
    /// parts encode was searched there. If no credential has a character that JSON escapes, each
    /// would be in the text exactly as in its part.
    pub(super) fn is_match_again(&self, text: &[u8]) -> bool {
        let stop: OnMatch<'_> = &mut |_| ControlFlow::Break(());
        self.passes.iter().any(|pass| pass.visit_matches(text, stop).is_break())
            || (!self.scope.token
                && unescaped_layers(text, false).iter().any(|layer| {
                    self.visit_matches(layer.decoded_text(), &mut |_| ControlFlow::Break(()))
                }))
    }

    /// Appends the ranges where they are in the text. The ranges are unordered and may repeat. What
    /// the text itself says in UTF-16 and UTF-32 is left out: its caller decodes that.
    pub(super) fn find_ranges(&self, text: &[u8], ranges: &mut Vec<Range<usize>>) {
        if self.is_too_short(text) {
            return;
        }
        let found: OnMatch<'_> = &mut |range| {
            ranges.push(range);
            ControlFlow::Continue(())
        };
        for pass in &self.passes {
            let _whole: ControlFlow<()> = pass.visit_matches(text, found);
        }
        let tree = LayerTree::without_wide(text, self.scope);
        let _whole: ControlFlow<()> = self.explore_layers(tree, found);
    }

    fn is_too_short(&self, text: &[u8]) -> bool {
        self.passes.is_empty() || text.len() < SHORTEST
    }

    /// Passes each match to `found` until it breaks off. Returns whether it did.
    fn visit_matches(&self, text: &[u8], found: OnMatch<'_>) -> bool {
        !self.is_too_short(text)
            && (self.passes.iter().any(|pass| pass.visit_matches(text, found).is_break())
                || self.explore_layers(LayerTree::new(text, self.scope), found).is_break())
    }

    /// Searches the layers, and passes on each match as a range of the text.
    fn explore_layers(&self, mut tree: LayerTree, found: OnMatch<'_>) -> ControlFlow<()> {
        let mut at = 0;
        while let Some(layer) = tree.layer_text(at) {
            let found = &mut |range| found(tree.source_of(at, range));
            self.passes.iter().try_for_each(|pass| pass.visit_matches(layer, found))?;
            tree.expand_layer(at, self.scope);
            at += 1;
        }
        ControlFlow::Continue(())
    }
}

/// Receives the matches.
type OnMatch<'a> = &'a mut dyn FnMut(Range<usize>) -> ControlFlow<()>;

impl Pass {
    fn new(patterns: &[Vec<u8>]) -> Self {
        let mut builder = Config::new().match_kind(MatchKind::LeftmostLongest).builder();
        let searcher = builder.extend(patterns).build();
        searcher.map_or_else(
            || Self::Single(patterns.iter().map(|text| Finder::new(text).into_owned()).collect()),
            Self::Packed,
        )
    }

    /// Passes on each match, including overlapping ones.
    fn visit_matches(&self, text: &[u8], found: OnMatch<'_>) -> ControlFlow<()> {
        match self {
            Self::Packed(searcher) => {
                let mut span = Span::from(0..text.len());
                while let Some(at) = searcher.find_in(text, span) {
                    found(at.start()..at.end())?;
                    span.start = at.start() + 1;
                }
            }
            Self::Single(finders) => {
                for finder in finders {
                    for at in finder.find_iter(text) {
                        found(at..at + finder.needle().len())?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns a credential as it is, and without the escapes that it contains itself: a text may be
/// unescaped once more than it was escaped.
fn plain_forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![value.as_bytes().to_vec()];
    let plain = |form: &Vec<u8>| {
        let layer = unescaped_layers(form, false).into_iter().next()?;
        Some(layer.decoded_text().to_vec()).filter(|text| text.len() >= SHORTEST && text != form)
    };
    while let Some(next) = forms.last().and_then(plain) {
        forms.push(next);
    }
    forms
}

/// Adds the unescaped forms of a credential: as it is, in lower case (as names of headers and hosts
/// are written), with its spaces as a form writes them, and as base64.
fn add_patterns(text: Vec<u8>, patterns: &mut BTreeSet<Vec<u8>>) {
    for before in 0..3 {
        add_base64_core(&text, before, patterns);
    }
    patterns.insert(text.to_ascii_lowercase());
    if text.contains(&b' ') {
        let form = text.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte });
        patterns.insert(form.collect());
    }
    patterns.insert(text);
}

/// Adds the base64 characters of a text that begins `before` bytes after a multiple of three, in
/// both alphabets. Characters that depend on the surrounding bytes are left out.
fn add_base64_core(text: &[u8], before: usize, patterns: &mut BTreeSet<Vec<u8>>) {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text);
    let start = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
        patterns.extend(encoded.get(start..end).map(|core| core.as_bytes().to_vec()));
    }
}
