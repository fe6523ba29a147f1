//! The reduction of a request to what counts in its key, for protocols whose requests carry values
//! that a client makes anew for each of them.

use std::fmt;

use super::json::Json;

/// What a key leaves out of the requests of a protocol.
pub struct KeyReduction {
    /// The name of the protocol.
    pub name: &'static str,
    /// Returns what counts of a body. What it returns for its own result is the same.
    pub body: for<'j> fn(&Json<'j>) -> Json<'j>,
    /// The beginning of the names of headers that say what the body says, in lower case.
    pub header_prefix: &'static str,
}

impl PartialEq for KeyReduction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KeyReduction {}

impl fmt::Debug for KeyReduction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}
