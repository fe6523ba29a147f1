//! The requests that a server of tools has not answered, and to which of them a message belongs.

use std::collections::VecDeque;

use bytes::Bytes;
use loomrec_provider::RpcFacts;
use tokio::sync::mpsc;

/// The most requests of a server that wait for an answer of the client outside of its own requests.
const MOST_ASKED: usize = 1000;

/// How many messages of a server wait for the reader of an answer.
const WAITING: usize = 16;

/// A message of a server that belongs to a request of the client.
#[derive(Debug)]
pub(super) struct AnswerMessage {
    /// Its line.
    pub(super) line: Bytes,
    /// Whether it completes the answer.
    pub(super) is_last: bool,
}

/// Where a message of a server goes.
#[derive(Debug)]
pub(super) enum MessageRoute {
    /// Into the answer to a request.
    Answer {
        /// The reader of the answer.
        reader: mpsc::Sender<AnswerMessage>,
        /// Whether the message completes the answer.
        is_last: bool,
    },
    /// To the client, past the run.
    Client,
}

/// The requests of one line that are not answered.
#[derive(Debug)]
struct OpenRequest {
    ids: Vec<String>,
    tokens: Vec<String>,
    reader: mpsc::Sender<AnswerMessage>,
    /// The ids of those that the client waits for.
    awaited: Vec<String>,
}

/// The open requests of a server's process, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    open: Vec<OpenRequest>,
    /// The ids of requests that the server sent while no request of the client was open.
    asked: VecDeque<String>,
    /// Why the server answers no more.
    ended: Option<String>,
}

impl OpenRequests {
    /// Opens the requests of a line. Returns their answer.
    ///
    /// # Errors
    /// Why the server answers no more.
    pub(super) fn open(
        &mut self,
        facts: &RpcFacts,
    ) -> Result<mpsc::Receiver<AnswerMessage>, String> {
        if let Some(why) = &self.ended {
            return Err(why.clone());
        }
        self.open.retain(|request| !request.reader.is_closed());
        let (reader, answer) = mpsc::channel(WAITING);
        let (ids, tokens) = (facts.requests.clone(), facts.given_tokens.clone());
        self.open.push(OpenRequest { awaited: ids.clone(), ids, tokens, reader });
        Ok(answer)
    }

    /// Returns where a message of the server goes.
    pub(super) fn route_message(&mut self, facts: &RpcFacts) -> MessageRoute {
        let is_answered =
            |request: &OpenRequest| request.ids.iter().any(|id| facts.responses.contains(id));
        if let Some(place) = self.open.iter().position(is_answered) {
            let request = &mut self.open[place];
            request.ids.retain(|id| !facts.responses.contains(id));
            request.awaited.retain(|id| !facts.responses.contains(id));
            let is_last = request.ids.is_empty();
            let reader = request.reader.clone();
            if is_last {
                self.open.remove(place);
            }
            return MessageRoute::Answer { reader, is_last };
        }
        let is_response = !facts.responses.is_empty();
        let live = || self.open.iter().filter(|request| !request.reader.is_closed());
        let of_token = facts
            .about_token
            .as_ref()
            .and_then(|token| live().find(|request| request.tokens.contains(token)));
        // Without a token, it is most likely about what was asked last.
        let of_last = || live().rfind(|request| !request.awaited.is_empty());
        match of_token.or_else(of_last).filter(|_| !is_response) {
            Some(request) => {
                MessageRoute::Answer { reader: request.reader.clone(), is_last: false }
            }
            None => {
                self.asked.extend(facts.requests.iter().cloned());
                let too_many = self.asked.len().saturating_sub(MOST_ASKED);
                self.asked.drain(..too_many);
                MessageRoute::Client
            }
        }
    }

    /// Whether a message of the client only answers what the server asked outside of an answer. That
    /// is asked once.
    pub(super) fn take_asked(&mut self, facts: &RpcFacts) -> bool {
        let is_asked = |id: &String| self.asked.contains(id);
        let is_reply = facts.method.is_none() && !facts.responses.is_empty();
        if !is_reply || !facts.requests.is_empty() || !facts.responses.iter().all(is_asked) {
            return false;
        }
        self.asked.retain(|id| !facts.responses.contains(id));
        true
    }

    /// Notes that the client no longer waits for a request.
    pub(super) fn cancel(&mut self, id: &String) {
        let request = self.open.iter_mut().find(|request| request.ids.contains(id));
        request.into_iter().for_each(|request| request.awaited.retain(|other| other != id));
    }

    /// Whether the client waits for an answer of the server.
    pub(super) fn is_awaited(&self) -> bool {
        let is_awaited = |it: &OpenRequest| !it.awaited.is_empty() && !it.reader.is_closed();
        self.open.iter().any(is_awaited)
    }

    /// Ends all answers: the server answers no more.
    pub(super) fn end_all(&mut self, why: &str) {
        self.ended.get_or_insert_with(|| why.to_owned());
        self.open.clear();
    }

    /// Returns why the server answers no more.
    pub(super) fn end_reason(&self) -> Option<&str> {
        self.ended.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(line: &str) -> RpcFacts {
        RpcFacts::from_line(line.as_bytes()).unwrap()
    }

    /// Sends a message; returns the place of the answer that it belongs to, and whether it is last.
    fn placed(
        open: &mut OpenRequests,
        answers: &mut [mpsc::Receiver<AnswerMessage>],
        line: &str,
    ) -> Option<(usize, bool)> {
        let MessageRoute::Answer { reader, is_last } = open.route_message(&facts(line)) else {
            return None;
        };
        reader.try_send(AnswerMessage { line: Bytes::new(), is_last }).unwrap();
        let place = answers.iter_mut().position(|answer| answer.try_recv().is_ok());
        place.map(|place| (place, is_last))
    }

    #[test]
    fn message_goes_to_the_request_that_it_is_about() {
        let mut open = OpenRequests::default();
        let first = r#"{"id":1,"method":"a","params":{"_meta":{"progressToken":"t"}}}"#;
        let mut answers: Vec<_> = [
            first,
            r#"{"id":"1","method":"b"}"#,
            r#"[{"id":2,"method":"c"},{"id":3,"method":"d"}]"#,
        ]
        .map(|line| open.open(&facts(line)).unwrap())
        .into();
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
        for (line, expected) in [
            (progress, Some((0, false))),
            (r#"{"method":"notifications/message"}"#, Some((2, false))),
            (r#"{"id":"1","result":{}}"#, Some((1, true))),
            (r#"{"id":9,"result":{}}"#, None),
            (r#"{"id":3,"result":{}}"#, Some((2, false))),
            (r#"{"id":1,"error":{}}"#, Some((0, true))),
            (r#"{"id":1,"error":{}}"#, None),
            (r#"[{"id":2,"result":{}}]"#, Some((2, true))),
            (progress, None),
        ] {
            assert_eq!(placed(&mut open, &mut answers, line), expected, "{line}");
        }
    }

    #[test]
    fn reply_to_what_the_server_asked_by_itself_is_known_once() {
        let mut open = OpenRequests::default();
        assert!(matches!(
            open.route_message(&facts(r#"{"id":5,"method":"ping"}"#)),
            MessageRoute::Client
        ));
        let reply = facts(r#"{"id":5,"result":{}}"#);
        assert!(open.take_asked(&reply) && !open.take_asked(&reply));
        assert!(!open.take_asked(&facts(r#"{"method":"a"}"#)));
    }

    #[test]
    fn request_that_is_cancelled_is_not_awaited_and_takes_no_other_messages() {
        let mut open = OpenRequests::default();
        let first = r#"{"id":1,"method":"a","params":{"_meta":{"progressToken":"t"}}}"#;
        let mut answers = [open.open(&facts(first)).unwrap()];
        assert!(open.is_awaited());
        let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#;
        open.cancel(&facts(cancel).cancelled.unwrap());
        assert!(!open.is_awaited());
        for (line, expected) in [
            (r#"{"method":"notifications/tools/list_changed"}"#, None),
            (r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#, Some(false)),
            (r#"{"id":1,"result":{}}"#, Some(true)),
        ] {
            let place = placed(&mut open, &mut answers, line);
            assert_eq!(place, expected.map(|is_last| (0, is_last)), "{line}");
        }
    }

    #[test]
    fn server_that_ended_opens_nothing() {
        let mut open = OpenRequests::default();
        let mut answer = open.open(&facts(r#"{"id":1,"method":"a"}"#)).unwrap();
        open.end_all("it ended");
        open.end_all("again");
        assert!(answer.try_recv().is_err());
        let refused = open.open(&facts(r#"{"id":2,"method":"a"}"#));
        assert_eq!(
            (refused.unwrap_err().as_str(), open.end_reason()),
            ("it ended", Some("it ended"))
        );
    }
}
