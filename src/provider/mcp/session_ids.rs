//! The ids of the requests of a client that were answered in one of its sessions. A stream that the
//! client resumes holds responses to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::answer_ids::{RpcEdit, RpcIdKind, RpcIds, for_each_id};

/// The ids of the requests that were answered in a session of a client.
#[derive(Clone, Debug, Default)]
pub struct RpcSessionIds(BTreeMap<usize, AnsweredIds>);

/// The ids of a request that was answered.
#[derive(Clone, Debug)]
struct AnsweredIds {
    recorded: Arc<RpcIds>,
    here: RpcIds,
}

/// A response to a request that the session did not have, or had under several ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRpcId;

impl RpcSessionIds {
    /// Notes that a request with the ids `here` got the answer to the recorded request `number`, which
    /// has the ids `recorded`.
    pub fn note_answer(&mut self, number: usize, recorded: Arc<RpcIds>, here: RpcIds) {
        self.0.insert(number, AnsweredIds { recorded, here });
    }

    /// Returns the changes that a recorded stream needs so that its messages belong to the requests of
    /// this session, in the order of their places. `media` is the media type of its body. What is no
    /// response keeps an id that the session does not have.
    ///
    /// # Errors
    /// A response whose request here is not known.
    pub fn stream_edits(&self, media: &str, body: &[u8]) -> Result<Vec<RpcEdit>, UnknownRpcId> {
        let (mut edits, mut unknown) = (Vec::new(), false);
        for_each_id(media, body, |kind, found, place| {
            let answered = self.0.values();
            let live: BTreeSet<&str> =
                answered.filter_map(|it| it.recorded.live_id(&it.here, kind, found)).collect();
            match live.first().filter(|_| live.len() == 1) {
                Some(id) => edits.push(RpcEdit { place, text: (*id).to_owned() }),
                None => unknown |= kind == RpcIdKind::Response,
            }
        });
        if unknown { Err(UnknownRpcId) } else { Ok(edits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(id: &str) -> RpcIds {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
        RpcIds::from_body(body.as_bytes()).unwrap()
    }

    /// A session with these pairs of ids, of the recording and of its client.
    fn session(pairs: &[(&str, &str)]) -> RpcSessionIds {
        let mut session = RpcSessionIds::default();
        for (number, (recorded, here)) in pairs.iter().enumerate() {
            session.note_answer(number, Arc::new(ids(recorded)), ids(here));
        }
        session
    }

    /// The texts that replace ids in a resumed stream with this data.
    fn replaced(session: &RpcSessionIds, data: &str) -> Result<Vec<String>, UnknownRpcId> {
        let edits =
            session.stream_edits("text/event-stream", format!("data: {data}\n\n").as_bytes());
        edits.map(|edits| edits.into_iter().map(|edit| edit.text).collect())
    }

    #[test]
    fn response_belongs_to_the_request_that_the_session_made() {
        let swapped = session(&[("2", "3"), ("3", "2"), (r#""a""#, "9")]);
        for (id, expected) in [("2", "3"), ("3", "2"), (r#""a""#, "9")] {
            let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(replaced(&swapped, &response), Ok(vec![expected.to_owned()]), "{id}");
        }
        for (data, expected) in [
            (r#"{"jsonrpc":"2.0","id":4,"result":{}}"#, Err(UnknownRpcId)),
            (r#"{"jsonrpc":"2.0","id":"2","error":{}}"#, Err(UnknownRpcId)),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, Ok(vec![])),
            (r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#, Ok(vec![])),
            (r#"{"jsonrpc":"2.0","method":"a","params":{"progressToken":4}}"#, Ok(vec![])),
            ("", Ok(vec![])),
        ] {
            assert_eq!(replaced(&swapped, data), expected, "{data}");
        }
    }

    #[test]
    fn id_that_two_recorded_requests_have_is_known_if_it_means_one_here() {
        let response = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
        let same = session(&[("2", "5"), ("2", "5")]);
        assert_eq!(replaced(&same, response), Ok(vec!["5".to_owned()]));
        let other = session(&[("2", "5"), ("2", "6")]);
        assert_eq!(replaced(&other, response), Err(UnknownRpcId));
    }
}
