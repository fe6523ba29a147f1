//! The mark that replaces a credential.

/// The mark that replaces a credential.
pub const MARK: &str = "[REDACTED]";
