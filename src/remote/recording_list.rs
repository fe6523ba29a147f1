//! The recordings below a prefix of a bucket.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use super::address::{AddressError, RemoteAddress};
use super::object_access::ObjectAccess;
use super::object_name::ObjectName;
use super::remote_error::RemoteError;

/// A bucket, or a part of it, that holds recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePrefix {
    /// The name is empty for a whole bucket.
    address: RemoteAddress,
}

impl RemotePrefix {
    /// Reads `SCHEME://BUCKET` or `SCHEME://BUCKET/PREFIX/`. Returns `None` for the name of a
    /// recording, which does not end in `/`.
    ///
    /// # Errors
    /// As [`RemoteAddress::parse`].
    pub fn parse(text: &str) -> Option<Result<Self, AddressError>> {
        let (_, rest) = text.split_once("://")?;
        if rest.contains('/') && !rest.ends_with('/') {
            return None;
        }
        Some(RemoteAddress::parse_prefix(text).map(|address| Self { address }))
    }
}

impl fmt::Display for RemotePrefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.address.recording_name().is_empty() { "" } else { "/" };
        write!(formatter, "{}{end}", self.address)
    }
}

/// A recording in a bucket, and what it takes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRecording {
    /// Its URL.
    pub url: String,
    /// How many bytes its objects have, as they are stored.
    pub bytes: u64,
    /// How many states it has.
    pub states: usize,
    /// How many objects with entries: packs, and those of one entry.
    pub objects: usize,
    /// How many segments that are not merged, or not removed yet.
    pub segments: usize,
    /// Whether its newest state is known.
    pub has_ref: bool,
    /// When it was changed: its newest state, or a segment.
    pub changed: Option<SystemTime>,
}

/// Lists the recordings below a prefix, by name. Other objects are left out.
///
/// # Errors
/// The store fails.
pub async fn list_recordings(prefix: &RemotePrefix) -> Result<Vec<ListedRecording>, RemoteError> {
    let objects = ObjectAccess::connect(&prefix.address)?;
    let mut found: BTreeMap<String, ListedRecording> = BTreeMap::new();
    for object in objects.list_objects("").await? {
        let Some((name, part)) = ObjectName::split_path(object.location.as_ref()) else { continue };
        let listed = found.entry(name.to_owned()).or_insert_with(|| ListedRecording {
            url: prefix.address.sibling_url(name),
            bytes: 0,
            states: 0,
            objects: 0,
            segments: 0,
            has_ref: false,
            changed: None,
        });
        listed.bytes += object.size;
        let mut is_change = false;
        match part {
            ObjectName::Ref => (listed.has_ref, is_change) = (true, true),
            ObjectName::Manifest => listed.states += 1,
            ObjectName::Entry | ObjectName::Pack => listed.objects += 1,
            ObjectName::Segment => (listed.segments, is_change) = (listed.segments + 1, true),
            ObjectName::Tag | ObjectName::Recorder | ObjectName::Index => {}
        }
        if is_change {
            listed.changed = listed.changed.max(Some(object.last_modified.into()));
        }
    }
    Ok(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_with_a_slash_or_is_a_bucket() {
        for (text, shown) in [
            ("s3://bucket", Some("s3://bucket/")),
            ("s3://bucket/", Some("s3://bucket/")),
            ("gs://bucket/team/agents/", Some("gs://bucket/team/agents/")),
            ("s3://bucket/agent", None),
            ("s3://bucket/agent@tag", None),
            ("recordings/", None),
        ] {
            let prefix = RemotePrefix::parse(text).map(|parsed| parsed.unwrap().to_string());
            assert_eq!(prefix.as_deref(), shown, "{text}");
        }
        for text in ["s3://b", "s3://bucket//", "s3://bucket/a b/", "s3://user:secret@bucket/"] {
            assert!(RemotePrefix::parse(text).unwrap().is_err(), "{text}");
        }
    }
}
