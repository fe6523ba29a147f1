//! A request on its way to the journal in another tool's shape.

use bytes::Bytes;

/// A request as it may be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct JournaledRequest {
    /// The path with its query.
    pub target: String,
    /// Names in lower case, and values. A value that may not be stored is replaced.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// The test that it belongs to.
    pub test: Option<String>,
    /// The chaos of the call.
    pub chaos: Option<JournaledChaos>,
}

/// What a fault by chance was put in place of.
#[derive(Clone, Debug, PartialEq)]
pub struct JournaledChaos {
    /// What would have answered the call: `fixture`, `proxy` or `internal`.
    pub front: &'static str,
    /// The name of the entry that would have answered it.
    pub entry: Option<String>,
}
