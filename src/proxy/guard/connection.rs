//! One connection to the guard, until it is over.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::context::{EscapePolicy, GuardContext};
use super::escapes;
use super::request::{ConnectionKind, GuardRequest};
use loomrec_engine::upstream::{TunnelError, TunnelScope};
use loomrec_provider::directory::ProviderHosts;

/// How long a client may take for the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a refused client may take to read why.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection of a client.
pub(super) struct GuardConnection<'a> {
    client: TcpStream,
    context: &'a GuardContext,
}

/// A refusal: the status line without the version, and the text.
struct GuardRefusal {
    status: String,
    text: String,
}

impl<'a> GuardConnection<'a> {
    pub(super) fn new(client: TcpStream, context: &'a GuardContext) -> Self {
        Self { client, context }
    }

    /// Serves its one request: a tunnel, or a refusal.
    pub(super) async fn serve(mut self) {
        // If Nagle's algorithm cannot be turned off, that costs time, not correctness.
        drop(self.client.set_nodelay(true));
        // A client that leaves or says nothing needs no answer.
        let Ok(Ok(request)) = timeout(HEAD_TIMEOUT, GuardRequest::read(&mut self.client)).await
        else {
            return;
        };
        let refusal = match request {
            Some(request) => self.pass(request).await,
            None => Some(GuardRefusal {
                status: "400 Bad Request".to_owned(),
                text: "this is loomrec's guard, a proxy for https connections only".to_owned(),
            }),
        };
        if let Some(refusal) = refusal {
            self.refuse(&refusal).await;
        }
    }

    /// Connects the client with the host that it asks for. Returns why not.
    async fn pass(&mut self, request: GuardRequest) -> Option<GuardRefusal> {
        let context = self.context;
        if !request.has_login(&context.login) {
            let status = "407 Proxy Authentication Required\r\nproxy-authenticate: Basic \
                          realm=\"loomrec\"";
            let text = "this proxy is for the command that loomrec runs: its URL is in HTTPS_PROXY, \
                        with a name and a password";
            return Some(GuardRefusal { status: status.to_owned(), text: text.to_owned() });
        }
        let scope = match context.is_listener(&request.host_name(), request.port()) {
            true => TunnelScope::ThisMachineToo,
            false => match self.judge(&request) {
                Some(refusal) => return Some(refusal),
                None => context.policy.tunnel_scope(),
            },
        };
        let opened = match request.kind {
            ConnectionKind::Tls => context.connector.open_tls(&request.to, scope).await,
            _ => context.connector.open(&request.to, scope).await,
        };
        let mut server = match opened {
            Ok(server) => server,
            Err(error) => return Some(unreachable(&error, &request, context.policy)),
        };
        let established: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
        let is_tunnel = request.kind == ConnectionKind::Tunnel;
        let answer = if is_tunnel { established } else { b"" };
        // An error is the end of the connection for both sides, which see it as such.
        if self.client.write_all(answer).await.is_ok()
            && server.write_all(&request.first_bytes).await.is_ok()
        {
            drop(copy_bidirectional(&mut self.client, &mut server).await);
        }
        None
    }

    /// Counts a connection. Returns why it is refused, if it leads to a provider and is.
    fn judge(&self, request: &GuardRequest) -> Option<GuardRefusal> {
        let (host, port) = (request.host_name(), request.port());
        let shown = if port == 443 { host.clone() } else { format!("{host}:{port}") };
        let target = format!("{host}:{port}").parse().ok();
        let routes = &self.context.routes;
        let own = target.as_ref().and_then(|target| routes.own_upstream_at_host(target));
        let base_url = match own {
            Some(upstream) => Some(escapes::base_url(upstream)),
            None => ProviderHosts::upstream_at(&host)
                .or_else(|| request.asks_a_model().then_some("NAME"))
                .map(|upstream| escapes::base_url_with_flag(upstream, &shown)),
        };
        let Some(base_url) = base_url else {
            self.context.hosts.add_passed(&shown);
            return None;
        };
        self.context.hosts.add_escape(&shown, &base_url);
        (self.context.policy == EscapePolicy::Refuse).then(|| GuardRefusal {
            status: format!("403 loomrec replays calls to {shown}: use the base URL {base_url}"),
            text: format!(
                "loomrec replay: this program may not call {shown} itself. Give it the base URL \
                 {base_url}, which leads to loomrec, or run loomrec replay --no-guard"
            ),
        })
    }

    async fn refuse(&mut self, GuardRefusal { status, text }: &GuardRefusal) {
        let length = text.len() + 1;
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: \
             {length}\r\nconnection: close\r\n\r\n{text}\n"
        );
        let sending = async {
            self.client.write_all(answer.as_bytes()).await?;
            self.client.shutdown().await?;
            // If bytes of the client were left unread, the end would be a reset, and the client
            // could lose the answer.
            copy(&mut (&mut self.client).take(1 << 20), &mut sink()).await
        };
        drop(timeout(REFUSAL_TIMEOUT, sending).await);
    }
}

/// Returns the refusal for a connection that could not be made.
fn unreachable(error: &TunnelError, request: &GuardRequest, policy: EscapePolicy) -> GuardRefusal {
    if let TunnelError::ThisMachine { host } = error {
        let status = format!("403 {} is this machine", host.host());
        let text = format!(
            "loomrec's guard makes no connections to this machine: add {} to NO_PROXY, so that the \
             program connects to it directly",
            host.host()
        );
        return GuardRefusal { status, text };
    }
    let status =
        format!("{} failed to connect to {}", policy.unreachable_status(), request.to.host());
    GuardRefusal { status, text: format!("failed to {error}") }
}
