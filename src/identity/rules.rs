//! Which places of a request body are left out of its identity.

/// An RFC 6901 JSON pointer into a request body.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    text: String,
    tokens: Vec<String>,
}

/// The rules a key is made under; the ones used are written into the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IdentityRules {
    ignore: Vec<Pointer>,
}
