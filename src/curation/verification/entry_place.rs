//! The places of a file's entries, in a compact form, since there may be millions.

use std::ops::Range;

use loomrec_recording::EntryName;
use loomrec_recording::name_set::NameSet;

/// The place of an entry in its file.
#[derive(Clone, Debug)]
pub struct EntryPlace {
    /// The name of the entry.
    pub name: EntryName,
    /// The take number under that name, counted from 1.
    pub take: usize,
    /// The offset of its key.
    pub at: u64,
    /// The line of its key, counted from 1.
    pub line: usize,
    /// The range of its text.
    pub range: Range<u64>,
    /// Whether it is in a list of takes.
    pub in_list: bool,
}

impl EntryPlace {
    /// Returns its label for people.
    pub fn display_label(&self) -> String {
        self.name.take_key(self.take)
    }
}

/// The entries of a file, in order.
#[derive(Clone, Debug, Default)]
pub struct EntryPlaces {
    pub(super) names: NameSet,
    units: Vec<PackedUnit>,
}

/// The place of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPlace {
    /// The number of its name.
    pub(super) name: u32,
    /// The offset of the key.
    pub(super) at: u64,
    /// The line of the key.
    pub(super) line: u32,
}

/// An [`EntryPlace`] that has the number of its name instead of the name.
#[derive(Clone, Debug)]
struct PackedUnit {
    at: u64,
    from: u64,
    to: u64,
    name: u32,
    take: u32,
    line: u32,
    in_list: bool,
}

impl EntryPlaces {
    /// Adds a take under a key.
    pub(super) fn push(&mut self, key: KeyPlace, take: u32, range: Range<u64>, in_list: bool) {
        let KeyPlace { name, at, line } = key;
        let Range { start: from, end: to } = range;
        self.units.push(PackedUnit { at, from, to, name, take, line, in_list });
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Returns whether the file has no entry.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns the range of each entry's text.
    pub fn text_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.units.iter().map(|unit| unit.from..unit.to)
    }

    /// Returns the entries with these numbers.
    pub fn entries_in(&self, numbers: Range<usize>) -> Vec<EntryPlace> {
        let units = self.units.get(numbers).unwrap_or_default().iter();
        units.filter_map(|unit| self.unpack_unit(unit)).collect()
    }

    fn unpack_unit(&self, unit: &PackedUnit) -> Option<EntryPlace> {
        Some(EntryPlace {
            name: self.names.get(unit.name)?,
            take: unit.take as usize,
            at: unit.at,
            line: unit.line as usize,
            range: unit.from..unit.to,
            in_list: unit.in_list,
        })
    }
}
