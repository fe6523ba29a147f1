//! The terms under which the new text of a recording is written.

use crate::disk::Disk;
use loomrec_identity::IdentityRules;
use loomrec_recording::RecordingMeta;

/// The terms under which the new text of a recording is written beside its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StageTerms<'a> {
    pub(crate) disk: &'a Disk,
    /// The rules under which everything that is written becomes loomrec's.
    pub(crate) rules: Option<&'a IdentityRules>,
    /// The metadata of every file of a folder, whatever it was before.
    pub(crate) meta: Option<&'a RecordingMeta>,
    /// Distinguishes the temporary files from those of others.
    pub(crate) tag: &'a str,
}
