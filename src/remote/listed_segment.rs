//! The names of segments.

use super::content_hash::ContentHash;

/// The name of a segment in its bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedSegment {
    /// The id of its recorder.
    pub recorder: String,
    /// Its number, from 1.
    pub number: u32,
    /// The hash of its bytes; `None` if an earlier version of loomrec has written it.
    pub hash: Option<ContentHash>,
}

/// The last part of a segment's path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SegmentName {
    pub(crate) number: u32,
    pub(crate) hash: Option<ContentHash>,
}

impl SegmentName {
    /// Reads `000001.HASH`, or `000001` as earlier versions wrote it. Returns `None` for other names.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (digits, hash) = match name.split_once('.') {
            Some((digits, hash)) => (digits, Some(ContentHash::from_digits(hash)?)),
            None => (name, None),
        };
        let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|&number| is_number && number > 0)?;
        Some(Self { number, hash })
    }
}

impl ListedSegment {
    /// Returns the object's path below the recording's.
    pub(crate) fn object_path(&self) -> String {
        let Self { recorder, number, hash } = self;
        match hash {
            Some(hash) => format!("runs/{recorder}/{number:06}.{}", hash.digits()),
            None => format!("runs/{recorder}/{number:06}"),
        }
    }

    /// Reads the parts of a path below `runs`. Returns `None` for other objects.
    pub(crate) fn parse(parts: &[String]) -> Option<Self> {
        let [recorder, name] = parts else { return None };
        let SegmentName { number, hash } = SegmentName::parse(name)?;
        Some(Self { recorder: recorder.clone(), number, hash })
    }

    /// Whether both are of one recorder and number, and differ.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let both = self.hash.is_some() && other.hash.is_some();
        let is_same_place = self.recorder == other.recorder && self.number == other.number;
        both && is_same_place && self.hash != other.hash
    }
}
