//! A compact form of a top-level member.

use super::{MemberKind, MemberRole, OutlineMember};
use crate::scan::{FoundMember, ValueShape};

/// Replaces the name of a member that is metadata.
const META: u32 = u32::MAX;

/// An [`OutlineMember`] in 28 bytes. A recording has at most 4 GiB.
#[derive(Clone, Debug)]
pub(super) struct PackedMember {
    /// The offset of its key.
    at: u32,
    kind: MemberKind,
    tidy: bool,
    line: u32,
    /// The distance from its key to its value, and the length of the value.
    value: u32,
    length: u32,
    /// The number of its name, or [`META`].
    name: u32,
    /// The take number, or the number of its key among the metadata.
    take: u32,
}

fn saturating_u32(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

impl PackedMember {
    /// Packs `member` with this name and take.
    pub(super) fn new(member: &OutlineMember, (name, take): (u32, usize)) -> Self {
        Self {
            at: saturating_u32(member.at),
            kind: member.kind,
            tidy: member.tidy,
            line: saturating_u32(member.line),
            value: saturating_u32(member.value.start - member.at),
            length: saturating_u32(member.value.end - member.value.start),
            name,
            take: saturating_u32(take),
        }
    }

    pub(super) fn at(&self) -> u64 {
        u64::from(self.at)
    }

    /// Returns the number of its name; `None` for metadata.
    pub(super) fn name_number(&self) -> Option<u32> {
        (self.name != META).then_some(self.name)
    }

    /// Whether its value is a list of objects.
    pub(super) fn is_list(&self) -> bool {
        self.kind == MemberKind::List
    }

    pub(super) fn take_number(&self) -> u32 {
        self.take
    }

    pub(super) fn to_member(&self) -> OutlineMember {
        let from = self.at() + u64::from(self.value);
        let take = self.take as usize;
        let role = match self.name_number() {
            Some(name) => MemberRole::Takes { name: name as usize, take },
            None => MemberRole::Meta(take),
        };
        OutlineMember {
            at: self.at(),
            line: self.line as usize,
            value: from..from + u64::from(self.length),
            kind: self.kind,
            tidy: self.tidy,
            role,
        }
    }
}

impl OutlineMember {
    pub(super) fn from_found(found: &FoundMember, role: MemberRole) -> Self {
        let kind = match found.shape {
            ValueShape::Object => MemberKind::Object,
            ValueShape::List(_) => MemberKind::List,
            ValueShape::Other => MemberKind::Other,
        };
        let (at, line, value, tidy) = (found.at, found.line, found.value.clone(), found.tidy);
        Self { at, line, value, kind, tidy, role }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_comes_back_as_it_was_packed() {
        assert_eq!(size_of::<PackedMember>(), 28);
        let at = 0xfedc_ba98;
        for role in [MemberRole::Meta(3), MemberRole::Takes { name: 7, take: 1_000_000 }] {
            let value = at + 70..at + 90;
            let member =
                OutlineMember { at, line: 12, value, kind: MemberKind::List, tidy: true, role };
            let named = match role {
                MemberRole::Meta(key) => (META, key),
                MemberRole::Takes { name, take } => (name as u32, take),
            };
            let packed = PackedMember::new(&member, named);
            assert_eq!(format!("{:?}", packed.to_member()), format!("{member:?}"));
        }
    }
}
