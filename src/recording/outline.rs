//! A recording's outline: its metadata, its names, and the offsets of their takes in the text.
//!
//! The outline is built while the text is read once, in pieces; see [`super::scan`]. A recording
//! may have millions of entries, so each take uses few bytes here.

mod member;
mod place;
mod problem;
mod recording_outline;

use member::MemberKind;
pub use member::{MemberRole, OutlineMember};
pub use recording_outline::RecordingOutline;

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::entry_name::EntryName;
use super::error::FormatError;
use super::meta::RecordingMeta;
use super::scan::{FoundMember, MemberScanner, SplitError, ValueShape};
use place::PackedMember;
use problem::json_at;

/// After this many members, memory is reserved for as many members as the text seems to have, so
/// that the lists need not grow.
const SAMPLE: usize = 4096;
/// At most this many members get reserved memory.
const MOST_ROOM: usize = 4 << 20;

/// Builds a [`RecordingOutline`] from the pieces of a text.
#[derive(Debug)]
pub struct OutlineBuilder {
    scanner: MemberScanner,
    outline: RecordingOutline,
    /// The length of the text in bytes, until memory is reserved for its members.
    expected: Option<u64>,
    /// How many bytes have been read.
    read: u64,
    /// The members that are metadata.
    meta: Vec<FoundMember>,
    meta_keys: HashSet<String>,
    /// The first key that occurs a second time: its offset, the key and its line.
    twice: Option<(u64, String, usize)>,
}

/// Why there is no outline.
#[derive(Debug)]
pub enum OutlineError {
    /// The text is not a JSON object. A parser of the whole text finds the place of the error.
    NotSplit,
    /// The text of a metadata key is not JSON. Show this error if a parser of the whole text finds
    /// none.
    Meta(FormatError),
    /// Another error.
    Format(FormatError),
}

impl Default for OutlineBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl OutlineBuilder {
    /// Returns a builder that has read nothing yet.
    pub fn new() -> Self {
        Self {
            scanner: MemberScanner::new(),
            outline: RecordingOutline::default(),
            expected: None,
            read: 0,
            meta: Vec::new(),
            meta_keys: HashSet::new(),
            twice: None,
        }
    }

    /// As [`Self::new`], for a text of this many bytes.
    pub fn for_length(bytes: u64) -> Self {
        Self { expected: Some(bytes), ..Self::new() }
    }

    /// Reserves memory for as many members as the text seems to have.
    fn make_room(&mut self) {
        let known = self.outline.members.len();
        let Some(bytes) = self.expected.filter(|_| known >= SAMPLE) else { return };
        self.expected = None;
        // Adds an eighth, since members differ in length.
        let members = (known as u64).saturating_mul(bytes) / self.read.max(1);
        let members =
            usize::try_from(members + members / 8).map_or(MOST_ROOM, |n| n.min(MOST_ROOM));
        // If this fails, the lists grow as they are filled.
        let more = members.saturating_sub(known);
        let _members = self.outline.members.try_reserve_exact(more);
        self.outline.names.reserve(members);
    }

    /// Reads the next piece of the text.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), SplitError> {
        self.scanner.feed(piece)?;
        let Self { scanner, outline, meta, meta_keys, twice, .. } = self;
        for found in scanner.take_found() {
            let is_new = if found.key.starts_with('_') {
                outline.push_meta(&found);
                let is_new = meta_keys.insert(found.key.clone());
                meta.push(found.clone());
                is_new
            } else {
                let (name, take) = EntryName::of_key(&found.key);
                let is_step = name.step_id().is_some();
                let is_new_name = outline.push(&found, &name, take);
                // Keys of hashes are compared later, when the takes are in order.
                is_new_name || !is_step
            };
            if !is_new && twice.is_none() {
                *twice = Some((found.at, found.key, found.line));
            }
        }
        self.read += piece.len() as u64;
        self.make_room();
        Ok(())
    }

    /// Returns the outline, after all of the text has been fed.
    pub fn finish(self) -> Result<RecordingOutline, OutlineError> {
        let Self { scanner, mut outline, meta, twice, .. } = self;
        scanner.finish().map_err(|SplitError| OutlineError::NotSplit)?;
        outline.put_in_order();
        let twice = twice.into_iter().chain(outline.take_twice()).min_by_key(|(at, ..)| *at);
        if let Some((_, key, line)) = twice {
            return Err(OutlineError::Format(FormatError::DuplicateKey { key, line }));
        }
        let keys = parse_metadata(&meta).map_err(OutlineError::Meta)?;
        outline.meta = RecordingMeta::parse(keys).map_err(OutlineError::Format)?;
        Ok(outline)
    }
}

impl RecordingOutline {
    /// Returns the outline of a recording that has no entry and no text yet.
    pub fn empty(meta: RecordingMeta) -> Self {
        Self { meta, ..Self::default() }
    }

    fn push_meta(&mut self, found: &FoundMember) {
        let role = MemberRole::Meta(self.meta_keys.len());
        self.meta_keys.push(found.key.clone());
        let member = OutlineMember::from_found(found, role);
        self.members.push(PackedMember::new(&member, (u32::MAX, self.meta_keys.len() - 1)));
    }

    /// Adds a member that holds takes of a name. Returns whether the name is new.
    fn push(&mut self, found: &FoundMember, name: &EntryName, take: usize) -> bool {
        let (number, is_new) = self.names.insert(name);
        let member =
            OutlineMember::from_found(found, MemberRole::Takes { name: number as usize, take });
        self.members.push(PackedMember::new(&member, (number, take)));
        if let ValueShape::List(items) = &found.shape {
            self.items.extend_from_slice(items);
        }
        is_new
    }

    /// Sorts the members by name, and those of a name by take.
    fn put_in_order(&mut self) {
        self.members.shrink_to_fit();
        self.items.shrink_to_fit();
        self.names.forget_numbers();
        let takes =
            || self.members.iter().enumerate().filter_map(|(at, m)| Some((at, m.name_number()?)));
        let mut ends = vec![0_u32; self.names.count() + 1];
        takes().for_each(|(_, name)| ends[name as usize + 1] += 1);
        for name in 1..ends.len() {
            ends[name] += ends[name - 1];
        }
        let starts = ends.clone();
        let mut order = vec![0_u32; ends.last().map_or(0, |end| *end as usize)];
        for (at, name) in takes() {
            let end = &mut ends[name as usize];
            order[*end as usize] = at as u32;
            *end += 1;
        }
        for name in 0..self.names.count() {
            let of_name = &mut order[starts[name] as usize..starts[name + 1] as usize];
            of_name.sort_by_key(|&at| self.members[at as usize].take_number());
        }
        (self.order, self.starts) = (order, starts);
    }

    /// Returns the first key in the text's order that occurs a second time, among keys of takes.
    /// The takes must be in order.
    fn take_twice(&self) -> Option<(u64, String, usize)> {
        let pairs = self.order.windows(2).filter_map(|pair| {
            let [one, other] = [pair[0], pair[1]].map(|at| &self.members[at as usize]);
            (one.name_number() == other.name_number() && one.take_number() == other.take_number())
                .then_some(pair[1])
        });
        let member = self.nth_member(pairs.min()? as usize)?;
        Some((member.at, self.member_key(&member), member.line))
    }

    /// Returns the recording's metadata.
    pub fn meta(&self) -> &RecordingMeta {
        &self.meta
    }

    /// Returns the metadata key with this number.
    pub fn meta_key(&self, number: usize) -> &str {
        self.meta_keys.get(number).map_or("", String::as_str)
    }

    /// Returns the members in the text's order.
    pub fn members(&self) -> impl DoubleEndedIterator<Item = OutlineMember> + ExactSizeIterator {
        self.members.iter().map(PackedMember::to_member)
    }

    /// Returns the member with this number, counted in the text's order.
    pub fn nth_member(&self, number: usize) -> Option<OutlineMember> {
        self.members.get(number).map(PackedMember::to_member)
    }

    /// Returns the names in the order of their first keys.
    pub fn names(&self) -> impl Iterator<Item = EntryName> {
        (0..self.names.count() as u32).filter_map(|number| self.names.get(number))
    }

    /// Returns the number of names.
    pub fn count_names(&self) -> usize {
        self.names.count()
    }

    /// Returns the name with this number, in the order of [`Self::names`].
    pub fn name_at(&self, number: usize) -> Option<EntryName> {
        self.names.get(u32::try_from(number).ok()?)
    }

    /// Returns the number of a name.
    pub fn find_name(&self, name: &EntryName) -> Option<usize> {
        self.names.find_number(name).map(|number| number as usize)
    }

    /// Returns the numbers of the members of a name, in the order of their takes.
    pub fn members_of(&self, name: usize) -> &[u32] {
        let start = |name: usize| self.starts.get(name).map_or(0, |start| *start as usize);
        self.order.get(start(name)..start(name + 1)).unwrap_or_default()
    }

    /// Returns the number of takes, as far as it is known without reading them.
    pub fn most_takes(&self) -> usize {
        let lists = self.members.iter().filter(|member| member.is_list()).count();
        self.order.len() + self.items.len() - lists.min(self.order.len())
    }

    /// Returns the last member that begins at or before this offset.
    pub fn member_at(&self, place: u64) -> Option<OutlineMember> {
        let behind = self.members.partition_point(|member| member.at() <= place);
        self.nth_member(behind.checked_sub(1)?)
    }

    /// Returns a member's key in the file.
    pub fn member_key(&self, member: &OutlineMember) -> String {
        match member.role {
            MemberRole::Meta(key) => self.meta_key(key).to_owned(),
            // A step's key is its id. A hash's key includes the take number.
            MemberRole::Takes { name, take } => {
                self.name_at(name).map_or_else(String::new, |name| name.take_key(take))
            }
        }
    }

    /// Returns the ranges of the takes in a member; `None` if it is neither an entry nor a list of
    /// entries that is allowed there: see [`Self::not_entry`].
    pub fn take_ranges<'a>(
        &'a self,
        member: &OutlineMember,
    ) -> Option<impl Iterator<Item = Range<u64>> + use<'a>> {
        let (alone, items) = match member.kind {
            MemberKind::Object => (Some(member.value.clone()), &[][..]),
            MemberKind::List if self.is_step(member) => (None, self.items_in(&member.value)),
            MemberKind::List | MemberKind::Other => return None,
        };
        Some(alone.into_iter().chain(items.iter().cloned()))
    }

    /// Returns the objects in the list at this range.
    fn items_in(&self, list: &Range<u64>) -> &[Range<u64>] {
        let from = self.items.partition_point(|item| item.start < list.start);
        let to = self.items.partition_point(|item| item.start < list.end);
        self.items.get(from..to).unwrap_or_default()
    }

    fn is_step(&self, member: &OutlineMember) -> bool {
        match member.role {
            MemberRole::Takes { name, .. } => {
                u32::try_from(name).is_ok_and(|number| self.names.is_step(number))
            }
            MemberRole::Meta(_) => false,
        }
    }
}

fn parse_metadata(found: &[FoundMember]) -> Result<Map<String, Value>, FormatError> {
    let mut keys = Map::new();
    for member in found {
        let value =
            serde_json::from_slice(&member.text).map_err(|error| json_at(member.line, &error))?;
        keys.insert(member.key.clone(), value);
    }
    Ok(keys)
}
