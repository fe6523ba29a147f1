//! How the new text of a recording is written.

use crate::disk::Disk;
use loomrec_identity::IdentityRules;
use loomrec_recording::RecordingMeta;

/// How the new text of a recording is written beside its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StageTerms<'a> {
    pub(crate) disk: &'a Disk,
    /// The rules that everything that is written is made ours under.
    pub(crate) rules: Option<&'a IdentityRules>,
    /// What every file of a folder says about itself, whatever it said before.
    pub(crate) meta: Option<&'a RecordingMeta>,
    /// Tells the temporary files from what others write there.
    pub(crate) tag: &'a str,
}
