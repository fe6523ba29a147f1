//! Data that a user gives in addition to a file that does not hold it.

use super::attached_files::AttachedFiles;

/// Data that is given in addition to a file.
#[derive(Clone, Debug, Default)]
pub struct CompanionFiles {
    /// The model that was called, if the file does not name it.
    pub model: Option<String>,
    /// The files with bodies that a HAR file names.
    pub attached: AttachedFiles,
}
