//! Recordings whose entries may hold no secret when they are uploaded.

use loomrec_recording::EntryName;
use loomrec_recording::redact::{CallCredentials, is_clean};
use loomrec_store::Recording;

use super::bucket::RecordingBucket;
use super::remote_error::RemoteError;

/// A recording to push, and the secrets that none of its entries may hold.
pub struct SecretFree<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The secrets.
    pub secrets: &'a CallCredentials,
}

impl SecretFree<'_> {
    /// Fails if the text of an entry holds a secret.
    pub(crate) fn refuse_secrets(
        &self,
        bucket: &RecordingBucket,
        name: &EntryName,
        text: &[u8],
    ) -> Result<(), RemoteError> {
        match is_clean(text, self.secrets) {
            true => Ok(()),
            false => {
                Err(RemoteError::Secret { url: bucket.url().to_owned(), name: name.to_string() })
            }
        }
    }
}
