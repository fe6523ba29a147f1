//! The text that stands in the place of a credential.

/// What stands in the place of a credential.
pub const MARK: &str = "[REDACTED]";
