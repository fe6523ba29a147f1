//! A recording's outline: its metadata, its names, and where the takes of each
//! stand in the text.
//!
//! It is made while the text is read once, in pieces; see [`super::scan`]. A recording
//! may have millions of entries, so each takes few bytes here.

mod member;
mod place;
mod problem;
mod recording_outline;

use member::Kind;
pub use member::{MemberRole, OutlineMember};
pub use recording_outline::RecordingOutline;

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::entry_name::EntryName;
use super::error::FormatError;
use super::meta::RecordingMeta;
use super::scan::{FoundMember, MemberScanner, NotSplit, ValueShape};
use place::PackedMember;
use problem::json_at;

/// Once a text has shown so many members, room is made for as many as it seems to have, so
/// that lists do not grow.
const SAMPLE: usize = 4096;
/// Room for more members is not made at once.
const MOST_ROOM: usize = 4 << 20;

/// Makes an [`RecordingOutline`] of the pieces of a text.
#[derive(Debug)]
pub struct OutlineBuilder {
    scanner: MemberScanner,
    outline: RecordingOutline,
    /// How long the text is, until room is made for its members.
    expected: Option<u64>,
    /// How many bytes have been read.
    read: u64,
    /// The members that are metadata.
    meta: Vec<FoundMember>,
    meta_keys: HashSet<String>,
    /// The first key that stands there a second time: its place, itself and its line.
    twice: Option<(u64, String, usize)>,
}

/// Why there is no outline.
#[derive(Debug)]
pub enum NoOutline {
    /// The text is not a JSON object. A parser of the whole text says where it goes wrong.
    NotSplit,
    /// The text of a metadata key is not JSON. This error is for a parser that finds nothing.
    Meta(FormatError),
    /// Something else.
    Format(FormatError),
}

impl Default for OutlineBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl OutlineBuilder {
    /// For a text of which nothing has been read.
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

    /// The same for a text of so many bytes.
    pub fn expecting(bytes: u64) -> Self {
        Self { expected: Some(bytes), ..Self::new() }
    }

    /// Makes room for as many members as the text seems to have.
    fn make_room(&mut self) {
        let known = self.outline.members.len();
        let Some(bytes) = self.expected.filter(|_| known >= SAMPLE) else { return };
        self.expected = None;
        // An eighth more, since members are not all of one length.
        let members = (known as u64).saturating_mul(bytes) / self.read.max(1);
        let members =
            usize::try_from(members + members / 8).map_or(MOST_ROOM, |n| n.min(MOST_ROOM));
        // Without it the lists grow as they are filled.
        let more = members.saturating_sub(known);
        let _members = self.outline.members.try_reserve_exact(more);
        self.outline.names.reserve(members);
    }

    /// Reads on.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), NotSplit> {
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
                // Keys of hashes are compared once the takes are in order.
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

    /// The outline, once all of the text has been fed.
    pub fn finish(self) -> Result<RecordingOutline, NoOutline> {
        let Self { scanner, mut outline, meta, twice, .. } = self;
        scanner.finish().map_err(|NotSplit| NoOutline::NotSplit)?;
        outline.put_in_order();
        let twice = twice.into_iter().chain(outline.take_twice()).min_by_key(|(at, ..)| *at);
        if let Some((_, key, line)) = twice {
            return Err(NoOutline::Format(FormatError::DuplicateKey { key, line }));
        }
        let keys = metadata(&meta).map_err(NoOutline::Meta)?;
        outline.meta = RecordingMeta::parse(keys).map_err(NoOutline::Format)?;
        Ok(outline)
    }
}

impl RecordingOutline {
    /// The outline of a recording that has no entry and no text yet.
    pub fn empty(meta: RecordingMeta) -> Self {
        Self { meta, ..Self::default() }
    }

    /// One outline of texts that stand one behind the other, each from where it is
    /// said to begin, with one member that is no metadata each. `meta` stands for
    /// that of all; the takes of a name come one behind the other.
    pub fn joined(meta: RecordingMeta, texts: impl IntoIterator<Item = (u64, Self)>) -> Self {
        let mut joined = Self::empty(meta);
        for (base, outline) in texts {
            for member in outline.members() {
                let MemberRole::Takes { name, take } = member.role else { continue };
                let Some(name) = outline.name(name) else { continue };
                let (number, _) = joined.names.insert(&name);
                joined.members.push(PackedMember::new(&member, base, (number, take)));
                let items = outline.items_in(&member.value).iter();
                joined.items.extend(items.map(|item| item.start + base..item.end + base));
            }
        }
        joined.put_in_order();
        joined
    }

    fn push_meta(&mut self, found: &FoundMember) {
        let role = MemberRole::Meta(self.meta_keys.len());
        self.meta_keys.push(found.key.clone());
        let member = OutlineMember::of(found, role);
        self.members.push(PackedMember::new(&member, 0, (u32::MAX, self.meta_keys.len() - 1)));
    }

    /// Adds a member that holds takes of a name; gives whether the name is new.
    fn push(&mut self, found: &FoundMember, name: &EntryName, take: usize) -> bool {
        let (number, is_new) = self.names.insert(name);
        let member = OutlineMember::of(found, MemberRole::Takes { name: number as usize, take });
        self.members.push(PackedMember::new(&member, 0, (number, take)));
        if let ValueShape::List(items) = &found.shape {
            self.items.extend_from_slice(items);
        }
        is_new
    }

    /// Finds the members of each name, in the order of their takes.
    fn put_in_order(&mut self) {
        self.members.shrink_to_fit();
        self.items.shrink_to_fit();
        self.names.forget_numbers();
        let takes = || self.members.iter().enumerate().filter_map(|(at, m)| Some((at, m.name()?)));
        let mut ends = vec![0_u32; self.names.len() + 1];
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
        for name in 0..self.names.len() {
            let of_name = &mut order[starts[name] as usize..starts[name + 1] as usize];
            of_name.sort_by_key(|&at| self.members[at as usize].take());
        }
        (self.order, self.starts) = (order, starts);
    }

    /// The first key in the text's order that stands there a second time, among those of
    /// takes in order.
    fn take_twice(&self) -> Option<(u64, String, usize)> {
        let pairs = self.order.windows(2).filter_map(|pair| {
            let [one, other] = [pair[0], pair[1]].map(|at| &self.members[at as usize]);
            (one.name() == other.name() && one.take() == other.take()).then_some(pair[1])
        });
        let member = self.member(pairs.min()? as usize)?;
        Some((member.at, self.key(&member), member.line))
    }

    /// What the recording says about itself.
    pub fn meta(&self) -> &RecordingMeta {
        &self.meta
    }

    /// The key of metadata, by its number.
    pub fn meta_key(&self, number: usize) -> &str {
        self.meta_keys.get(number).map_or("", String::as_str)
    }

    /// The members in the text's order.
    pub fn members(&self) -> impl DoubleEndedIterator<Item = OutlineMember> + ExactSizeIterator {
        self.members.iter().map(PackedMember::member)
    }

    /// The member of a number, in the text's order.
    pub fn member(&self, number: usize) -> Option<OutlineMember> {
        self.members.get(number).map(PackedMember::member)
    }

    /// The names in the order of their first keys.
    pub fn names(&self) -> impl Iterator<Item = EntryName> {
        (0..self.names.len() as u32).filter_map(|number| self.names.get(number))
    }

    /// How many names there are.
    pub fn count_names(&self) -> usize {
        self.names.len()
    }

    /// The name of a number, in that order.
    pub fn name(&self, number: usize) -> Option<EntryName> {
        self.names.get(u32::try_from(number).ok()?)
    }

    /// The number of a name.
    pub fn find_name(&self, name: &EntryName) -> Option<usize> {
        self.names.find(name).map(|number| number as usize)
    }

    /// The numbers of the members of a name, in the order of their takes.
    pub fn members_of(&self, name: usize) -> &[u32] {
        let start = |name: usize| self.starts.get(name).map_or(0, |start| *start as usize);
        self.order.get(start(name)..start(name + 1)).unwrap_or_default()
    }

    /// How many takes there are, as far as that is seen without reading them.
    pub fn most_takes(&self) -> usize {
        let lists = self.members.iter().filter(|member| member.is_list()).count();
        self.order.len() + self.items.len() - lists.min(self.order.len())
    }

    /// The member that a place in the text is in or behind.
    pub fn member_at(&self, place: u64) -> Option<OutlineMember> {
        let behind = self.members.partition_point(|member| member.at() <= place);
        self.member(behind.checked_sub(1)?)
    }

    /// A member's key in the file.
    pub fn key(&self, member: &OutlineMember) -> String {
        match member.role {
            MemberRole::Meta(key) => self.meta_key(key).to_owned(),
            // A step's key is its id; a hash's carries the number.
            MemberRole::Takes { name, take } => {
                self.name(name).map_or_else(String::new, |name| name.take_key(take))
            }
        }
    }

    /// Where the takes in a member stand; `None` where it is no entry and no list
    /// of entries that may stand there: see [`Self::not_entry`].
    pub fn takes<'a>(
        &'a self,
        member: &OutlineMember,
    ) -> Option<impl Iterator<Item = Range<u64>> + use<'a>> {
        let (alone, items) = match member.kind {
            Kind::Object => (Some(member.value.clone()), &[][..]),
            Kind::List if self.is_step(member) => (None, self.items_in(&member.value)),
            Kind::List | Kind::Other => return None,
        };
        Some(alone.into_iter().chain(items.iter().cloned()))
    }

    /// The objects in the list that stands there.
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

impl OutlineMember {
    /// The number of its take in its key; 0 for metadata.
    pub fn take(&self) -> usize {
        match self.role {
            MemberRole::Takes { take, .. } => take,
            MemberRole::Meta(_) => 0,
        }
    }
}

fn metadata(found: &[FoundMember]) -> Result<Map<String, Value>, FormatError> {
    let mut keys = Map::new();
    for member in found {
        let value =
            serde_json::from_slice(&member.text).map_err(|error| json_at(member.line, &error))?;
        keys.insert(member.key.clone(), value);
    }
    Ok(keys)
}
