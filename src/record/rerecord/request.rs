//! A request that is to be sent again.

use std::sync::Arc;

use crate::identity::RequestKey;
use crate::recording::EntryName;
use crate::recording::PendingChange;
use crate::recording::entry::Entry;
use crate::recording::normalized_request::NormalizedRequest;
use crate::recording::redact::CallCredentials;
use crate::upstream::UpstreamRequest;

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
