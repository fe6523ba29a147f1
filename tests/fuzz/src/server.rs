//! Servers within this process, run as `loomrec replay` and `loomrec record` run them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clap::Parser as _;
use loomrec_arguments::{Cli, Command};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::settings::Settings;
use loomrec_run_commands::commands::{record, replay};

use crate::{scratch, upstream};

const CALL: &[u8] = include_bytes!("../corpus/recording/chat");
const CONVERSATION: &[u8] = include_bytes!("../corpus/recording/conversation");

/// The time limit after which the server counts as hanging.
const PATIENCE: Duration = Duration::from_secs(8);

/// More bytes than any answer has.
const MOST: u64 = 8 << 20;

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
}

impl Server {
    /// Returns the one server of this process, which replays a call and a conversation.
    pub fn replaying() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(|| {
            let files = [("call.json", CALL), ("conversation.json", CONVERSATION)];
            let folder = scratch::lay_out(&files);
            let paths = files.map(|(name, _)| folder.join(name).display().to_string());
            Self::start(move |listen| {
                let [call, conversation] = &paths;
                let words = ["loomrec", "replay", "-r", call, "-r", conversation];
                let more = ["--repeat", "last", "--listen", listen, "--quiet"];
                serve(&[&words[..], &more].concat())
            })
        })
    }

    /// Returns the one server of this process that records the answers of `upstream`, and the path
    /// of its recording.
    pub fn recording() -> (&'static Self, &'static Path) {
        static SERVER: OnceLock<(Server, PathBuf)> = OnceLock::new();
        let (server, path) = SERVER.get_or_init(|| {
            let path = scratch::lay_out(&[]).join("recording.json");
            let text = path.to_str().expect("a plain path").to_owned();
            let server = Self::start(move |listen| {
                let mut words: Vec<String> =
                    ["loomrec", "record", "-r", &text, "--listen", listen, "--quiet"]
                        .map(str::to_owned)
                        .to_vec();
                for name in ["openai", "anthropic", "gemini"] {
                    let address = upstream::address();
                    words.extend(["--upstream".into(), format!("{name}=http://{address}")]);
                }
                serve(&words.iter().map(String::as_str).collect::<Vec<_>>())
            });
            (server, path)
        });
        (server, path)
    }

    /// Starts a server, and waits until it can be reached.
    fn start(serve: impl FnOnce(&str) -> Result<u8, CommandFailure> + Send + 'static) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = free.local_addr().expect("an address");
        drop(free);
        std::thread::spawn(move || {
            let ended = serve(&address.to_string());
            panic!("the server ended: {ended:?}");
        });
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < PATIENCE, "the server does not come up");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { address }
    }

    /// Sends bytes on a new connection, and returns all bytes that come back. A client that closes
    /// its sending side at once (`ends`) may get no answer.
    ///
    /// # Panics
    /// If no bytes arrive in time and the connection is not closed.
    pub fn send(&self, bytes: &[u8], ends: bool) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).expect("the server takes connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        // A server may refuse a request before it has read all of it, and close.
        drop(stream.write_all(bytes));
        if ends {
            drop(stream.shutdown(Shutdown::Write));
        }
        let mut answer = Vec::new();
        match stream.take(MOST).read_to_end(&mut answer) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the server hangs after {} bytes of an answer", answer.len())
            }
            _ => answer,
        }
    }
}

/// Runs a command that serves, on a runtime of its own, until it ends.
fn serve(words: &[&str]) -> Result<u8, CommandFailure> {
    let cli = Cli::try_parse_from(words).expect("a valid command line");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let settings = Settings::default();
    runtime.block_on(async {
        match cli.command {
            Command::Record(args) => record(args, &settings).await,
            Command::Replay(args) => replay(args, &settings).await,
            other => panic!("not served by a target: {other:?}"),
        }
    })
}
