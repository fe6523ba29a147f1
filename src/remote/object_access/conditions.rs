//! The proof that a store has conditional writes.
//!
//! Without them, two writers would each take the reference for unchanged, and one of them would lose
//! its calls.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, PutMode, UpdateVersion};

use super::ObjectAccess;
use crate::remote_error::RemoteError;

/// A tag and a version that no object has.
const NO_TAG: &str = "\"00000000000000000000000000000000\"";
const NO_VERSION: &str = "1";

impl ObjectAccess {
    /// Fails unless the store refuses to create an object that is there, and to replace another
    /// version of it than it has. `bytes` are those of the object, so a store that does not refuse
    /// changes nothing.
    pub(crate) async fn prove_conditions(
        &self,
        path: &Path,
        bytes: Bytes,
    ) -> Result<(), RemoteError> {
        let other =
            UpdateVersion { e_tag: Some(NO_TAG.to_owned()), version: Some(NO_VERSION.to_owned()) };
        for mode in [PutMode::Create, PutMode::Update(other)] {
            match self.put_object(path, bytes.clone(), mode).await {
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
                Err(error) => return Err(self.store_error("write to", &error)),
                Ok(()) => {
                    let (url, endpoint) = (self.url.clone(), self.endpoint.clone());
                    return Err(RemoteError::NoConditions { url, endpoint });
                }
            }
        }
        Ok(())
    }
}
