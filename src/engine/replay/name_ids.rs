//! The ids of names that takes were recorded under: steps, sessions, upstreams, and
//! mounts of paths.

use std::num::NonZeroU32;

use loomrec_recording::interned::InternedBytes;

/// The id of a name.
pub(super) type NameId = NonZeroU32;

/// Names by their text, and back.
#[derive(Debug, Default)]
pub(super) struct NameIds(InternedBytes);

impl NameIds {
    /// Makes room for as many names.
    pub(super) fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// The id of a name, which is added if it is new.
    pub(super) fn insert(&mut self, name: &str) -> NameId {
        id(self.0.insert(name.as_bytes()).0)
    }

    /// The id of a name, if it is here.
    pub(super) fn find(&self, name: &str) -> Option<NameId> {
        self.0.find(name.as_bytes()).map(id)
    }

    /// The name of an id.
    pub(super) fn name(&self, id: NameId) -> &str {
        let bytes = self.0.get(id.get() - 1).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

fn id(number: u32) -> NameId {
    NameId::MIN.saturating_add(number)
}
