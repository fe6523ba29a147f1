//! WebSockets of the tests: a scripted upstream, and a client.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio_tungstenite::tungstenite::handshake::server::{
    ErrorResponse, Request as Handshake, Response as Accepted,
};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{
    Error, HandshakeError, Message, WebSocket, accept_hdr, client,
};

use super::gate::PATIENCE;
use super::loomrec::Server;

/// A WebSocket of a test, on either side.
pub(crate) type Socket = WebSocket<TcpStream>;

/// What the upstream does on a connection whose handshake it has accepted.
type SocketScript = Arc<dyn Fn(&mut Socket) + Send + Sync>;

/// An upstream that speaks WebSocket.
pub(crate) struct SocketUpstream {
    address: SocketAddr,
    handshakes: Arc<Mutex<Vec<Handshake>>>,
}

impl SocketUpstream {
    /// Accepts every handshake, with the first subprotocol that is offered, and runs `script`.
    pub(crate) fn start(script: impl Fn(&mut Socket) + Send + Sync + 'static) -> Self {
        Self::with(None, Arc::new(script))
    }

    /// Refuses every handshake with this status.
    pub(crate) fn refusing(status: u16) -> Self {
        Self::with(Some(status), Arc::new(|_: &mut Socket| ()))
    }

    fn with(refusal: Option<u16>, script: SocketScript) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let handshakes = Arc::<Mutex<Vec<Handshake>>>::default();
        let seen = Arc::clone(&handshakes);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                std::thread::spawn(move || serve(stream, refusal, &seen, &script));
            }
        });
        Self { address, handshakes }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn handshakes(&self) -> Vec<Handshake> {
        self.handshakes.lock().unwrap().clone()
    }
}

fn serve(
    stream: TcpStream,
    refusal: Option<u16>,
    seen: &Mutex<Vec<Handshake>>,
    script: &SocketScript,
) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    #[expect(clippy::result_large_err, reason = "the callback's type is that of the crate")]
    let answer = |request: &Handshake, mut response: Accepted| -> Result<Accepted, ErrorResponse> {
        seen.lock().unwrap().push(request.clone());
        if let Some(status) = refusal {
            let mut refused = ErrorResponse::new(Some(r#"{"error":"no"}"#.to_owned()));
            *refused.status_mut() = status.try_into().unwrap();
            return Err(refused);
        }
        if let Some(offered) = request.headers().get("sec-websocket-protocol") {
            let first = offered.to_str().unwrap().split(',').next().unwrap().trim();
            response.headers_mut().insert("sec-websocket-protocol", first.parse().unwrap());
        }
        response.headers_mut().insert("x-upstream", "yes".parse().unwrap());
        Ok(response)
    };
    // A client may leave at any moment.
    let Ok(mut socket) = accept_hdr(stream, answer) else { return };
    script(&mut socket);
    finish(&mut socket);
}

/// Reads until the other side has closed, too.
pub(crate) fn finish(socket: &mut Socket) {
    while socket.read().is_ok() {}
    let _ = socket.flush();
    let _ = socket.get_ref().shutdown(Shutdown::Both);
}

/// Opens a WebSocket to loomrec. The headers are `name: value`.
///
/// # Errors
/// The status and the body of a refusal.
pub(crate) fn open(
    server: &Server,
    path: &str,
    headers: &[&str],
) -> Result<(Socket, http::HeaderMap), (u16, String)> {
    let address = server.address;
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = http::Request::get(format!("ws://{address}{path}"))
        .header("host", address.to_string())
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    for header in headers {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    match client(request.body(()).unwrap(), stream) {
        Ok((socket, response)) => Ok((socket, response.headers().clone())),
        Err(HandshakeError::Failure(Error::Http(refused))) => {
            let body = refused.body().clone().unwrap_or_default();
            Err((refused.status().as_u16(), String::from_utf8_lossy(&body).into_owned()))
        }
        Err(other) => panic!("{other}"),
    }
}

/// Sends a JSON message.
pub(crate) fn say(socket: &mut Socket, message: &Value) {
    socket.send(Message::text(message.to_string())).unwrap();
}

/// Returns the next text or binary message; the close code and the reason as JSON at the end, with
/// the code 1006 for a connection without a close frame.
pub(crate) fn hear(socket: &mut Socket) -> Value {
    loop {
        return match socket.read() {
            Ok(Message::Text(text)) => serde_json::from_str(&text).unwrap_or(Value::from(&*text)),
            Ok(Message::Binary(bytes)) => Value::from(bytes.to_vec()),
            Ok(Message::Close(Some(CloseFrame { code, reason }))) => {
                serde_json::json!({ "close": u16::from(code), "reason": reason.as_str() })
            }
            Ok(Message::Close(None)) => serde_json::json!({ "close": 1005 }),
            Ok(_) => continue,
            Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("nothing came")
            }
            Err(_) => serde_json::json!({ "close": 1006 }),
        };
    }
}

/// Closes with this code, and waits for the answer.
pub(crate) fn close(socket: &mut Socket, code: u16, reason: &'static str) {
    let frame = CloseFrame { code: code.into(), reason: reason.into() };
    socket.close(Some(frame)).unwrap();
    finish(socket);
}

/// Waits for a moment, for what must not happen.
pub(crate) fn moment() {
    std::thread::sleep(Duration::from_millis(300));
}
