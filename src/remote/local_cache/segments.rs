//! The segments of the cache: those that no state has yet, so that they are downloaded once.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use super::{LocalCache, write_whole};
use crate::content_hash::ContentHash;
use crate::remote_error::RemoteError;

/// The most bytes of a segment that is kept. One is cut at 8 MiB; with larger calls it is fetched
/// again.
const LARGEST_KEPT: u64 = 64 << 20;

impl LocalCache {
    /// Returns a segment, if it is there and has its hash.
    pub(crate) fn checked_segment(&self, url: &str, hash: &ContentHash) -> Option<Vec<u8>> {
        let path = self.segment_folder(url).join(hash.digits());
        let bytes = loomrec_os::read_input(&path, LARGEST_KEPT).ok()?;
        (ContentHash::from_bytes(&bytes) == *hash).then_some(bytes)
    }

    /// Keeps a segment, unless it is very large.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn put_segment(
        &self,
        url: &str,
        hash: &ContentHash,
        bytes: &[u8],
    ) -> Result<(), RemoteError> {
        if bytes.len() as u64 > LARGEST_KEPT {
            return Ok(());
        }
        let path = self.segment_folder(url).join(hash.digits());
        write_whole(&path, bytes).map_err(RemoteError::at_path(path))
    }

    /// Removes all segments of a recording but these.
    pub(crate) fn keep_segments(&self, url: &str, kept: &HashSet<&ContentHash>) {
        // What cannot be read or removed is tried again next time.
        let Ok(files) = fs::read_dir(self.segment_folder(url)) else { return };
        for file in files.flatten() {
            let name = file.file_name();
            let hash = name.to_str().and_then(ContentHash::from_digits);
            // Others are files that another process is writing.
            if hash.is_some_and(|hash| !kept.contains(&hash)) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn segment_folder(&self, url: &str) -> PathBuf {
        self.folder.join("segments").join(ContentHash::from_bytes(url.as_bytes()).digits())
    }
}
