//! The peers: the paths and versions of their programs, and the arguments with which they record
//! and replay.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::{Launch, free_port};
use crate::fault::Fault;
use crate::sample::Kind;

/// A program that does a part of loomrec's work, or that marks the limit of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A web server: static files, and a proxy that keeps nothing.
    Nginx,
    /// mitmproxy without its user interface.
    Mitmdump,
    /// A mock of LLM APIs, in Node.
    Aimock,
    /// A mock of LLM APIs, in Rust.
    Llmposter,
    /// A mock of HTTP APIs, on the JVM.
    Wiremock,
}

/// The task of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Forward calls to the upstream, and keep them if it can.
    Record,
    /// Answer from what was kept.
    Replay,
}

/// The circumstances under which a peer works.
pub struct Setting<'a> {
    /// The peer's own folder.
    pub folder: &'a Path,
    /// The host and port of the upstream.
    pub origin: &'a str,
    /// The kind of answer that the upstream sends.
    pub kind: Kind,
    /// The certificate of the upstream's authority, if it uses TLS.
    pub authority: Option<&'a Path>,
}

impl Setting<'_> {
    /// Returns the URL of the upstream.
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.origin)
    }
}

impl Peer {
    /// All peers.
    pub const ALL: [Self; 5] =
        [Self::Nginx, Self::Mitmdump, Self::Aimock, Self::Llmposter, Self::Wiremock];

    /// Returns its name, which is also that of its installation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Mitmdump => "mitmdump",
            Self::Aimock => "aimock",
            Self::Llmposter => "llmposter",
            Self::Wiremock => "wiremock",
        }
    }

    /// Returns the program with its first arguments.
    fn program(self) -> Result<Vec<OsString>, String> {
        let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/bench");
        let (runner, file) = match self {
            Self::Nginx => (None, cache.join("nginx/root/usr/sbin/nginx")),
            Self::Mitmdump => (None, cache.join("python/bin/mitmdump")),
            Self::Llmposter => (None, cache.join("llmposter/bin/llmposter")),
            Self::Aimock => {
                let package = "aimock/node_modules/@copilotkit/aimock";
                (Some("node"), cache.join(package).join("dist/cli.js"))
            }
            Self::Wiremock => (Some("java"), jar(&cache).unwrap_or_default()),
        };
        if file.is_file() {
            let mut words: Vec<OsString> = runner.into_iter().map(OsString::from).collect();
            if self == Self::Wiremock {
                words.push("-jar".into());
            }
            words.push(file.into());
            return Ok(words);
        }
        if self == Self::Nginx && first_line_of("nginx", &["-v".into()]).is_some() {
            return Ok(vec!["nginx".into()]);
        }
        let reason = fs::read_to_string(cache.join(format!("{}.missing", self.name())));
        Err(reason.map_or_else(|_| "not installed".to_owned(), |text| text.trim().to_owned()))
    }

    /// Returns its name and version, or why it is not available.
    ///
    /// # Errors
    /// The reason in words.
    pub fn version(self) -> Result<String, String> {
        let words = self.program()?;
        let last = words.last().map(PathBuf::from).unwrap_or_default();
        let text = match self {
            Self::Nginx => first_line_by(&words, "-v"),
            Self::Mitmdump => first_line_by(&words, "--version"),
            // It has no version flag, but cargo recorded what it installed.
            Self::Llmposter => last
                .ancestors()
                .nth(2)
                .and_then(|root| fs::read_to_string(root.join(".crates.toml")).ok()),
            Self::Aimock => last
                .ancestors()
                .nth(2)
                .and_then(|package| fs::read_to_string(package.join("package.json")).ok())
                .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
                .and_then(|package| package["version"].as_str().map(str::to_owned)),
            Self::Wiremock => last.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
        };
        let text = text.unwrap_or_default();
        let number = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let number = number.filter(|part| part.contains('.')).find(|part| part.len() > 2);
        Ok(format!("{} {}", self.name(), number.unwrap_or("of an unknown version")))
    }

    /// Returns the command that starts it for a task.
    ///
    /// # Errors
    /// A peer that is not available; a folder that cannot be written.
    pub fn launch(self, name: &'static str, task: Task, at: &Setting) -> Result<Launch, Fault> {
        let missing = |detail| Fault::Child { name, detail };
        let mut words = self.program().map_err(missing)?;
        let program = words.remove(0);
        let port = free_port()?;
        let folder = at.folder.display();
        let origin = at.origin;
        let failed = |source| Fault::Io { what: "set a peer up", source };
        fs::create_dir_all(at.folder.join("fixtures")).map_err(failed)?;
        let text = match (self, task) {
            (Self::Nginx, _) => {
                fs::write(at.folder.join("nginx.conf"), nginx(task, at, port)).map_err(failed)?;
                fs::write(at.folder.join("answer"), at.kind.chunks().concat()).map_err(failed)?;
                format!("-e stderr -p {folder} -c {folder}/nginx.conf")
            }
            (Self::Mitmdump, Task::Record) => format!(
                "-q --mode reverse:http://{origin} --listen-host 127.0.0.1 -p {port} \
                 --set confdir={folder}/conf -w {folder}/flows"
            ),
            (Self::Mitmdump, Task::Replay) => format!(
                "-q --mode reverse:http://{origin} --listen-host 127.0.0.1 -p {port} \
                 --set confdir={folder}/conf --server-replay {folder}/flows \
                 --set server_replay_reuse=true --set server_replay_extra=404 \
                 --set connection_strategy=lazy"
            ),
            (Self::Aimock, Task::Record) => format!(
                "-p {port} -f {folder}/fixtures --log-level silent --record \
                 --provider-openai http://{origin}"
            ),
            (Self::Aimock, Task::Replay) => {
                format!("-p {port} -f {folder}/fixtures --log-level silent --strict")
            }
            (Self::Llmposter, Task::Record) => format!(
                "--fixtures {folder}/fixtures --port {port} --vcr-mode record \
                 --record-file {folder}/fixtures/recorded.yaml --proxy-openai http://{origin}"
            ),
            (Self::Llmposter, Task::Replay) => {
                format!("--fixtures {folder}/fixtures/recorded.yaml --port {port}")
            }
            (Self::Wiremock, Task::Record) => format!(
                "--port {port} --bind-address 127.0.0.1 --root-dir {folder} --disable-banner \
                 --disable-gzip --proxy-all http://{origin} --record-mappings"
            ),
            (Self::Wiremock, Task::Replay) => format!(
                "--port {port} --bind-address 127.0.0.1 --root-dir {folder} --disable-banner \
                 --disable-gzip --no-request-journal"
            ),
        };
        // These folders belong to the benchmark, so their paths contain no blanks.
        words.extend(text.split_whitespace().map(OsString::from));
        Ok(Launch { name, program, words, settings: Vec::new(), port: Some(port) })
    }
}

/// Returns the configuration for a server of one file, or for a proxy to the upstream. nginx treats
/// a POST to a file as an error, but can be told to answer with a file instead.
fn nginx(task: Task, at: &Setting, port: u16) -> String {
    let Setting { folder, origin, kind, .. } = at;
    let (folder, media) = (folder.display(), kind.media());
    let location = match task {
        Task::Replay => format!(
            "root {folder}; rewrite ^ /answer break; error_page 405 =200 /answer; \
             open_file_cache max=16; sendfile on;"
        ),
        Task::Record => "proxy_pass http://bare; proxy_http_version 1.1; \
                         proxy_set_header Connection \"\"; proxy_buffering off;"
            .to_owned(),
    };
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String =
        kinds.iter().map(|kind| format!("{kind}_temp_path {folder}/{kind};\n")).collect();
    format!(
        "user root;\nworker_processes auto;\ndaemon off;\npid {folder}/pid;\n\
         error_log stderr error;\nevents {{ worker_connections 256; }}\nhttp {{\n{temporary}\
         access_log off;\ntcp_nodelay on;\ntypes {{ }}\ndefault_type \"{media}\";\n\
         keepalive_requests 1000000000;\nclient_max_body_size 64m;\n\
         client_body_buffer_size 1m;\n\
         upstream bare {{ server {origin}; keepalive 64; keepalive_requests 1000000000; }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ {location} }} }}\n}}\n"
    )
}

/// Returns the jar among the files of WireMock's package.
fn jar(cache: &Path) -> Option<PathBuf> {
    let folder = fs::read_dir(cache.join("wiremock/node_modules/wiremock/build")).ok()?;
    let mut files = folder.flatten().map(|entry| entry.path());
    files.find(|path| path.extension().is_some_and(|kind| kind == "jar"))
}

fn first_line_by(words: &[OsString], last: &str) -> Option<String> {
    let (program, first) = words.split_first()?;
    let words: Vec<OsString> = first.iter().cloned().chain([last.into()]).collect();
    first_line_of(&program.to_string_lossy(), &words)
}

/// Returns the first line that a program prints to stdout or stderr.
fn first_line_of(program: &str, words: &[OsString]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let bytes = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&bytes).lines().next().map(str::to_owned)
}
