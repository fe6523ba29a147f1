//! The names of remote recordings: a URL, and the state that is meant.

use std::fmt;

use loomrec_store::{BucketUrl, REMOTE_SCHEMES};

use super::content_hash::ContentHash;
use super::object_name::OBJECT_NAMES;

/// The longest name of a recording within its bucket, in bytes.
const LONGEST: usize = 512;

/// The longest tag, in bytes.
const LONGEST_TAG: usize = 128;

/// The URL of a remote recording, without a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    bucket: BucketUrl,
    name: String,
}

/// The state of a recording that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateSelector {
    /// The newest, with all segments that are not merged.
    Newest,
    /// The one with this hash.
    Manifest(ContentHash),
    /// The one with this tag.
    Tag(String),
}

/// A remote recording, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteName {
    /// Where the recording is.
    pub address: RemoteAddress,
    /// Which of its states is meant.
    pub state: StateSelector,
}

/// What is wrong with the name of a remote recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read {text} as the name of a remote recording: {problem}")]
pub struct AddressError {
    text: String,
    problem: &'static str,
}

impl AddressError {
    /// Creates the error. A user and a password in the text are not shown.
    fn new(text: &str, problem: &'static str) -> Self {
        let scheme = text.find("://").map_or(0, |at| at + 3);
        let host = text[scheme..].find('/').map_or(text.len(), |at| scheme + at);
        let text = match text[scheme..host].rfind('@') {
            Some(at) => format!("{}…{}", &text[..scheme], &text[scheme + at..]),
            None => text.to_owned(),
        };
        Self { text, problem }
    }
}

impl RemoteAddress {
    /// Reads `SCHEME://BUCKET/NAME`.
    ///
    /// # Errors
    /// The scheme is unknown, or a part is missing or has other characters.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let failed = |problem| AddressError::new(text, problem);
        let (scheme, rest) = text
            .split_once("://")
            .filter(|(scheme, _)| REMOTE_SCHEMES.contains(scheme))
            .ok_or_else(|| failed("it must begin with s3://, gs:// or az://"))?;
        let (bucket, name) = rest
            .split_once('/')
            .ok_or_else(|| failed("a bucket and a name are needed, such as s3://BUCKET/NAME"))?;
        let bucket = BucketUrl::new(scheme, bucket).ok_or_else(|| {
            failed("the name of a bucket has 3 or more letters, digits and - _ .")
        })?;
        if name.len() > LONGEST || !name.split('/').all(is_part) {
            return Err(failed(
                "the name has parts of letters, digits and - _ . + = , with a / between two",
            ));
        }
        Ok(Self { bucket, name: name.to_owned() })
    }

    /// Refuses a new recording whose objects would be among those of another.
    ///
    /// # Errors
    /// A part of the name, other than the first, is the name of something in each recording.
    pub fn refuse_object_names(&self) -> Result<(), AddressError> {
        let problem = "a part after the first must not be ref, tags, manifests, indexes, packs, \
                       objects or runs, where recordings have their objects";
        match self.name.split('/').skip(1).any(|part| OBJECT_NAMES.contains(&part)) {
            true => Err(AddressError::new(&self.to_string(), problem)),
            false => Ok(()),
        }
    }

    /// Reads `SCHEME://BUCKET/PREFIX/`. The name is the prefix without its last `/`, and empty for a
    /// whole bucket.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(crate) fn parse_prefix(text: &str) -> Result<Self, AddressError> {
        let trimmed = text.strip_suffix('/').unwrap_or(text);
        let has_name = trimmed.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        if has_name {
            return Self::parse(trimmed).map_err(|error| AddressError::new(text, error.problem));
        }
        // A bucket alone is read as that of a recording.
        let of_recording = Self::parse(&format!("{trimmed}/all"));
        let of_recording = of_recording.map_err(|error| AddressError::new(text, error.problem))?;
        Ok(Self { name: String::new(), ..of_recording })
    }

    /// Returns the URL of another recording in the same bucket.
    pub(crate) fn sibling_url(&self, name: &str) -> String {
        format!("{}/{name}", self.bucket)
    }

    /// Returns the scheme: `s3`, `gs` or `az`.
    pub fn scheme(&self) -> &'static str {
        self.bucket.scheme()
    }

    /// Returns the name of the bucket.
    pub fn bucket_name(&self) -> &str {
        self.bucket.name()
    }

    /// Returns the URL of the bucket.
    pub fn bucket_url(&self) -> &BucketUrl {
        &self.bucket
    }

    /// Returns the name of the recording in its bucket.
    pub fn recording_name(&self) -> &str {
        &self.name
    }
}

/// Whether a text can be a part of a name or a tag.
fn is_part(part: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.+=,".contains(letter);
    !part.is_empty() && part != "." && part != ".." && part.chars().all(is_letter)
}

/// Reads the name of a tag.
///
/// # Errors
/// It is empty, too long or has other characters.
fn parse_tag(text: &str) -> Result<String, AddressError> {
    if is_part(text) && text.len() <= LONGEST_TAG && !text.starts_with("sha256") {
        return Ok(text.to_owned());
    }
    let problem = "a tag has up to 128 letters, digits and - _ . + = , and no sha256 at its front";
    Err(AddressError::new(text, problem))
}

impl RemoteName {
    /// Reads `SCHEME://BUCKET/NAME`, with `@sha256:HASH` or `@TAG` after it or without.
    ///
    /// # Errors
    /// As [`RemoteAddress::parse`], or the state is neither a hash nor a tag.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (address, state) = match text.split_once('@') {
            None => (text, StateSelector::Newest),
            // An `@` before the name is that of a user.
            Some((address, _)) if address.matches('/').count() < 3 => (text, StateSelector::Newest),
            Some((address, state)) => (address, parse_state(text, state)?),
        };
        Ok(Self { address: RemoteAddress::parse(address)?, state })
    }
}

fn parse_state(text: &str, state: &str) -> Result<StateSelector, AddressError> {
    if state.starts_with("sha256:") {
        let problem = "a state is named by @sha256: and 64 lower-case hex digits, or by @TAG";
        let failed = |_| AddressError::new(text, problem);
        return ContentHash::parse(state).map(StateSelector::Manifest).map_err(failed);
    }
    parse_tag(state).map(StateSelector::Tag)
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.bucket, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_has_an_address_and_a_state() {
        let hash = ContentHash::from_bytes(b"");
        for (text, address, state) in [
            ("s3://bucket/agent".to_owned(), "s3://bucket/agent", StateSelector::Newest),
            (
                format!("gs://my.bucket/team/agent@{hash}"),
                "gs://my.bucket/team/agent",
                StateSelector::Manifest(hash.clone()),
            ),
            ("az://box/a@v1.2".to_owned(), "az://box/a", StateSelector::Tag("v1.2".to_owned())),
        ] {
            let name = RemoteName::parse(&text).unwrap();
            assert_eq!((name.address.to_string().as_str(), name.state), (address, state));
        }
    }

    #[test]
    fn password_is_not_shown() {
        let error = RemoteName::parse("s3://user:secret@bucket/agent").unwrap_err().to_string();
        assert!(error.contains("s3://…@bucket/agent") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn name_among_the_objects_of_another_recording_is_refused_for_a_new_one() {
        let refused = |text: &str| RemoteAddress::parse(text).unwrap().refuse_object_names();
        for text in ["s3://bucket/agent", "s3://bucket/tags", "s3://bucket/runs/agent"] {
            assert_eq!(refused(text), Ok(()));
        }
        for part in OBJECT_NAMES {
            for text in [format!("s3://bucket/agent/{part}"), format!("s3://bucket/x/{part}/y")] {
                let error = refused(&text).unwrap_err().to_string();
                assert!(error.contains(&text) && error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "https://bucket/agent",
            "s3:/bucket/agent",
            "s3://bucket",
            "s3://bucket/",
            "s3://bucket//a",
            "s3://bucket/a/",
            "s3://bucket/../a",
            "s3://b/a",
            "s3://buc%2fket/a",
            "s3://bucket/a b",
            "s3://bucket/a@",
            "s3://bucket/a@sha256:12",
            "s3://bucket/a@x/y",
            "s3://bucket/a@x@y",
        ] {
            assert!(RemoteName::parse(text).is_err(), "{text}");
        }
    }
}
