//! The download of one object, which continues where it stopped if its connection ends.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectStore};

/// Reads the rest of an answer. If its connection ends, what has arrived stays, and the rest is asked
/// for, as long as something arrives each time.
pub(super) async fn read_whole(
    store: &dyn ObjectStore,
    path: &Path,
    answer: GetResult,
) -> Result<Bytes, Error> {
    let meta = answer.meta.clone();
    let mut arrived = BytesMut::new();
    let mut stream = answer.into_stream();
    loop {
        let before = arrived.len();
        let failed = loop {
            match stream.next().await {
                Some(Ok(bytes)) if (arrived.len() + bytes.len()) as u64 > meta.size => {
                    let longer =
                        format!("{path} has more than the {} bytes of its head", meta.size);
                    return Err(Error::Generic { store: "object store", source: longer.into() });
                }
                Some(Ok(bytes)) => arrived.extend_from_slice(&bytes),
                Some(Err(error)) => break error,
                None => return Ok(arrived.freeze()),
            }
        };
        // Without a tag, the rest could be that of another object.
        if arrived.len() == before || meta.e_tag.is_none() {
            return Err(failed);
        }
        let options = GetOptions {
            if_match: meta.e_tag.clone(),
            range: Some(GetRange::Offset(arrived.len() as u64)),
            ..GetOptions::default()
        };
        stream = store.get_opts(path, options).await?.into_stream();
    }
}
