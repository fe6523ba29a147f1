//! The messages of a server over a WebSocket as a fault changes them: what is sent, and when the
//! connection ends. The same messages give the same steps in every run.

use bytes::Bytes;

use super::broken_json::cut_text;
use super::{
    ConnectionCut, Fault, FaultObstacle, FaultPoint, GarbleKind, NotApplicable, PlaceUnit,
    SocketClose, Truncation, TruncationEnd,
};

/// After how many messages a fault strikes that names no place.
const USUAL_PLACE: usize = 1;

/// A message of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMessage {
    /// Its bytes.
    pub data: Bytes,
    /// Whether it is text.
    pub is_text: bool,
}

/// One step of sending messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageStep {
    /// Sends a message.
    Send(ServerMessage),
    /// Pauses for this many milliseconds.
    Wait(u64),
    /// Nothing more, on an open connection.
    Stall,
    /// Ends the connection without a close frame.
    Cut(ConnectionCut),
    /// Closes the connection with a close frame.
    Close(SocketClose),
}

/// The messages of one connection, which a fault changes.
#[derive(Debug)]
pub struct MessageTransform {
    change: MessageChange,
    /// How many messages the server has sent.
    count: usize,
    has_struck: bool,
    /// The message that comes after the next.
    held: Option<ServerMessage>,
    /// Whether no message followed the one that was held.
    was_alone: bool,
}

/// What happens to the messages.
#[derive(Clone, Debug)]
enum MessageChange {
    /// A step after this many messages.
    Stop(usize, MessageStep),
    /// One message is broken.
    Garble(usize, GarbleKind),
    /// Each message is this many milliseconds late.
    Late(u64),
}

impl MessageTransform {
    /// Returns what a fault does to the messages of a server.
    ///
    /// # Errors
    /// Why it does nothing to them.
    pub fn new(fault: &Fault) -> Result<Self, FaultObstacle> {
        let change = match fault {
            Fault::StreamTruncate(truncation) => {
                MessageChange::Stop(strike_place(truncation.after)?, end_step(truncation)?)
            }
            Fault::StreamStall { after, for_ms } => {
                let step = for_ms.map_or(MessageStep::Stall, MessageStep::Wait);
                MessageChange::Stop(strike_place(*after)?, step)
            }
            Fault::StreamGarble { how: GarbleKind::MissingTerminator, .. } => {
                return Err(FaultObstacle::NoTerminator);
            }
            Fault::StreamGarble { how: GarbleKind::Checksum, .. } => {
                return Err(FaultObstacle::NoChecksum);
            }
            Fault::StreamGarble { chunk, how } => MessageChange::Garble(*chunk, *how),
            Fault::Slow { delay_ms } => MessageChange::Late(*delay_ms),
            other => return Err(NotApplicable::Socket { fault: other.name() }.into()),
        };
        Ok(Self { change, count: 0, has_struck: false, held: None, was_alone: false })
    }

    /// Finds out whether the fault happens to a server that sends this many messages, which are not
    /// sent.
    ///
    /// # Errors
    /// Why it does not happen.
    pub fn try_on(mut self, messages: usize) -> Result<(), FaultObstacle> {
        let message = ServerMessage { data: Bytes::new(), is_text: true };
        self.first_steps();
        for _ in 0..messages {
            self.feed(message.clone());
            if self.has_struck {
                return Ok(());
            }
        }
        if self.has_struck { Ok(()) } else { Err(self.obstacle()) }
    }

    /// Returns the steps before the first message.
    pub fn first_steps(&mut self) -> Vec<MessageStep> {
        self.stop_here()
    }

    /// Takes the next message of the server. Returns the steps that follow.
    pub fn feed(&mut self, message: ServerMessage) -> Vec<MessageStep> {
        let index = self.count;
        self.count += 1;
        let held = self.held.take();
        let mut sent = match self.change {
            MessageChange::Garble(place, how) if place == index => {
                self.garble_message(how, message)
            }
            MessageChange::Late(_) => {
                self.has_struck = true;
                vec![message]
            }
            _ => vec![message],
        };
        if let Some(held) = held {
            self.has_struck = true;
            sent.push(held);
        }
        let mut steps: Vec<MessageStep> = sent.into_iter().map(MessageStep::Send).collect();
        steps.append(&mut self.stop_here());
        steps
    }

    /// Whether a message is held until the next one comes.
    pub fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Gives up waiting for the next message. Returns the steps that follow: a message that was held is
    /// sent in its place.
    pub fn stop_holding(&mut self) -> Vec<MessageStep> {
        self.was_alone |= self.held.is_some();
        self.finish()
    }

    /// Takes the end of the server's messages. Returns the steps before it.
    pub fn finish(&mut self) -> Vec<MessageStep> {
        self.held.take().map(MessageStep::Send).into_iter().collect()
    }

    /// Returns by how many milliseconds each message is late.
    pub fn delay_ms(&self) -> u64 {
        match self.change {
            MessageChange::Late(delay_ms) => delay_ms,
            _ => 0,
        }
    }

    /// Whether the fault has happened.
    pub fn has_struck(&self) -> bool {
        self.has_struck
    }

    /// Returns why it has not happened, once the connection is over.
    pub fn obstacle(&self) -> FaultObstacle {
        if self.was_alone {
            return FaultObstacle::NoNextMessage;
        }
        let (what, place) = match self.change {
            MessageChange::Stop(place, MessageStep::Stall | MessageStep::Wait(_)) => {
                ("pause", place)
            }
            MessageChange::Stop(place, _) => ("cut", place),
            MessageChange::Garble(place, _) => ("broken message", place),
            MessageChange::Late(_) => return FaultObstacle::Empty,
        };
        let (has, place) = (self.count as u64, place as u64);
        FaultObstacle::TooShort { has, unit: PlaceUnit::Messages, what, place }
    }

    /// Returns the step at this place, once.
    fn stop_here(&mut self) -> Vec<MessageStep> {
        match &self.change {
            MessageChange::Stop(place, step) if *place == self.count && !self.has_struck => {
                self.has_struck = true;
                vec![step.clone()]
            }
            _ => Vec::new(),
        }
    }

    /// Returns what is sent in place of a message.
    fn garble_message(&mut self, how: GarbleKind, message: ServerMessage) -> Vec<ServerMessage> {
        // A message that changes places with the next does so once that is there.
        self.has_struck = how != GarbleKind::Reordered;
        match how {
            GarbleKind::Duplicated => vec![message.clone(), message],
            GarbleKind::Dropped => Vec::new(),
            GarbleKind::Reordered => {
                self.held = Some(message);
                Vec::new()
            }
            GarbleKind::BrokenData | GarbleKind::MissingTerminator | GarbleKind::Checksum => {
                vec![broken_message(message)]
            }
        }
    }
}

/// Returns after how many messages a fault strikes.
fn strike_place(after: FaultPoint) -> Result<usize, FaultObstacle> {
    match after {
        FaultPoint::Default => Ok(USUAL_PLACE),
        FaultPoint::Chunks(count) | FaultPoint::Events(count) => Ok(count),
        FaultPoint::TextEvents(_) | FaultPoint::Bytes(_) => Err(NotApplicable::MessagePlace.into()),
    }
}

/// Returns the step with which a connection ends early.
fn end_step(truncation: &Truncation) -> Result<MessageStep, FaultObstacle> {
    if let Some(close) = &truncation.close {
        return Ok(MessageStep::Close(close.clone()));
    }
    Ok(match truncation.raise {
        TruncationEnd::Reset => MessageStep::Cut(ConnectionCut::Reset),
        TruncationEnd::Close => MessageStep::Cut(ConnectionCut::Close),
        TruncationEnd::CleanEof => MessageStep::Close(SocketClose::default()),
        TruncationEnd::Stall => MessageStep::Stall,
        TruncationEnd::ErrorEvent => return Err(NotApplicable::ErrorEvent.into()),
    })
}

/// Returns at most half of a message, so that it does not parse.
fn broken_message(ServerMessage { data, is_text }: ServerMessage) -> ServerMessage {
    let data = match std::str::from_utf8(&data) {
        Ok(text) => cut_text(text).into(),
        Err(_) => data.slice(..data.len() / 2),
    };
    ServerMessage { data, is_text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ServerMessage {
        ServerMessage { data: Bytes::copy_from_slice(text.as_bytes()), is_text: true }
    }

    /// The steps of a fault on three messages, in words, and whether it has happened.
    fn steps(fault: &str) -> (Vec<String>, bool) {
        let mut transform = MessageTransform::new(&Fault::parse(fault).unwrap()).unwrap();
        let mut steps = transform.first_steps();
        for text in ["[1]", "[2]", "[3]"] {
            steps.append(&mut transform.feed(message(text)));
        }
        steps.append(&mut transform.finish());
        let word = |step: MessageStep| match step {
            MessageStep::Send(sent) => String::from_utf8(sent.data.to_vec()).unwrap(),
            other => format!("{other:?}"),
        };
        (steps.into_iter().map(word).collect(), transform.has_struck())
    }

    #[test]
    fn fault_strikes_at_its_message() {
        let reset = "Cut(Reset)";
        for (fault, expected) in [
            ("stream_truncate:0", &[reset, "[1]", "[2]", "[3]"][..]),
            ("stream_truncate", &["[1]", reset, "[2]", "[3]"]),
            ("stream_truncate;after_events=2;raise=close", &["[1]", "[2]", "Cut(Close)", "[3]"]),
            ("stream_truncate:3;raise=stall", &["[1]", "[2]", "[3]", "Stall"]),
            ("stream_stall:2;for_ms=70", &["[1]", "[2]", "Wait(70)", "[3]"]),
            ("stream_stall", &["[1]", "Stall", "[2]", "[3]"]),
            ("stream_garble:1;how=dropped", &["[1]", "[3]"]),
            ("stream_garble:0;how=duplicated", &["[1]", "[1]", "[2]", "[3]"]),
            ("stream_garble:1;how=reordered", &["[1]", "[3]", "[2]"]),
            ("stream_garble:2", &["[1]", "[2]", "["]),
            ("slow:5", &["[1]", "[2]", "[3]"]),
        ] {
            let expected = expected.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
            assert_eq!(steps(fault), (expected, true), "{fault}");
        }
    }

    #[test]
    fn message_that_no_other_follows_is_sent_in_its_place() {
        let fault = Fault::parse("stream_garble:0;how=reordered").unwrap();
        let mut transform = MessageTransform::new(&fault).unwrap();
        let sent = |text: &str| vec![MessageStep::Send(message(text))];
        assert_eq!((transform.first_steps(), transform.is_holding()), (Vec::new(), false));
        assert_eq!((transform.feed(message("[1]")), transform.is_holding()), (Vec::new(), true));
        assert_eq!(transform.stop_holding(), sent("[1]"));
        assert_eq!((transform.feed(message("[2]")), transform.is_holding()), (sent("[2]"), false));
        assert!(transform.stop_holding().is_empty() && !transform.has_struck());
        assert_eq!(transform.obstacle(), FaultObstacle::NoNextMessage);
    }

    #[test]
    fn connection_closes_with_the_code_and_the_reason_of_the_fault() {
        let close = |code, reason: &str| {
            let close = SocketClose { code, reason: reason.to_owned() };
            format!("{:?}", MessageStep::Close(close))
        };
        for (fault, code, reason) in [
            ("stream_truncate:1;code=4000;reason=no: luck", 4000, "no: luck"),
            ("stream_truncate:1;raise=close;code=1011", 1011, ""),
            ("stream_truncate:1;raise=clean_eof", 1000, ""),
        ] {
            assert_eq!(steps(fault).0[1], close(code, reason), "{fault}");
        }
    }

    #[test]
    fn fault_that_comes_too_late_has_not_happened() {
        for (fault, what, place) in [
            ("stream_truncate:4", "cut", 4),
            ("stream_stall:9;for_ms=5", "pause", 9),
            ("stream_garble:3", "broken message", 3),
            ("stream_garble:2;how=reordered", "broken message", 2),
        ] {
            assert_eq!(steps(fault), (["[1]", "[2]", "[3]"].map(str::to_owned).into(), false));
            let mut transform = MessageTransform::new(&Fault::parse(fault).unwrap()).unwrap();
            transform.feed(message("[1]"));
            let tried = MessageTransform::new(&Fault::parse(fault).unwrap()).unwrap();
            assert!(tried.try_on(3).is_err(), "{fault}");
            let tried = MessageTransform::new(&Fault::parse(fault).unwrap()).unwrap();
            assert_eq!(tried.try_on(10), Ok(()), "{fault}");
            let why = format!("the answer has 1 messages; the {what} is at {place}");
            assert_eq!(transform.obstacle().to_string(), why);
        }
    }

    #[test]
    fn what_is_no_part_of_messages_is_named() {
        for (fault, why) in [
            ("stream_truncate;after_bytes=5", "a WebSocket has messages"),
            ("stream_stall;after_text_events=1", "a WebSocket has messages"),
            ("stream_truncate;raise=error_event", "no error event"),
            ("stream_garble;how=checksum", "no checksum"),
            ("stream_garble;how=missing_terminator", "no terminator"),
            ("throttle:100", "throttle does not change"),
            ("partial_response", "partial_response does not change"),
        ] {
            let refused = MessageTransform::new(&Fault::parse(fault).unwrap());
            assert!(refused.unwrap_err().to_string().contains(why), "{fault}");
        }
    }
}
