//! A server of tools over stdio, as a server over streamable HTTP. Its process starts with the first
//! message that it gets.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::process::ChildStdout;
use tokio::sync::{OnceCell, mpsc, watch};

use super::handshake_messages::HandshakeMessages;
use super::line_reader::{LONGEST_LINE, LineReader, ReadLine};
use super::open_requests::{AnswerMessage, MessageRoute, OpenRequests};
use super::tool_answer::ToolAnswerBody;
use super::tool_process::{ToolCommand, ToolProcess};
use loomrec_cli::output::Output;
use loomrec_cli::terminal;
use loomrec_provider::{RpcFacts, rpc_closed_error};

/// How many lines that are no messages are shown.
const SHOWN: usize = 5;
/// The most characters of such a line that are shown.
const SHOWN_LENGTH: usize = 200;
/// How long a server that closed its stdout may take to end.
const END_GRACE: Duration = Duration::from_secs(1);

/// A server of tools.
pub(super) struct ToolServer {
    name: String,
    command: ToolCommand,
    process: OnceCell<Result<Arc<ToolProcess>, String>>,
    open: Mutex<OpenRequests>,
    /// What the client sent to connect, and whether the process got it.
    handshake: Arc<HandshakeMessages>,
    connected: OnceCell<()>,
    confirmed: OnceCell<()>,
    /// Takes the messages that belong to no answer.
    client: mpsc::Sender<Bytes>,
    /// How many messages the process has got.
    written: watch::Sender<u64>,
    /// Whether the process has ended.
    ended: watch::Sender<bool>,
    /// Whether loomrec ends the process, rather than the process itself.
    is_stopping: AtomicBool,
    unread: AtomicUsize,
    output: Output,
}

impl ToolServer {
    /// Returns a server that is not started.
    pub(super) fn new(
        (name, command): (String, ToolCommand),
        handshake: Arc<HandshakeMessages>,
        client: mpsc::Sender<Bytes>,
        output: Output,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            command,
            process: OnceCell::new(),
            open: Mutex::default(),
            handshake,
            connected: OnceCell::new(),
            confirmed: OnceCell::new(),
            client,
            written: watch::channel(0).0,
            ended: watch::channel(false).0,
            is_stopping: AtomicBool::new(false),
            unread: AtomicUsize::new(0),
            output,
        })
    }

    /// Returns how many messages the process has got, as it grows.
    pub(super) fn written_count(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Waits until the process has ended.
    pub(super) async fn wait_for_end(&self) {
        // This keeps the sender.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Sends a reply of the client to a request that the server sent by itself. Returns whether it is
    /// one.
    pub(super) async fn take_reply(&self, facts: &RpcFacts, line: &Bytes) -> bool {
        let is_reply = self.open().take_asked(facts);
        if let Some(Ok(process)) = self.process.get().filter(|_| is_reply) {
            process.write(line.clone()).await;
        }
        is_reply
    }

    /// Whether the client waits for an answer of the process.
    pub(super) fn is_awaited(&self) -> bool {
        self.open().is_awaited()
    }

    /// Ends the process. Returns its exit code; `None` if it never started. Requests that are open then
    /// get no answer, unless the process itself `is_gone`: the server gave none.
    pub(super) async fn end_process(&self, is_gone: bool) -> Option<u8> {
        self.is_stopping.store(!is_gone, Ordering::Relaxed);
        let Ok(process) = self.process.get()? else { return None };
        process.end().await
    }

    /// Answers a request over HTTP.
    pub(super) async fn answer_request(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<ToolAnswerBody>, Infallible> {
        if request.method() != Method::POST {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            return Ok(ToolAnswerBody::json_response(status, Bytes::new()));
        }
        let body = Limited::new(request.into_body(), LONGEST_LINE).collect().await;
        let line = body.map(|body| one_line(body.to_bytes())).unwrap_or_default();
        let Some(facts) = RpcFacts::from_line(&line) else {
            return Ok(ToolAnswerBody::json_response(StatusCode::BAD_REQUEST, Bytes::new()));
        };
        Ok(match self.forward_message(&facts, line.clone()).await {
            Ok(response) => response,
            // Its connection ends without an answer.
            Err(_) if self.is_stopping.load(Ordering::Relaxed) => std::future::pending().await,
            Err(why) => {
                let null = r#"{"jsonrpc":"2.0","method":"","id":null}"#;
                let body = rpc_closed_error(&line, &why)
                    .or_else(|| rpc_closed_error(null.as_bytes(), &why));
                ToolAnswerBody::json_response(StatusCode::BAD_GATEWAY, body.unwrap_or_default())
            }
        })
    }

    /// Sends a message to the process, and returns its answer.
    ///
    /// # Errors
    /// Why the process gives none.
    async fn forward_message(
        self: &Arc<Self>,
        facts: &RpcFacts,
        line: Bytes,
    ) -> Result<Response<ToolAnswerBody>, String> {
        facts.cancelled.iter().for_each(|id| self.open().cancel(id));
        let process = self.running_process().await?;
        if !facts.needs_no_connection() {
            self.repeat_handshake(&process).await?;
        }
        let mut answer = match facts.requests.is_empty() {
            true => None,
            false => Some(self.open().open(facts)?),
        };
        let is_written = process.write(line).await;
        self.written.send_modify(|written| *written += 1);
        // What the process was sent is not sent a second time.
        if facts.is_initialize() {
            let _ = self.connected.set(());
        }
        if facts.is_initialized() {
            let _ = self.confirmed.set(());
        }
        let Some(answer) = &mut answer else {
            return match is_written {
                true => Ok(ToolAnswerBody::json_response(StatusCode::ACCEPTED, Bytes::new())),
                false => Err(self.end_text().await),
            };
        };
        match answer.recv().await {
            Some(AnswerMessage { line, is_last: true }) => {
                Ok(ToolAnswerBody::json_response(StatusCode::OK, line))
            }
            Some(AnswerMessage { line, is_last: false }) => {
                let (_, none) = mpsc::channel(1);
                Ok(ToolAnswerBody::event_response(line, std::mem::replace(answer, none)))
            }
            None => Err(self.end_text().await),
        }
    }

    /// Returns the process, which is started if it is not.
    async fn running_process(self: &Arc<Self>) -> Result<Arc<ToolProcess>, String> {
        let start = || async {
            let (process, stdout) = ToolProcess::start(&self.command).map_err(|error| {
                let program = self.command.words.first();
                let program = program.map(|word| word.to_string_lossy()).unwrap_or_default();
                let why = format!("failed to run {program}: {error}; check the name after --");
                self.output.error(&format!("mcp {}: {why}", self.name));
                why
            })?;
            let process = Arc::new(process);
            tokio::spawn(Arc::clone(self).read(stdout, Arc::clone(&process)));
            Ok(process)
        };
        self.process.get_or_init(start).await.clone()
    }

    /// Connects a process that was started after its client had connected to a recording.
    async fn repeat_handshake(&self, process: &ToolProcess) -> Result<(), String> {
        let connect = || async {
            let Some(line) = self.handshake.initialize_request() else { return Ok(()) };
            let facts = RpcFacts::from_line(&line).unwrap_or_default();
            let mut answer = self.open().open(&facts)?;
            process.write(line).await;
            while let Some(message) = answer.recv().await {
                if message.is_last {
                    return Ok(());
                }
            }
            Err(self.end_text().await)
        };
        self.connected.get_or_try_init(connect).await?;
        let confirm = || async {
            if let Some(line) = self.handshake.initialized_notification() {
                process.write(line).await;
            }
        };
        self.confirmed.get_or_init(confirm).await;
        Ok(())
    }

    /// Reads the messages of the process until it ends.
    async fn read(self: Arc<Self>, stdout: ChildStdout, process: Arc<ToolProcess>) {
        let mut lines = LineReader::new(stdout, LONGEST_LINE);
        let why = loop {
            match lines.next().await {
                Ok(Some(ReadLine::Text(line))) => self.deliver_message(line).await,
                Ok(Some(ReadLine::TooLong)) => {
                    break format!("wrote a line of more than {} MiB", LONGEST_LINE >> 20);
                }
                Ok(None) | Err(_) => match process.exit_code(END_GRACE).await {
                    Some(code) => break format!("ended with exit code {code}"),
                    None => break "closed its stdout".to_owned(),
                },
            }
        };
        self.give_up(&why);
        process.end().await;
    }

    /// Sends a message of the process on.
    async fn deliver_message(&self, line: Bytes) {
        let line = one_line(line);
        let Some(facts) = RpcFacts::from_line(&line) else { return self.report_unread(&line) };
        let route = self.open().route_message(&facts);
        match route {
            MessageRoute::Answer { reader, is_last } => {
                // A client that left needs no answer.
                let _ = reader.send(AnswerMessage { line, is_last }).await;
            }
            MessageRoute::Client => {
                let _ = self.client.send(line).await;
            }
        }
    }

    /// Says that a line is no message.
    fn report_unread(&self, line: &[u8]) {
        let count = self.unread.fetch_add(1, Ordering::Relaxed);
        if count < SHOWN {
            let text: String = String::from_utf8_lossy(line).chars().take(SHOWN_LENGTH).collect();
            let text = terminal::printable_line(&text);
            let name = &self.name;
            self.output.warning(&format!(
                "mcp {name}: its server wrote a line to stdout that is no message: {text}"
            ));
        } else if count == SHOWN {
            self.output.warning(&format!("mcp {}: further such lines are not shown", self.name));
        }
    }

    /// Ends all answers, unless loomrec ends the process.
    fn give_up(&self, why: &str) {
        if !self.is_stopping.load(Ordering::Relaxed) {
            self.open().end_all(&format!("the MCP server {} {why}", self.name));
        }
        self.ended.send_replace(true);
    }

    /// Returns why the process answers no more.
    async fn end_text(&self) -> String {
        let ended = tokio::time::timeout(END_GRACE * 2, self.wait_for_end()).await;
        let text = self.open().end_reason().map(str::to_owned);
        let unknown = || format!("the MCP server {} closed its stdin", self.name);
        text.filter(|_| ended.is_ok()).unwrap_or_else(unknown)
    }

    fn open(&self) -> MutexGuard<'_, OpenRequests> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a body as one line. Between the tokens of JSON, a blank is as good as the end of a line.
pub(super) fn one_line(body: Bytes) -> Bytes {
    let ends_line = |byte: u8| matches!(byte, b'\n' | b'\r');
    if !body.iter().any(|byte| ends_line(*byte)) {
        return body;
    }
    let blank = |byte: &u8| if ends_line(*byte) { b' ' } else { *byte };
    body.iter().map(blank).collect::<Vec<u8>>().into()
}
