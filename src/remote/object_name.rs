//! The names of a recording's objects.

use super::content_hash::ContentHash;
use super::listed_segment::SegmentName;

/// What is directly below the name of a recording: its reference, and the folders of its objects.
pub(crate) const OBJECT_NAMES: [&str; 7] =
    ["ref", "tags", "manifests", "indexes", "packs", "objects", "runs"];

/// What an object of a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectName {
    /// The reference.
    Ref,
    /// A tag.
    Tag,
    /// The manifest of a state.
    Manifest,
    /// The index of a state.
    Index,
    /// An entry.
    Entry,
    /// A pack of entries.
    Pack,
    /// The file of a recorder.
    Recorder,
    /// A segment of a recorder.
    Segment,
}

impl ObjectName {
    /// Splits the path of an object into the name of its recording and what it is. Returns `None` if
    /// it is no object of a recording.
    pub(crate) fn split_path(path: &str) -> Option<(&str, Self)> {
        let (rest, last) = path.rsplit_once('/')?;
        if last == "ref" {
            return Some((rest, Self::Ref));
        }
        let (before, folder) = rest.rsplit_once('/')?;
        match folder {
            "tags" => return Some((before, Self::Tag)),
            "manifests" if is_hash(last) => return Some((before, Self::Manifest)),
            "indexes" if is_hash(last) => return Some((before, Self::Index)),
            "packs" if is_hash(last) => return Some((before, Self::Pack)),
            _ => {}
        }
        let (name, kind) = before.rsplit_once('/')?;
        match kind {
            "objects" if is_hash(last) && last.starts_with(folder) && folder.len() == 2 => {
                Some((name, Self::Entry))
            }
            "runs" if last == "recorder.json" => Some((name, Self::Recorder)),
            "runs" if SegmentName::parse(last).is_some() => Some((name, Self::Segment)),
            _ => None,
        }
    }
}

fn is_hash(text: &str) -> bool {
    ContentHash::parse(&format!("sha256:{text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_split_into_the_recording_and_the_object() {
        let digits = "ab".repeat(32);
        for (path, expected) in [
            ("team/agent/ref".to_owned(), Some(("team/agent", ObjectName::Ref))),
            ("agent/tags/v1".to_owned(), Some(("agent", ObjectName::Tag))),
            (format!("agent/manifests/{digits}"), Some(("agent", ObjectName::Manifest))),
            (format!("agent/indexes/{digits}"), Some(("agent", ObjectName::Index))),
            (format!("agent/packs/{digits}"), Some(("agent", ObjectName::Pack))),
            (format!("a/b/objects/ab/{digits}"), Some(("a/b", ObjectName::Entry))),
            ("agent/runs/r1/recorder.json".to_owned(), Some(("agent", ObjectName::Recorder))),
            ("agent/runs/r1/000001".to_owned(), Some(("agent", ObjectName::Segment))),
            (format!("agent/runs/r1/000001.{digits}"), Some(("agent", ObjectName::Segment))),
            (format!("agent/runs/r1/000001.{}", &digits[1..]), None),
            ("agent/runs/r1/1".to_owned(), None),
            ("agent/packs/1".to_owned(), None),
            ("agent/notes.txt".to_owned(), None),
            (format!("agent/objects/cd/{digits}"), None),
            (format!("agent/manifests/{}", &digits[1..]), None),
            (format!("manifests/{digits}"), None),
            ("ref".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(ObjectName::split_path(&path), expected, "{path}");
        }
    }
}
