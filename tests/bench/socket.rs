//! The socket workload: how long it takes until the answer to a message over a WebSocket is there,
//! and what a pass-through of tokio-tungstenite and loomrec add to it.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

use crate::child::{Launch, Server};
use crate::fault::Fault;
use crate::plan::Scale;
use crate::quantile::quantile;
use crate::role::LISTENING;
use crate::system::{System, record_words, recording, replay_words};

/// Its name among the workloads.
pub const NAME: &str = "socket";
/// The role of the server that sends each message back.
pub const ECHO: &str = "socket-echo";
/// The role of the pass-through.
pub const PASS: &str = "socket-pass";
/// How many messages are sent on each connection, one after the other.
const MESSAGES: usize = 2_000;
/// The most rounds.
const ROUNDS: usize = 7;

/// A WebSocket over TCP.
type Socket = WebSocketStream<TcpStream>;

/// The times of the messages of one connection.
#[derive(Clone, Copy, Debug)]
pub struct MessageTimes {
    /// The median, in microseconds.
    pub p50: f64,
    /// The time that 99 % of them do not exceed, in microseconds.
    pub p99: f64,
}

/// The results of the systems: their names, and the times of each round.
pub struct SocketTimes {
    /// How many messages were sent on each connection.
    pub messages: usize,
    /// The server itself, the pass-through, loomrec recording, loomrec replaying.
    pub systems: [(&'static str, Vec<MessageTimes>); 4],
}

/// Runs the role of a server until stdin is closed. Without an address to pass messages on to, it
/// sends them back.
///
/// # Errors
/// The system refuses a thread or a socket.
pub fn serve(origin: Option<&str>) -> Result<(), Fault> {
    let failed = |source| Fault::Io { what: "serve", source };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let origin = origin.map(str::to_owned);
    runtime.spawn(async move {
        if let Err(error) = accept(origin).await {
            crate::say(&format!("bench: failed to serve: {error}"));
            std::process::exit(1);
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new()).map_err(failed)?;
    runtime.shutdown_background();
    Ok(())
}

async fn accept(origin: Option<String>) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "{LISTENING}{}", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let origin = origin.clone();
        tokio::spawn(async move {
            let Ok(client) = accept_async(stream).await else { return };
            // A client that leaves ends its connection.
            drop(match origin {
                None => pass(client).await,
                Some(origin) => match dial(&origin).await {
                    Ok(upstream) => pass_both(client, upstream).await,
                    Err(error) => Err(error),
                },
            });
        });
    }
}

/// Sends each message back.
async fn pass(socket: Socket) -> Result<(), Error> {
    let (mut to, mut from) = socket.split();
    while let Some(message) = from.next().await {
        let message = message?;
        if message.is_text() {
            to.send(message).await?;
        }
    }
    Ok(())
}

/// Passes messages on both ways.
async fn pass_both(client: Socket, upstream: Socket) -> Result<(), Error> {
    let (mut to_client, mut from_client) = client.split();
    let (mut to_upstream, mut from_upstream) = upstream.split();
    loop {
        tokio::select! {
            message = from_client.next() => match message {
                Some(message) => to_upstream.send(message?).await?,
                None => return Ok(()),
            },
            message = from_upstream.next() => match message {
                Some(message) => to_client.send(message?).await?,
                None => return Ok(()),
            },
        }
    }
}

async fn dial(address: &str) -> Result<Socket, Error> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(client_async(format!("ws://{address}/socket"), stream).await?.0)
}

/// Measures all systems in turn, round by round.
///
/// # Errors
/// A process that does not serve, or an answer that is not the message.
pub async fn run(scale: &Scale, folder: &Path) -> Result<SocketTimes, Fault> {
    let messages = MESSAGES.min(scale.many);
    crate::say(&format!("bench: socket: {messages} messages"));
    let names = ["direct", "tokio-tungstenite pass-through"];
    let [direct, pass] = names;
    let [record, replay] = [System::Record.name(), System::Replay.name()];
    let origin = Server::start(Launch::own(direct, [ECHO])?)?;
    let url = format!("http://{}", origin.address());
    let recorder = |own: &str| {
        let own = folder.join(own);
        let failed = |source| Fault::Io { what: "make a folder", source };
        std::fs::create_dir_all(&own).map_err(failed)?;
        let file: OsString = recording(&own);
        let server = Server::start(Launch::loomrec(record, record_words(file.clone(), &url)))?;
        Ok::<_, Fault>((server, file))
    };
    let (made, file) = recorder("socket-made")?;
    converse(record, made.address(), messages).await?;
    made.stop(true)?;
    let passing = Server::start(Launch::own(pass, [PASS, origin.address()])?)?;
    let (recording, _) = recorder("socket")?;
    let replaying = Server::start(Launch::loomrec(replay, replay_words(&file, "127.0.0.1:0")))?;
    let servers = [(direct, &origin), (pass, &passing), (record, &recording), (replay, &replaying)];
    let mut systems = servers.map(|(name, _)| (name, Vec::new()));
    for _ in 0..scale.rounds.min(ROUNDS) {
        for ((name, server), (_, times)) in servers.iter().zip(&mut systems) {
            times.push(converse(name, server.address(), messages).await?);
        }
    }
    for server in [recording, replaying] {
        server.stop(true)?;
    }
    Ok(SocketTimes { messages, systems })
}

/// Sends messages on one connection, each once the answer to the one before is there.
async fn converse(
    system: &'static str,
    address: &str,
    messages: usize,
) -> Result<MessageTimes, Fault> {
    let failed = |error: Error| Fault::Answer { system, detail: error.to_string() };
    let mut socket = dial(address).await.map_err(failed)?;
    let mut times = Vec::with_capacity(messages);
    for number in 0..messages {
        let text = json!({ "type": "message", "number": number, "text": "words ".repeat(30) });
        let text = text.to_string();
        let began = Instant::now();
        socket.send(Message::text(text.clone())).await.map_err(failed)?;
        let answer = socket.next().await.transpose().map_err(failed)?;
        times.push(began.elapsed());
        if !answer.is_some_and(|answer| answer == Message::text(text)) {
            let detail = format!("message {number} did not come back");
            return Err(Fault::Answer { system, detail });
        }
    }
    socket.close(None).await.map_err(failed)?;
    while socket.next().await.is_some_and(|next| next.is_ok()) {}
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |share| micros(quantile(times.iter().copied(), share));
    Ok(MessageTimes { p50: at(0.5), p99: at(0.99) })
}
