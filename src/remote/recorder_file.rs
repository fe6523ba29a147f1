//! The object that shows who uploads segments.

use serde::{Deserialize, Serialize};

/// The file that shows who uploads segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderFile {
    /// [`Self::FORMAT`].
    pub format: String,
    /// The name of the run; `None` if it has none.
    pub run: Option<String>,
    /// When the recorder began.
    pub started_at: String,
}

impl RecorderFile {
    /// The format that this version writes and reads.
    pub const FORMAT: &str = "loomrec-recorder/1";

    /// Creates the file of a recorder that begins.
    pub fn new(run: Option<String>, started_at: String) -> Self {
        Self { format: Self::FORMAT.to_owned(), run, started_at }
    }
}
