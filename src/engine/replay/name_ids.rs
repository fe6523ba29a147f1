//! The ids of the names that takes were recorded under: steps, sessions, upstreams, and mounts of
//! paths.

use std::num::NonZeroU32;

use loomrec_recording::interned::InternedBytes;

/// The id of a name.
pub(super) type NameId = NonZeroU32;

/// The ids of names, and the names of ids.
#[derive(Debug, Default)]
pub(super) struct NameIds(InternedBytes);

impl NameIds {
    /// Makes room for `count` names.
    pub(super) fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// Returns the id of a name, which is added if it is new.
    pub(super) fn insert(&mut self, name: &str) -> NameId {
        id_of_number(self.0.insert(name.as_bytes()).0)
    }

    /// Returns the id of a name, if it has one.
    pub(super) fn find(&self, name: &str) -> Option<NameId> {
        self.0.find_number(name.as_bytes()).map(id_of_number)
    }

    /// Returns the name of an id.
    pub(super) fn name(&self, id: NameId) -> &str {
        let bytes = self.0.get(id.get() - 1).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

fn id_of_number(number: u32) -> NameId {
    NameId::MIN.saturating_add(number)
}
