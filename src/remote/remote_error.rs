//! The errors of remote recordings.

use std::io;
use std::path::PathBuf;

use loomrec_store::StoreError;

use super::address::AddressError;
use super::lost_reference::LostReference;
use super::manifest::ManifestError;

/// Why a remote recording cannot be used. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The name is not one of a remote recording.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A pointer file cannot be used.
    #[error("read the pointer file {}: {problem}", .path.display())]
    Pointer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The client of the store cannot be made.
    #[error("set up the client of {url}: {problem}")]
    Setup {
        /// The recording.
        url: String,
        /// What is wrong with the settings.
        problem: String,
    },
    /// The store does not answer, or fails.
    #[error("reach the store of {url} at {endpoint}: {problem}; {hint}")]
    Unreachable {
        /// The recording.
        url: String,
        /// The address of the store.
        endpoint: String,
        /// The last problem.
        problem: String,
        /// The variable that sets the address.
        hint: &'static str,
    },
    /// The store does not answer an upload.
    #[error("send the segments to {url}: the store does not answer")]
    Silent {
        /// The recording.
        url: String,
    },
    /// The store refuses the credentials, or what they are used for.
    #[error("{action} {url}: the store answers {reason}; {hint}")]
    Denied {
        /// What was tried.
        action: &'static str,
        /// The recording.
        url: String,
        /// The store's own word.
        reason: String,
        /// What helps.
        hint: &'static str,
    },
    /// The store refuses requests of this machine because of its clock.
    #[error(
        "use {url}: the store refuses requests because of the clock of this machine, which shows \
         {machine} while that of the store shows {store}; set the clock"
    )]
    ClockSkew {
        /// The recording.
        url: String,
        /// The time of this machine's clock.
        machine: String,
        /// The time of the store's clock.
        store: String,
    },
    /// There are no credentials.
    #[error(
        "find the credentials for {url}: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or those of \
         its cloud) are not set, and this machine has no role; AWS_SKIP_SIGNATURE=true reads a \
         public bucket"
    )]
    NoCredentials {
        /// The recording.
        url: String,
    },
    /// The address is not one of `https`, and that is not allowed.
    #[error("reach the store of {url} at {endpoint}: set AWS_ALLOW_HTTP=true to use http://")]
    PlainHttp {
        /// The recording.
        url: String,
        /// The address of the store.
        endpoint: String,
    },
    /// An entry holds a secret of the store.
    #[error(
        "push {name} to {url}: its text holds a credential of the store; remove it with \
         `loomrec redact --redact REGEX`"
    )]
    Secret {
        /// The recording.
        url: String,
        /// The entry.
        name: String,
    },
    /// The store has no conditional writes.
    #[error(
        "write to {url}: the store at {endpoint} has no conditional writes (If-None-Match and \
         If-Match), so machines that write at the same time would lose calls; use a store that has \
         them: docs/remote.md names some"
    )]
    NoConditions {
        /// The recording.
        url: String,
        /// The address of the store.
        endpoint: String,
    },
    /// There is no such bucket.
    #[error("find the bucket of {url}: the store at {endpoint} has none of this name")]
    NoBucket {
        /// The recording.
        url: String,
        /// The address of the store.
        endpoint: String,
    },
    /// There is no recording, or no such state of it.
    #[error("find {what} of {url}: the store does not have it; {hint}")]
    NotFound {
        /// What was looked for.
        what: String,
        /// The recording.
        url: String,
        /// What helps.
        hint: &'static str,
    },
    /// An object is not what its name says.
    #[error("use the object {path} of {url}: {problem}; {hint}", hint = OBJECT_HINT)]
    Object {
        /// The object's path in the bucket.
        path: String,
        /// The recording.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Another version of loomrec wrote an object.
    #[error(
        "use the object {path} of {url}: its format is {found:?}, and this version of loomrec \
         reads {known:?}; use the version that wrote it"
    )]
    OtherFormat {
        /// The object's path in the bucket.
        path: String,
        /// The recording.
        url: String,
        /// The format that it names.
        found: String,
        /// The format that this version reads.
        known: String,
    },
    /// Several objects are not what their names say.
    #[error("use {count} objects of {url}: {problems}; {hint}", hint = OBJECT_HINT)]
    Objects {
        /// How many.
        count: usize,
        /// The recording.
        url: String,
        /// The path of each, and what is wrong with it: at most 20 of them.
        problems: String,
    },
    /// A state is too large.
    #[error("use {url}: {what} would have {bytes} bytes; the most is {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The recording.
        url: String,
        /// How many bytes it has.
        bytes: u64,
        /// The most that it may have.
        limit: u64,
    },
    /// A manifest cannot be read.
    #[error("read the manifest of {url}")]
    Manifest {
        /// The recording.
        url: String,
        /// What is wrong with it.
        #[source]
        source: ManifestError,
    },
    /// Others have changed the newest state.
    #[error(
        "push to {url}: its newest state is {found}, and the pointer file beside the recording does \
         not name it"
    )]
    Moved {
        /// The recording.
        url: String,
        /// The newest state.
        found: String,
    },
    /// Recorders have uploaded calls that are not merged.
    #[error(
        "push to {url}: recorders have uploaded calls that no state has yet (segments: \
         {segments}), which would change what is pushed; run `loomrec merge {url}` and pull \
         again, or give --force"
    )]
    Unmerged {
        /// The recording.
        url: String,
        /// How many segments.
        segments: usize,
    },
    /// Recorders have uploaded calls that are not merged, and may hold what is to be removed.
    #[error(
        "purge {url}: recorders have uploaded calls that no state has yet (segments: {segments}); \
         run `loomrec merge {url}`, see what it merged, and purge again"
    )]
    UnmergedPurge {
        /// The recording.
        url: String,
        /// How many segments.
        segments: usize,
    },
    /// Segments are missing although later ones of their recorder are there.
    #[error(
        "merge the segments of {url}: the store does not have {gaps}, and has later ones; if a \
         machine still has them, run `loomrec merge {url}` there, else `loomrec merge {url} \
         --force` merges what is there"
    )]
    Gap {
        /// The recording.
        url: String,
        /// The missing segments.
        gaps: String,
    },
    /// A recorder has two segments of one number that differ.
    #[error(
        "merge the segments of {url}: {one} and {other} are two segments of one number, so one of \
         them is not what its recorder has written; remove that one"
    )]
    TwinSegments {
        /// The recording.
        url: String,
        /// The path of one.
        one: String,
        /// The path of the other.
        other: String,
    },
    /// The reference is lost or damaged although there are states.
    #[error(transparent)]
    LostRef(Box<LostReference>),
    /// The reference is to be restored, and is not lost.
    #[error(
        "restore the newest state of {url}: it is known, and is {found}; leave @sha256:HASH out \
         unless the reference is missing or damaged"
    )]
    RefPresent {
        /// The recording.
        url: String,
        /// The newest state.
        found: String,
    },
    /// A tag names another state already.
    #[error("give {url} the tag {tag}: it names another state already, and tags never move")]
    TagTaken {
        /// The recording.
        url: String,
        /// The tag.
        tag: String,
    },
    /// Others kept changing the newest state.
    #[error("change the newest state of {url}: others keep changing it; try again")]
    Contended {
        /// The recording.
        url: String,
    },
    /// Segments were recorded under other rules than those of the recording.
    #[error(
        "merge the segments of {url}: those of {recorders} were recorded under other rules (such \
         as --ignore) than the recording has; they stay in the store"
    )]
    OtherRules {
        /// The recording.
        url: String,
        /// The recorders.
        recorders: String,
    },
    /// The state in the cache cannot be used without the store.
    #[error(
        "{problem}; --stale-ok would use the last state that this machine has seen, but it has \
             seen none"
    )]
    NothingSeen {
        /// Why the store could not be asked.
        problem: Box<RemoteError>,
    },
    /// A file of this machine cannot be read or written.
    #[error("use {}", .path.display())]
    LocalFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: io::Error,
    },
    /// A recording on this machine cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many objects that cannot be used are named.
const NAMED_OBJECTS: usize = 20;

/// What to do about an object that cannot be used.
const OBJECT_HINT: &str = "nothing of this state was used; `loomrec verify --fix` with its name \
                           restores what this machine or a segment has, `loomrec push --fix` \
                           what a recording has";

impl RemoteError {
    /// Creates the error of a local file, for `map_err`.
    pub(crate) fn at_path(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::LocalFile { path, source }
    }

    /// Returns the message and those of its causes.
    pub fn chain(&self) -> String {
        loomrec_identity::error_chain(self)
    }

    /// Joins the errors of objects that cannot be used into one. Returns `None` if the list is empty.
    pub(crate) fn join_objects(mut errors: Vec<Self>) -> Option<Self> {
        let count = errors.len();
        if count < 2 {
            return errors.pop();
        }
        let mut recording = String::new();
        let mut problems = Vec::new();
        for error in errors {
            if let Self::Object { path, url, problem } = error {
                problems.push(format!("{path}: {problem}"));
                recording = url;
            }
        }
        problems.sort();
        problems.truncate(NAMED_OBJECTS);
        Some(Self::Objects { count, url: recording, problems: problems.join("; ") })
    }

    /// Whether the store could not be reached, so that a later attempt may succeed.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether an object is missing or damaged.
    pub fn is_about_objects(&self) -> bool {
        matches!(self, Self::Object { .. } | Self::Objects { .. } | Self::Manifest { .. })
    }

    /// Whether the command line or the pointer file names something impossible.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Address(_) | Self::Setup { .. })
    }
}
