//! Files that hold the bodies of a HAR file, which names them: Playwright's `_file`.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// Reads the file of this name. The error says why it could not be read.
type ReadAttachedFile = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// The files beside a HAR file, as far as they may be read.
#[derive(Clone, Default)]
pub struct AttachedFiles(Option<Arc<ReadAttachedFile>>);

impl AttachedFiles {
    /// Returns the files that `read` finds by their names. The names come from the HAR file, so
    /// `read` decides which of them are safe.
    pub fn new(read: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// If it cannot be read. The error says why.
    pub(super) fn read(&self, name: &str) -> Result<Bytes, String> {
        match &self.0 {
            Some(read) => read(name).map(Bytes::from),
            None => Err("it is in another file".to_owned()),
        }
    }
}

impl fmt::Debug for AttachedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AttachedFiles").field(&self.0.is_some()).finish()
    }
}
