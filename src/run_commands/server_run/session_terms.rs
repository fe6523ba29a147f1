//! What a session adds to its run.

use loomrec_engine::upstream::UpstreamClient;
use loomrec_fault::FaultPlan;
use loomrec_store::RecordingLocation;

/// What a session adds to its run.
#[derive(Clone, Default)]
pub struct SessionTerms {
    /// The faults that it was begun with.
    pub plan: Option<FaultPlan>,
    /// The rules that a control call asked for, in words.
    pub rules_by_control: Vec<String>,
    /// The recording whose rules it keeps, if it records anew.
    pub rules_of: Option<RecordingLocation>,
    /// The client that the recording sessions of a run share.
    pub client: Option<UpstreamClient>,
    /// Whether a recording that does not exist answers no call, instead of being an error.
    pub may_lack_recording: bool,
}
