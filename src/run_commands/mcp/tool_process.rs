//! The process of a server of tools: its start, the messages that it gets, and its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::line_reader::send_line;
use loomrec_cli::wrapped_command::shell_code;
use loomrec_os::ProcessSignal;

/// How long a server may take to end after its stdin. The SDKs' clients wait twice as long before they
/// send a signal.
const STDIN_GRACE: Duration = Duration::from_millis(1000);
/// How long it may take to end after SIGTERM.
const SIGNAL_GRACE: Duration = Duration::from_millis(500);

/// How to start a server.
#[derive(Clone, Debug)]
pub(super) struct ToolCommand {
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    /// The variables that it gets, or `None` for those that it must not have.
    pub(super) variables: BTreeMap<String, Option<String>>,
}

/// A running server.
#[derive(Debug)]
pub(super) struct ToolProcess {
    /// The process, which leads a group.
    leader: Option<u32>,
    messages: Mutex<Option<mpsc::Sender<SentMessage>>>,
    ended: watch::Receiver<Option<u8>>,
}

/// A message on its way to a server.
#[derive(Debug)]
struct SentMessage {
    line: Bytes,
    on_written: oneshot::Sender<()>,
}

impl ToolProcess {
    /// Starts a server. Returns it with its stdout.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub(super) fn start(command: &ToolCommand) -> io::Result<(Self, ChildStdout)> {
        let (program, arguments) =
            command.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut started = std::process::Command::new(program);
        started.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        for (name, value) in &command.variables {
            match value {
                Some(value) => started.env(name, value),
                None => started.env_remove(name),
            };
        }
        // `npx` and others start further processes, which end with it.
        loomrec_os::lead_process_group(&mut started);
        let mut child = Command::from(started).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdin = stdin.ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = stdout.ok_or(io::ErrorKind::BrokenPipe)?;
        let leader = child.id();
        let (messages, waiting) = mpsc::channel(1);
        let (on_end, ended) = watch::channel(None);
        tokio::spawn(write_messages(stdin, waiting));
        tokio::spawn(wait_for(child, on_end));
        Ok((Self { leader, messages: Mutex::new(Some(messages)), ended }, stdout))
    }

    /// Writes a message to its stdin. Returns whether it was written.
    pub(super) async fn write(&self, line: Bytes) -> bool {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(messages) = messages else { return false };
        let (on_written, written) = oneshot::channel();
        let sent = messages.send(SentMessage { line, on_written }).await;
        // The writer drops the rest if the server has closed its stdin.
        sent.is_ok() && written.await.is_ok()
    }

    /// Returns its exit code, once it has ended and within this time.
    pub(super) async fn exit_code(&self, most: Duration) -> Option<u8> {
        let mut ended = self.ended.clone();
        let ended = timeout(most, ended.wait_for(Option::is_some)).await;
        ended.ok()?.ok().and_then(|code| *code)
    }

    /// Ends it as the protocol says: its stdin first, then SIGTERM, then SIGKILL. Nothing of its group
    /// is left.
    pub(super) async fn end(&self) -> Option<u8> {
        drop(self.messages.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut code = self.exit_code(STDIN_GRACE).await;
        let is_left = self.signal_group(ProcessSignal::Terminate);
        if code.is_none() || is_left {
            code = self.exit_code(SIGNAL_GRACE).await;
            self.signal_group(ProcessSignal::Kill);
            code = match code {
                Some(code) => Some(code),
                None => self.exit_code(SIGNAL_GRACE).await,
            };
        }
        code
    }

    /// Sends a signal to the processes of its group. Returns whether there are any.
    fn signal_group(&self, signal: ProcessSignal) -> bool {
        self.leader.is_some_and(|leader| loomrec_os::signal_process_group(leader, signal).is_ok())
    }
}

/// Writes messages to the stdin of a server, and closes it after the last.
async fn write_messages(mut stdin: ChildStdin, mut waiting: mpsc::Receiver<SentMessage>) {
    while let Some(SentMessage { line, on_written }) = waiting.recv().await {
        if send_line(&mut stdin, &line).await.is_err() {
            return;
        }
        // The sender may have left.
        let _ = on_written.send(());
    }
}

async fn wait_for(mut child: Child, on_end: watch::Sender<Option<u8>>) {
    let code = child.wait().await.map_or(u8::MAX, shell_code);
    on_end.send_replace(Some(code));
}
