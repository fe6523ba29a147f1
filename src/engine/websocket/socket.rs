//! A WebSocket after its handshake: messages in, messages out, and how it ends.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::terms::ConversationTerms;
use loomrec_recording::MessagePayload;
use loomrec_recording::message::{CUT_CLOSE_CODE, NO_CLOSE_CODE};

/// The close code of an end that is nobody's fault: the run ends, or nothing was sent for too long.
pub const GOING_AWAY: u16 = 1001;
/// The close code for a message that is against what is expected.
pub const POLICY: u16 = 1008;
/// The most bytes of a close reason (RFC 6455, section 5.5).
const LONGEST_REASON: usize = 123;
/// How long the other side has to answer a close.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// The buffers for reading and writing. A connection has two sockets.
const BUFFER: usize = 16 << 10;

/// A connection that carries a WebSocket.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A connection that carries a WebSocket, of any kind.
pub type SocketStream = Box<dyn ByteStream>;

/// What a socket receives.
#[derive(Debug)]
pub enum SocketEvent {
    /// A text or binary message.
    Message(MessagePayload),
    /// The end: no message follows.
    End(SocketEnd),
}

/// How a socket ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketEnd {
    /// The other side sent a close frame, or its connection ended without one.
    Closed {
        /// The code as it is recorded.
        code: u16,
        /// The reason.
        reason: String,
    },
    /// The other side broke a rule of the protocol or a limit: loomrec closes the connection.
    Refused {
        /// The code to close it with.
        code: u16,
        /// Why.
        reason: &'static str,
    },
}

/// The side of a socket that receives.
pub struct SocketReader {
    stream: SplitStream<WebSocketStream<SocketStream>>,
    silence: Duration,
}

/// The side of a socket that sends.
pub struct SocketWriter {
    sink: SplitSink<WebSocketStream<SocketStream>, Message>,
    silence: Duration,
}

/// The other side takes no message any more.
#[derive(Debug)]
pub struct SocketGone;

/// Opens the socket of a client of loomrec.
pub async fn open_client(
    stream: SocketStream,
    terms: &ConversationTerms,
) -> (SocketWriter, SocketReader) {
    open(stream, Role::Server, terms).await
}

/// Opens the socket to an upstream.
pub async fn open_upstream(
    stream: SocketStream,
    terms: &ConversationTerms,
) -> (SocketWriter, SocketReader) {
    open(stream, Role::Client, terms).await
}

async fn open(
    stream: SocketStream,
    role: Role,
    terms: &ConversationTerms,
) -> (SocketWriter, SocketReader) {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_message_size(Some(terms.largest))
        .max_frame_size(Some(terms.largest));
    let silence = terms.silence;
    let (sink, stream) = WebSocketStream::from_raw_socket(stream, role, Some(config)).await.split();
    (SocketWriter { sink, silence }, SocketReader { stream, silence })
}

impl SocketReader {
    /// Returns what comes next. A call that is dropped loses nothing.
    pub async fn next(&mut self) -> SocketEvent {
        loop {
            let Ok(next) = timeout(self.silence, self.stream.next()).await else {
                let reason = "nothing was sent for too long";
                return SocketEvent::End(SocketEnd::Refused { code: GOING_AWAY, reason });
            };
            let message = match next {
                None => return SocketEvent::End(socket_end(None, CUT_CLOSE_CODE)),
                Some(Err(error)) => return SocketEvent::End(end_of(&error)),
                Some(Ok(message)) => message,
            };
            match message {
                Message::Text(text) => {
                    return SocketEvent::Message(MessagePayload::Text(text.into()));
                }
                Message::Binary(bytes) => {
                    return SocketEvent::Message(MessagePayload::Binary(bytes));
                }
                Message::Close(frame) => return SocketEvent::End(socket_end(frame, NO_CLOSE_CODE)),
                // A ping is answered by the next read.
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

impl SocketWriter {
    /// Sends a message, and waits until the system has taken it. A close is sent as [`Self::close`]
    /// sends it.
    ///
    /// # Errors
    /// [`SocketGone`] if the other side has left, or does not read.
    pub async fn send_message(&mut self, payload: MessagePayload) -> Result<(), SocketGone> {
        let message = match payload {
            MessagePayload::Text(text) => {
                Message::Text(Utf8Bytes::try_from(text).map_err(|_| SocketGone)?)
            }
            MessagePayload::Binary(bytes) => Message::Binary(bytes),
            MessagePayload::Close { code, reason } => {
                self.close(code, &reason).await;
                return Ok(());
            }
        };
        let sent = timeout(self.silence, self.sink.send(message)).await;
        sent.map_err(|_| SocketGone)?.map_err(|_| SocketGone)
    }

    /// Sends a close frame. There is no frame for a connection that was cut, and one without a code
    /// for [`NO_CLOSE_CODE`].
    pub async fn close(&mut self, code: u16, reason: &str) {
        let frame = match code {
            CUT_CLOSE_CODE => return,
            NO_CLOSE_CODE => None,
            code => {
                Some(CloseFrame { code: CloseCode::from(code), reason: clip_reason(reason).into() })
            }
        };
        // A peer that has left needs no close.
        drop(timeout(CLOSE_WAIT, self.sink.send(Message::Close(frame))).await);
    }

    /// Sends what is left to send: the answer to a close frame.
    pub async fn flush(&mut self) {
        drop(timeout(CLOSE_WAIT, self.sink.flush()).await);
    }
}

/// Closes a socket, and waits for a moment until the other side has closed it, too.
pub async fn close(writer: &mut SocketWriter, reader: &mut SocketReader, code: u16, reason: &str) {
    writer.close(code, reason).await;
    if code == CUT_CLOSE_CODE {
        return;
    }
    let rest = async { while matches!(reader.next().await, SocketEvent::Message(_)) {} };
    drop(timeout(CLOSE_WAIT, rest).await);
    writer.flush().await;
}

/// Returns the first bytes of a reason, as many as a close frame has room for.
fn clip_reason(reason: &str) -> &str {
    let most = (0..=LONGEST_REASON.min(reason.len())).rev();
    let end = most.into_iter().find(|at| reason.is_char_boundary(*at));
    &reason[..end.unwrap_or(0)]
}

fn socket_end(frame: Option<CloseFrame>, without: u16) -> SocketEnd {
    match frame {
        None => SocketEnd::Closed { code: without, reason: String::new() },
        Some(CloseFrame { code, reason }) => {
            SocketEnd::Closed { code: code.into(), reason: reason.as_str().to_owned() }
        }
    }
}

fn end_of(error: &Error) -> SocketEnd {
    match error {
        Error::Capacity(_) => {
            SocketEnd::Refused { code: 1009, reason: "a message is larger than --max-body" }
        }
        Error::Utf8(_) => SocketEnd::Refused { code: 1007, reason: "a text is not UTF-8" },
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            socket_end(None, CUT_CLOSE_CODE)
        }
        Error::Protocol(_) => {
            SocketEnd::Refused { code: 1002, reason: "a frame is not one of RFC 6455" }
        }
        _ => socket_end(None, CUT_CLOSE_CODE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_cut_between_characters() {
        assert_eq!(clip_reason("short"), "short");
        let long = format!("{}é{}", "a".repeat(122), "b".repeat(50));
        assert_eq!(clip_reason(&long), "a".repeat(122));
        assert_eq!(clip_reason(&"a".repeat(500)).len(), LONGEST_REASON);
    }
}
