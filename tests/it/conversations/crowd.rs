//! A thousand WebSockets that stream at once: no message is lost, and memory is bounded.
//!
//! Each connection streams for 5 s, or for as many seconds as `LOOMREC_SOCKET_SECONDS` says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

use super::OTHER;
use crate::limit::anonymous;
use crate::support::{Scene, Server};

/// How many connections stream at once.
const SOCKETS: usize = 1000;
/// The pause before each message of a server.
const GAP: Duration = Duration::from_millis(250);
/// After how many messages of the server its client answers.
const TURN: usize = 5;
/// How many connections are opened at once.
const OPENING: usize = 50;
/// The most memory for a connection without messages, in bytes: four buffers of 16 KiB, two tasks.
const EACH: u64 = 192 << 10;
/// The most memory for a message that is kept until the end of its connection.
const EACH_MESSAGE: u64 = 1 << 10;

/// A WebSocket on either side.
type Crowded = WebSocketStream<TcpStream>;

/// How many messages each server sends.
fn streamed() -> usize {
    let seconds = std::env::var("LOOMREC_SOCKET_SECONDS").ok().and_then(|text| text.parse().ok());
    let gaps = Duration::from_secs(seconds.unwrap_or(5)).as_millis() / GAP.as_millis();
    usize::try_from(gaps).unwrap() / TURN * TURN
}

fn says(word: &str) -> Value {
    json!({ "say": word })
}

fn part(word: &str, number: usize) -> Value {
    json!({ "number": number, "of": word, "text": "as much as is said in a moment, or some more" })
}

fn heard(word: &str, number: usize) -> Value {
    json!({ "heard": number, "of": word })
}

/// The next message, as JSON; null at the end.
async fn next(socket: &mut Crowded) -> Result<Value, Error> {
    loop {
        return Ok(match socket.next().await.transpose()? {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            Some(Message::Ping(_) | Message::Pong(_)) => continue,
            _ => Value::Null,
        });
    }
}

async fn say(socket: &mut Crowded, message: &Value) -> Result<(), Error> {
    socket.send(Message::text(message.to_string())).await
}

/// Serves one connection: streams to the word that its client says.
async fn stream_to(stream: TcpStream, parts: usize) -> Result<(), Error> {
    let mut socket = accept_async(stream).await?;
    let asked = next(&mut socket).await?;
    let word = asked["say"].as_str().unwrap().to_owned();
    for number in 0..parts {
        tokio::time::sleep(GAP).await;
        say(&mut socket, &part(&word, number)).await?;
        if number % TURN == TURN - 1 {
            assert_eq!(next(&mut socket).await?, heard(&word, number));
        }
    }
    socket.close(None).await?;
    while socket.next().await.is_some_and(|next| next.is_ok()) {}
    Ok(())
}

/// Is a client of one connection. Returns how many messages it got, all of them right.
async fn listen(address: SocketAddr, word: String, all: Arc<Crowd>) -> Result<usize, Error> {
    let opening = all.opening.acquire().await.unwrap();
    let stream = TcpStream::connect(address).await?;
    let (mut socket, _) = client_async(format!("ws://{address}{OTHER}"), stream).await?;
    drop(opening);
    all.open.wait().await;
    say(&mut socket, &says(&word)).await?;
    let mut count = 0;
    loop {
        let message = next(&mut socket).await?;
        if message.is_null() {
            return Ok(count);
        }
        assert_eq!(message, part(&word, count));
        count += 1;
        if count % TURN == 0 {
            say(&mut socket, &heard(&word, count - 1)).await?;
        }
    }
}

/// What the clients share.
struct Crowd {
    opening: Semaphore,
    /// Passed once all connections are open.
    open: Barrier,
}

/// Holds all connections at once. Returns how much memory `server` took for them at the most.
fn hold_all(runtime: &Runtime, server: &Server, parts: usize) -> u64 {
    let before = anonymous(server).unwrap();
    let (peak, is_over) = (AtomicU64::new(before), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous(server).unwrap_or_default(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let counts = runtime.block_on(async {
            let all = Crowd { opening: Semaphore::new(OPENING), open: Barrier::new(SOCKETS) };
            let all = Arc::new(all);
            let mut clients = JoinSet::new();
            for number in 0..SOCKETS {
                let word = format!("word {number}");
                clients.spawn(listen(server.address, word, Arc::clone(&all)));
            }
            clients.join_all().await
        });
        is_over.store(true, Ordering::Relaxed);
        for count in counts {
            assert_eq!(count.unwrap(), parts);
        }
    });
    peak.into_inner() - before
}

#[test]
fn thousand_sockets_stream_at_once_and_no_message_is_lost() {
    let limit = getrlimit(Resource::Nofile);
    let _unchanged = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let runtime = Runtime::new().unwrap();
    let (scene, parts) = (Scene::new(), streamed());
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let upstream = runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move { stream_to(stream, parts).await.unwrap() });
        }
    });
    let server = Server::start(scene.dir(), &scene.record_args(&url, &[]));
    let cost = hold_all(&runtime, &server, parts);
    println!("{} bytes a connection while recording", cost / SOCKETS as u64);
    let most = (EACH + EACH_MESSAGE * parts as u64) * SOCKETS as u64;
    assert!(cost < most, "{cost} bytes while recording");
    server.stop().expect(0).says(&["1000 recorded"]);
    upstream.abort();
    let takes = scene.takes();
    assert_eq!(takes.len(), SOCKETS);
    for (_, take) in takes {
        let messages = take["messages"].as_array().unwrap();
        let word = messages[0]["body"]["say"].as_str().unwrap();
        let own = messages.iter().filter(|message| message["body"]["of"] == word).count();
        // The first message and the close have no number.
        assert_eq!((own, messages.len()), (parts + parts / TURN, own + 2), "{word}");
    }
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let cost = hold_all(&runtime, &server, parts);
    println!("{} bytes a connection while replaying", cost / SOCKETS as u64);
    assert!(cost < most, "{cost} bytes while replaying");
    server.stop().expect(0).says(&["1000 served"]);
}
