//! The classes of the store's errors.

use super::error::StoreError;

/// The class of a failure, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// A recording is missing, damaged or of a newer format: exit code 4.
    Unusable,
    /// A recording could not be stored in full: exit code 5.
    NotKept,
    /// The options do not fit the recording: exit code 2.
    Usage,
}

impl StoreError {
    /// Returns the class of the failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Missing { .. }
            | Self::IsFolder { .. }
            | Self::NotAFile { .. }
            | Self::Unsafe(_)
            | Self::Unmerged { .. }
            | Self::TooLarge { .. }
            | Self::TooHeavyToRead { .. }
            | Self::Format { .. }
            | Self::NewerLog { .. }
            | Self::Log { .. }
            | Self::Read { .. } => ErrorClass::Unusable,
            Self::Write { .. }
            | Self::TooLong { .. }
            | Self::TooHeavy { .. }
            | Self::Busy { .. }
            | Self::LeftLog { .. }
            | Self::Changed { .. }
            | Self::WouldBeTooLarge { .. }
            | Self::Lock { .. }
            | Self::Held { .. }
            | Self::Leased { .. }
            | Self::Gone { .. }
            | Self::Secret { .. } => ErrorClass::NotKept,
            Self::IntoFolder { .. } | Self::OtherRules { .. } | Self::Exists { .. } => {
                ErrorClass::Usage
            }
        }
    }
}
