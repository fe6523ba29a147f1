//! A probe of clients: a proxy on a port of its own, which refuses every tunnel and counts them.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest version that is shown.
const LONGEST_VERSION: usize = 60;

/// The variables that decide about a proxy, beside those that the probe sets.
const OTHER_PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"];

/// Returns the first line that a program prints of its version; `None` if it does not run.
pub(super) async fn version_of(program: &str, flag: &str) -> Option<String> {
    let mut command = Command::new(program);
    // Go would fetch the version that this folder asks for.
    command.arg(flag).env("GOTOOLCHAIN", "local").stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    if !output.status.success() {
        return None;
    }
    // Java prints it on stderr.
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().map(str::trim).filter(|line| !line.is_empty())?;
    Some(line.chars().take(LONGEST_VERSION).collect())
}

/// Whether a program with these arguments, which calls an https address, asks the proxy of its
/// environment for a tunnel. The variables are those of `--intercept`.
pub(super) async fn uses_proxy(program: &str, arguments: &[&str]) -> Option<bool> {
    let listener = TcpListener::bind("127.0.0.1:0").await.ok()?;
    let proxy = format!("http://{}", listener.local_addr().ok()?);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("HTTPS_PROXY", &proxy)
        .env("https_proxy", &proxy)
        .env("NODE_USE_ENV_PROXY", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    OTHER_PROXIES.iter().for_each(|name| _ = command.env_remove(name));
    let mut child = command.spawn().ok()?;
    tokio::select! {
        biased;
        () = refuse_tunnel(&listener) => Some(true),
        ended = timeout(PATIENCE, child.wait()) => ended.is_ok().then_some(false),
    }
}

/// Waits for a request for a tunnel, and refuses it.
async fn refuse_tunnel(listener: &TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        let first = timeout(PATIENCE, stream.read_until(b'\n', &mut line)).await;
        if matches!(first, Ok(Ok(_))) && line.starts_with(b"CONNECT ") {
            let refusal = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
            // The client is known to use the proxy, whether it reads this or not.
            drop(stream.write_all(refusal).await);
            return;
        }
    }
}
