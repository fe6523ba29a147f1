//! A request that is to be sent again.

use std::sync::Arc;

use crate::upstream::UpstreamRequest;
use loomrec_identity::{RequestKey, RunValueFinder};
use loomrec_recording::EntryName;
use loomrec_recording::PendingChange;
use loomrec_recording::entry::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;

/// A request that is to be sent again.
#[derive(Debug)]
pub struct RerecordRequest {
    /// The request as it is stored.
    pub observed: NormalizedRequest,
    /// Its key.
    pub key: RequestKey,
    /// The name that the new exchange is kept under.
    pub name: EntryName,
    /// The request as it is sent.
    pub forward: UpstreamRequest,
    /// The credentials in the request as it is sent.
    pub secrets: Arc<CallCredentials>,
    /// The values of the run that the request was made in.
    pub run_values: Arc<RunValueFinder>,
    /// The mark that the new exchange gets: why it was recorded, and what it replaces.
    pub pending: PendingChange,
    /// The take that this request was recorded in, for the comparison; `None` for a new call.
    pub before: Option<(EntryName, Entry)>,
}
