//! A recorded answer, prepared once so that serving it only shares bytes: status, headers with
//! their framing and labels, the body in one piece, and where its chunks end.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRAILER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::ext::ReasonPhrase;

use super::client_ids::ClientIds;
use super::decode_room::ReservedRoom;
use loomrec_identity::{RunBinding, UnclearPath};
use loomrec_provider::{Operation, RpcEdit, RpcIds, UnknownRpcId};
use loomrec_recording::body::Chunk;
use loomrec_recording::encoding::coding_of;
use loomrec_recording::entry::{RecordedCut, ResponseEnd};
use loomrec_recording::redact;
use loomrec_script::ResponseDraft;

/// The header that says how the answer was found.
pub(super) const MATCHED_BY: HeaderName = HeaderName::from_static("x-loomrec-matched-by");
/// The header that says which values of this run were put in the place of recorded ones, and how
/// often.
pub(super) const BOUND: HeaderName = HeaderName::from_static("x-loomrec-bound");
/// The header that names the entry of an answer.
pub const ENTRY: HeaderName = HeaderName::from_static("x-loomrec-entry");

/// An answer that can be sent any number of times.
#[derive(Debug)]
pub(super) struct ReadyResponse {
    pub(super) status: StatusCode,
    /// The reason phrase, if it is not the usual one.
    pub(super) reason: Option<ReasonPhrase>,
    /// The headers as they are sent. They say that the answer was found by the request's hash,
    /// unless that is overwritten.
    pub(super) headers: HeaderMap,
    /// The whole body.
    pub(super) bytes: Bytes,
    pub(super) pieces: Box<[BodyChunk]>,
    /// The fields that follow a body of unknown length.
    pub(super) trailers: Option<Box<HeaderMap>>,
    pub(super) end: ResponseEnd,
    /// The body's length, if the headers announce one.
    pub(super) announced: Option<u64>,
    /// The ids of its recorded request in JSON-RPC, if it has any.
    pub(super) ids: Option<Arc<RpcIds>>,
    /// The room that its body takes, if it was made for one call.
    _room: Option<ReservedRoom>,
}

/// One chunk of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BodyChunk {
    /// When it came, in milliseconds since the request.
    pub(super) at_ms: f64,
    /// Where it ends in the body.
    pub(super) end: usize,
}

impl ReadyResponse {
    /// Prepares a response. `label` names its entry.
    pub(super) fn from_draft(delivery: ResponseDraft, label: Option<&HeaderValue>) -> Self {
        let ResponseDraft { status, reason, mut headers, chunks, trailers, end } = delivery;
        let reason = reason.and_then(|reason| ReasonPhrase::try_from(reason).ok());
        headers.insert(MATCHED_BY, HeaderValue::from_static("request_hash"));
        if let Some(label) = label {
            headers.insert(ENTRY, label.clone());
        }
        let length = headers.get(CONTENT_LENGTH);
        let announced = length.and_then(|value| value.to_str().ok()?.parse().ok());
        let has_trailers = announced.is_none() && !trailers.is_empty();
        let trailers = has_trailers.then(|| {
            announce_trailers(&mut headers, &trailers);
            Box::new(trailers)
        });
        let mut at = 0;
        let pieces = chunks.iter().map(|chunk| {
            at += chunk.data.len();
            BodyChunk { at_ms: chunk.at_ms, end: at }
        });
        let pieces = pieces.collect();
        let bytes = gather_body(&mut headers, &chunks);
        // A copy has exactly the capacity it needs.
        let headers = headers.clone();
        let (ids, _room) = (None, None);
        Self { status, reason, headers, bytes, pieces, trailers, end, announced, ids, _room }
    }

    /// Returns the same answer, to a request with these ids.
    pub(super) fn with_own_ids(self, ids: Option<RpcIds>) -> Self {
        Self { ids: ids.map(Arc::new), ..self }
    }

    /// Returns the same answer, with the room that was reserved for it.
    pub(super) fn with_room(self, room: ReservedRoom) -> Self {
        Self { _room: Some(room), ..self }
    }

    /// Returns the answer with this run's paths in the place of recorded ones; `None` if it holds
    /// none.
    ///
    /// # Errors
    /// The paths in it cannot be replaced.
    pub(super) fn with_paths(
        &self,
        binding: &RunBinding,
        operation: Operation,
    ) -> Result<Option<Self>, UnclearPath> {
        let mut draft = self.to_draft();
        let media = draft.media().to_owned();
        if !redact::replace_paths(operation, &media, &mut draft.chunks, binding)? {
            return Ok(None);
        }
        draft.correct_framing();
        Ok(Some(Self::from_draft(draft, None)))
    }

    /// Returns the answer with the ids `here` in the place of those of its recorded request, or of
    /// its session, which are `recorded`; `None` if it holds none of them.
    ///
    /// # Errors
    /// It answers a request that is not known.
    pub(super) fn with_ids(
        &self,
        recorded: Option<&RpcIds>,
        here: &ClientIds,
    ) -> Result<Option<Self>, UnknownRpcId> {
        let mut draft = self.to_draft();
        let edits = here.answer_edits(recorded, draft.media(), &self.bytes)?;
        if edits.is_empty() {
            return Ok(None);
        }
        draft.chunks = edit_chunks(&draft.chunks, &edits);
        draft.correct_framing();
        Ok(Some(Self::from_draft(draft, None)))
    }

    /// Returns the answer as chunks again, so that its form can be changed.
    pub(super) fn to_draft(&self) -> ResponseDraft {
        let mut from = 0;
        let chunks = self.pieces.iter().map(|piece| {
            let data = self.bytes.slice(from..piece.end);
            from = piece.end;
            Chunk { at_ms: piece.at_ms, data }
        });
        ResponseDraft {
            status: self.status,
            reason: self.reason.as_ref().map(|reason| reason.as_bytes().to_vec()),
            headers: self.headers.clone(),
            chunks: chunks.collect(),
            trailers: self.trailers.as_deref().cloned().unwrap_or_default(),
            end: self.end,
        }
    }

    /// Returns when each chunk came.
    pub(super) fn chunk_times(&self) -> impl ExactSizeIterator<Item = f64> + Clone {
        self.pieces.iter().map(|piece| piece.at_ms)
    }

    /// Returns when a piece came that more bytes follow; `None` for the piece with the last bytes, and
    /// for what follows it.
    pub(super) fn time_before_last(&self, piece: usize) -> Option<f64> {
        let total = self.pieces.last()?.end;
        self.pieces.get(piece).filter(|piece| piece.end < total).map(|piece| piece.at_ms)
    }

    /// Whether it has an end: the upstream did not cut it, and its client did not leave before.
    pub(super) fn is_whole(&self) -> bool {
        self.end == ResponseEnd::Complete
    }

    /// Returns how the connection is cut after the body, if it is.
    pub(super) fn recorded_cut(&self) -> Option<RecordedCut> {
        match self.end {
            ResponseEnd::UpstreamAbort(cut) => Some(cut),
            ResponseEnd::Complete | ResponseEnd::ClientAbort | ResponseEnd::Truncated => None,
        }
    }

    /// Returns the content encoding that a client must accept to get the answer unchanged.
    pub(super) fn content_encoding(&self) -> Option<String> {
        if self.pieces.is_empty() { None } else { coding_of(&self.headers) }
    }
}

/// Names trailers in the head of their answer.
fn announce_trailers(headers: &mut HeaderMap, trailers: &HeaderMap) {
    let names: Vec<&str> = trailers.keys().map(HeaderName::as_str).collect();
    if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
        headers.insert(TRAILER, names);
    }
}

/// Returns chunks with these changes, which are in the order of their places. What replaces a text that
/// is in several chunks is in the first of them.
fn edit_chunks(chunks: &[Chunk], edits: &[RpcEdit]) -> Vec<Chunk> {
    let (mut edits, mut start) = (edits.iter().peekable(), 0);
    let edit_chunk = |chunk: &Chunk| {
        let (end, mut data, mut at) = (start + chunk.data.len(), Vec::new(), start);
        while let Some(edit) = edits.peek().filter(|edit| edit.place.start < end) {
            if edit.place.start >= start {
                data.extend_from_slice(&chunk.data[at - start..edit.place.start - start]);
                data.extend_from_slice(edit.text.as_bytes());
            }
            at = edit.place.end.min(end);
            if edit.place.end > end {
                break;
            }
            edits.next();
        }
        data.extend_from_slice(&chunk.data[at - start..]);
        start = end;
        Chunk { at_ms: chunk.at_ms, data: data.into() }
    };
    chunks.iter().map(edit_chunk).collect()
}

/// Returns the whole body. It is in a buffer of exactly the size needed, which the values of the
/// headers share: one allocation for an answer, and none to pass on parts of it.
fn gather_body(headers: &mut HeaderMap, chunks: &[Chunk]) -> Bytes {
    let values: usize = headers.values().map(HeaderValue::len).sum();
    let body: usize = chunks.iter().map(|chunk| chunk.data.len()).sum();
    let mut all = Vec::with_capacity(values + body);
    for value in headers.values() {
        all.extend_from_slice(value.as_bytes());
    }
    for chunk in chunks {
        all.extend_from_slice(&chunk.data);
    }
    let all = Bytes::from(all);
    let mut from = 0;
    for value in headers.values_mut() {
        let until = from + value.len();
        if let Ok(shared) = HeaderValue::from_maybe_shared(all.slice(from..until)) {
            *value = shared;
        }
        from = until;
    }
    all.slice(values..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_the_chunks_and_their_times() {
        let chunk = |at_ms, text: &'static str| Chunk { at_ms, data: text.into() };
        let chunks = [chunk(1.0, "ab1"), chunk(2.0, "2"), chunk(3.0, "3cd4e"), chunk(4.0, "5")];
        let edit = |place, text: &str| RpcEdit { place, text: text.to_owned() };
        let edits = [edit(2..5, "long"), edit(7..8, ""), edit(9..10, "xy")];
        let expected = [chunk(1.0, "ablong"), chunk(2.0, ""), chunk(3.0, "cde"), chunk(4.0, "xy")];
        assert_eq!(edit_chunks(&chunks, &edits), expected);
        assert_eq!(edit_chunks(&chunks, &[]), chunks);
    }

    #[test]
    fn answer_comes_back_as_the_chunks_and_headers_it_was_made_of() {
        let chunk = |at_ms, text: &'static str| Chunk { at_ms, data: text.into() };
        let chunks =
            vec![chunk(1.0, "one"), chunk(2.0, ""), chunk(2.5, "\u{2603}"), chunk(9.0, "")];
        let mut headers = HeaderMap::new();
        headers.append("set-thing", HeaderValue::from_static("a"));
        headers.append("x-other", HeaderValue::from_static(""));
        headers.append("set-thing", HeaderValue::from_static("bb"));
        headers.append(CONTENT_LENGTH, HeaderValue::from_static("6"));
        let delivery = |chunks| ResponseDraft {
            status: StatusCode::OK,
            reason: None,
            headers: headers.clone(),
            chunks,
            trailers: HeaderMap::new(),
            end: ResponseEnd::Complete,
        };
        let label = HeaderValue::from_static("name");
        let prepared = ReadyResponse::from_draft(delivery(chunks.clone()), Some(&label));
        assert_eq!((prepared.announced, &prepared.bytes[..]), (Some(6), "one\u{2603}".as_bytes()));
        let again = prepared.to_draft();
        assert_eq!(again.chunks, chunks);
        let values: Vec<&HeaderValue> = again.headers.get_all("set-thing").iter().collect();
        assert_eq!(values, ["a", "bb"]);
        assert_eq!(
            (&again.headers["x-other"], &again.headers[ENTRY]),
            (&"".parse().unwrap(), &label)
        );
        assert_eq!(again.headers[MATCHED_BY], "request_hash");
        assert!(ReadyResponse::from_draft(delivery(Vec::new()), None).bytes.is_empty());
    }
}
