//! A request that is to be sent again.

use std::sync::Arc;

use crate::upstream::UpstreamRequest;
use loomrec_identity::RequestKey;
use loomrec_recording::EntryName;
use loomrec_recording::PendingChange;
use loomrec_recording::entry::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;

/// A request that is to be sent.
#[derive(Debug)]
pub struct RerecordRequest {
    /// The request as it is stored.
    pub observed: NormalizedRequest,
    /// Its key.
    pub key: RequestKey,
    /// The name that the new exchange is kept under.
    pub name: EntryName,
    /// The request as it goes out.
    pub forward: UpstreamRequest,
    /// The credentials in that.
    pub secrets: Arc<CallCredentials>,
    /// What the new exchange says of itself.
    pub pending: PendingChange,
    /// The take whose request this was, to be compared with; `None` for a new call.
    pub before: Option<(EntryName, Entry)>,
}
