//! Where the entries of a file stand: few bytes for each, since there may be millions.

use std::ops::Range;

use crate::EntryName;
use crate::name_set::NameSet;

/// Where an entry stands in its file.
#[derive(Clone, Debug)]
pub struct EntryPlace {
    /// What it is kept under.
    pub name: EntryName,
    /// Which take of that name, counted from 1.
    pub take: usize,
    /// Where its key begins.
    pub at: u64,
    /// The line the key stands in, counted from 1.
    pub line: usize,
    /// Where its text stands.
    pub range: Range<u64>,
    /// Whether it stands in a list of takes.
    pub in_list: bool,
}

impl EntryPlace {
    /// What people call it.
    pub fn key(&self) -> String {
        self.name.take_key(self.take)
    }
}

/// The entries of a file, in order.
#[derive(Clone, Debug, Default)]
pub struct EntryPlaces {
    pub(super) names: NameSet,
    units: Vec<PackedUnit>,
}

/// Where a key stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPlace {
    /// The number of its name.
    pub(super) name: u32,
    /// Where it begins.
    pub(super) at: u64,
    /// The line it stands in.
    pub(super) line: u32,
}

/// A [`EntryPlace`], its name by its number.
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
    /// Adds a take of the entry under a key.
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

    /// Where the text of each stands.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.units.iter().map(|unit| unit.from..unit.to)
    }

    /// Those of these numbers.
    pub fn some(&self, numbers: Range<usize>) -> Vec<EntryPlace> {
        let units = self.units.get(numbers).unwrap_or_default().iter();
        units.filter_map(|unit| self.unit(unit)).collect()
    }

    fn unit(&self, unit: &PackedUnit) -> Option<EntryPlace> {
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
