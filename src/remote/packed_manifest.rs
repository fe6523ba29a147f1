//! The packed text of a manifest, as it is written to a bucket and to the cache.

use super::packed_text::{LARGEST_MANIFEST, pack_text};
use super::remote_error::RemoteError;

/// Compresses the text of a manifest.
///
/// # Errors
/// [`RemoteError::TooLarge`] if readers would refuse it.
pub(crate) fn pack_manifest(url: &str, text: &[u8]) -> Result<Vec<u8>, RemoteError> {
    let bytes = text.len() as u64;
    if bytes > LARGEST_MANIFEST {
        let (what, url) = ("the manifest of the state".to_owned(), url.to_owned());
        return Err(RemoteError::TooLarge { what, url, bytes, limit: LARGEST_MANIFEST });
    }
    pack_text(text).map_err(RemoteError::at_path("the text of a manifest"))
}
