//! The bridge between a client over stdio and a run: each message of the client is a call of the run,
//! and each message of the answers a line for the client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::Stdin;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::timeout;

use super::answer_lines::{AnswerEnd, write_answer, write_gone};
use super::bridge_listener::BridgeListener;
use super::handshake_messages::HandshakeMessages;
use super::line_reader::{LONGEST_LINE, LineReader, ReadLine, send_line};
use super::run_client::RunClient;
use super::run_place::RunPlace;
use super::tool_process::ToolCommand;
use super::tool_server::ToolServer;
use crate::stop_signals::StopSignals;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED, UNUSABLE};
use loomrec_cli::output::Output;
use loomrec_provider::RpcFacts;

/// The most messages of a client that are not answered.
const MOST_OPEN: usize = 1000;
/// How long a message waits for the one before it to reach the server. One that a fault holds back
/// never does.
const ORDER_WAIT: Duration = Duration::from_millis(250);
/// How long answers are awaited after the client has sent its last message.
const ANSWER_GRACE: Duration = Duration::from_secs(1);
/// How long they are awaited if the server has them to give.
const SERVER_GRACE: Duration = Duration::from_secs(5);
/// How long the run may take to see its client leave.
const LEAVE_GRACE: Duration = Duration::from_secs(1);
/// How often these are looked at.
const POLL: Duration = Duration::from_millis(50);
/// How many lines wait for the client to read them.
const WAITING: usize = 64;

/// The error of a line that is not JSON.
const NOT_JSON: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no message in JSON-RPC"}}"#;
/// The error of a line that is too long.
const TOO_LONG: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message has more than 64 MiB"}}"#;

/// A bridge at work.
struct StdioBridge {
    server: Arc<ToolServer>,
    client: Arc<RunClient>,
    handshake: Arc<HandshakeMessages>,
    lines: mpsc::Sender<Bytes>,
    /// Gets how an answer ended after which there are no more.
    gone: mpsc::Sender<AnswerEnd>,
    posts: JoinSet<()>,
    /// The requests in them, of which some may be answered.
    requests: Vec<PostedRequests>,
}

/// The requests of one message that was sent to the run.
struct PostedRequests {
    /// The ids of those that the client has not cancelled.
    ids: Vec<String>,
    post: AbortHandle,
}

/// Why a bridge ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BridgeEnd {
    /// The client has sent its last message.
    InputEnded,
    /// A signal came, or the client reads no more.
    Stopped,
    /// The server is gone.
    ServerGone,
    /// A fault broke the connection to it.
    Broken,
}

impl BridgeEnd {
    /// Returns why a bridge ends after an answer that ended like this.
    fn after_answer(answer: Option<AnswerEnd>) -> Self {
        match answer {
            Some(AnswerEnd::Broken) => Self::Broken,
            _ => Self::ServerGone,
        }
    }
}

/// Runs a bridge until the client or the server ends.
///
/// # Errors
/// A socket that cannot be created.
pub(super) async fn run(
    name: &str,
    words: Vec<std::ffi::OsString>,
    place: RunPlace,
    output: Output,
) -> Result<u8, CommandFailure> {
    let unexpected =
        |error| CommandFailure::new(UNEXPECTED, format!("failed to watch signals: {error}"));
    let mut stop = StopSignals::watch().map_err(unexpected)?;
    let (lines, waiting) = mpsc::channel(WAITING);
    let writing = tokio::spawn(write_lines(waiting));
    let command = ToolCommand { words, variables: place.server_variables };
    let handshake = Arc::<HandshakeMessages>::default();
    let named = (name.to_owned(), command);
    let server = ToolServer::new(named, Arc::clone(&handshake), lines.clone(), output);
    let listener = BridgeListener::start(&place.folder, &server).map_err(|error| {
        let folder = place.folder.display();
        CommandFailure::new(
            UNUSABLE,
            format!(
                "failed to create a socket in {folder}: {error}; the run may have ended, or its \
                 folder for temporary files has a name that is too long: set TMPDIR for the run"
            ),
        )
    })?;
    let client = Arc::new(RunClient::new(place.url, name, listener.socket_name())?);
    let (gone, mut is_gone) = mpsc::channel(1);
    let (posts, requests) = (JoinSet::new(), Vec::new());
    let mut bridge = StdioBridge { server, client, handshake, lines, gone, posts, requests };
    let (sender, mut messages) = mpsc::channel(1);
    let reading = tokio::spawn(read_lines(tokio::io::stdin(), sender));
    let end = loop {
        let server = Arc::clone(&bridge.server);
        let taken = tokio::select! {
            _ = stop.next_signal() => break BridgeEnd::Stopped,
            gone = is_gone.recv() => break BridgeEnd::after_answer(gone),
            () = server.wait_for_end() => break BridgeEnd::ServerGone,
            () = bridge.lines.closed() => break BridgeEnd::Stopped,
            message = messages.recv(), if bridge.posts.len() < MOST_OPEN => message,
            Some(_) = bridge.posts.join_next() => continue,
        };
        match taken {
            Some(line) => bridge.handle_line(line).await,
            None => break BridgeEnd::InputEnded,
        }
    };
    reading.abort();
    if end == BridgeEnd::InputEnded {
        tokio::select! {
            () = bridge.finish_answers() => {}
            _ = stop.next_signal() => {}
        }
    }
    let code = bridge.end_server(end, listener, writing).await;
    Ok(match end {
        BridgeEnd::InputEnded | BridgeEnd::Stopped => 0,
        BridgeEnd::ServerGone | BridgeEnd::Broken => {
            code.filter(|code| *code != 0).unwrap_or(UNUSABLE)
        }
    })
}

impl StdioBridge {
    /// Takes a line of the client.
    async fn handle_line(&mut self, line: ReadLine) {
        let refused = match line {
            ReadLine::TooLong => TOO_LONG,
            ReadLine::Text(line) => match RpcFacts::from_line(&line) {
                Some(facts) => return self.send_message(facts, line).await,
                None => NOT_JSON,
            },
        };
        let _ = self.lines.send(Bytes::from_static(refused)).await;
    }

    /// Sends a message to the run. Returns once the server has got it, or its answer has begun, so that
    /// messages keep their order.
    async fn send_message(&mut self, facts: RpcFacts, line: Bytes) {
        if self.server.take_reply(&facts, &line).await {
            return;
        }
        self.handshake.keep_message(&facts, &line);
        facts.cancelled.iter().for_each(|id| self.cancel_request(id));
        let mut written = self.server.written_count();
        written.mark_unchanged();
        let (client, lines, gone) =
            (Arc::clone(&self.client), self.lines.clone(), self.gone.clone());
        let (on_head, head) = tokio::sync::oneshot::channel::<()>();
        let post = self.posts.spawn(async move {
            let posted = client.post(line.clone()).await;
            drop(on_head);
            let end = match posted {
                Ok(response) => write_answer(&line, response, &lines).await,
                Err(error) if error.is_cut() => AnswerEnd::Broken,
                Err(error) => {
                    write_gone(&line, &format!("failed to {error}"), &lines).await;
                    AnswerEnd::ServerGone
                }
            };
            if end != AnswerEnd::Whole {
                // It is known already if this does not fit.
                let _ = gone.try_send(end);
            }
        });
        if !facts.requests.is_empty() {
            self.requests.retain(|request| !request.post.is_finished());
            self.requests.push(PostedRequests { ids: facts.requests, post });
        }
        let sent = async {
            tokio::select! {
                _ = head => {}
                _ = written.changed() => {}
            }
        };
        // A message that is held back holds back no other.
        let _ = timeout(ORDER_WAIT, sent).await;
    }

    /// Gives up a request that the client no longer waits for, as a client over HTTP does that leaves:
    /// the connection to the run ends.
    fn cancel_request(&mut self, id: &String) {
        let mut requests = self.requests.iter_mut();
        let is_open = |it: &&mut PostedRequests| !it.post.is_finished() && it.ids.contains(id);
        if let Some(request) = requests.rfind(is_open) {
            request.ids.retain(|other| other != id);
            if request.ids.is_empty() {
                request.post.abort();
            }
        }
    }

    /// Writes the answers to what the client has sent. The server has longer for its answers than
    /// faults, which may hold one back for ever.
    async fn finish_answers(&mut self) {
        let server = Arc::clone(&self.server);
        let answers = async { while self.posts.join_next().await.is_some() {} };
        let too_long = async {
            tokio::time::sleep(ANSWER_GRACE).await;
            let until = tokio::time::Instant::now() + SERVER_GRACE;
            while server.is_awaited() && tokio::time::Instant::now() < until {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::select! {
            () = answers => {}
            () = too_long => {}
        }
    }

    /// Gives up what is sent to the run. It sees its client leave before the connections to the
    /// server end.
    async fn abort_posts(&mut self) {
        self.posts.abort_all();
        while self.posts.join_next().await.is_some() {}
        let until = tokio::time::Instant::now() + LEAVE_GRACE;
        tokio::time::sleep(POLL).await;
        while self.server.is_awaited() && tokio::time::Instant::now() < until {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends the server, and writes the answers that come until then. Returns the server's exit code.
    async fn end_server(
        mut self,
        end: BridgeEnd,
        listener: BridgeListener,
        writing: JoinHandle<()>,
    ) -> Option<u8> {
        if end == BridgeEnd::Broken {
            // As after any death, its client reads nothing more, and not why.
            self.abort_posts().await;
        }
        let server = Arc::clone(&self.server);
        let is_gone = end == BridgeEnd::ServerGone;
        let ending = tokio::spawn(async move { server.end_process(is_gone).await });
        let answers = async { while self.posts.join_next().await.is_some() {} };
        let _ = timeout(ANSWER_GRACE, answers).await;
        let code = ending.await.ok().flatten();
        if !self.posts.is_empty() {
            self.abort_posts().await;
        }
        let Self { server, lines, .. } = self;
        drop((listener, server, lines));
        // A client that reads nothing does not keep the bridge.
        let _ = timeout(ANSWER_GRACE, writing).await;
        code
    }
}

/// Reads the lines of the client.
async fn read_lines(stdin: Stdin, messages: mpsc::Sender<ReadLine>) {
    let mut lines = LineReader::new(stdin, LONGEST_LINE);
    while let Ok(Some(line)) = lines.next().await {
        if messages.send(line).await.is_err() {
            return;
        }
    }
}

/// Writes lines for the client, until there are no more or the client has left.
async fn write_lines(mut waiting: mpsc::Receiver<Bytes>) {
    let mut stdout = tokio::io::stdout();
    while let Some(line) = waiting.recv().await {
        if send_line(&mut stdout, &line).await.is_err() {
            return;
        }
    }
}
