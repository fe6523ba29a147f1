//! One connection to the guard, until it is over.

use std::time::Duration;

use http::uri::Authority;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::context::{AcceptedTunnel, EscapePolicy, GuardContext, NeededLogin, ProxyClient};
use super::escapes::{self, EscapeRemedy};
use super::request::{ConnectionKind, GuardRequest};
use loomrec_engine::upstream::{TunnelError, TunnelScope, is_this_machine};
use loomrec_provider::directory::ProviderHosts;

/// How long a client may take for the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a refused client may take to read why.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The answer that a tunnel is open.
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// A connection of a client.
pub(super) struct GuardConnection<'a> {
    client: TcpStream,
    context: &'a GuardContext,
    login: NeededLogin<'a>,
}

/// A refusal: the status line without the version, and the text.
struct GuardRefusal {
    status: String,
    text: String,
}

/// How a request for a connection ended.
enum RequestEnd {
    Refused(GuardRefusal),
    /// The connection was passed on, and is over.
    Passed,
    /// The tunnel to this host ends at loomrec.
    Intercepted(Authority),
}

impl<'a> GuardConnection<'a> {
    pub(super) fn new(
        client: TcpStream,
        context: &'a GuardContext,
        login: NeededLogin<'a>,
    ) -> Self {
        Self { client, context, login }
    }

    /// Serves its one request: a tunnel, or a refusal. Returns a tunnel whose end loomrec is.
    pub(super) async fn serve_request(mut self) -> Option<AcceptedTunnel> {
        // If Nagle's algorithm cannot be turned off, that costs time, not correctness.
        drop(self.client.set_nodelay(true));
        // A client that leaves or says nothing needs no answer.
        let Ok(Ok(request)) = timeout(HEAD_TIMEOUT, GuardRequest::read(&mut self.client)).await
        else {
            return None;
        };
        let end = match request {
            Some(request) => self.connect_to_host(request).await,
            None => RequestEnd::Refused(GuardRefusal {
                status: "400 Bad Request".to_owned(),
                text: "this is loomrec's guard, a proxy for https connections only".to_owned(),
            }),
        };
        match end {
            RequestEnd::Refused(refusal) => self.send_refusal(&refusal).await,
            RequestEnd::Passed => {}
            RequestEnd::Intercepted(host) => {
                return Some(AcceptedTunnel { client: self.client, host });
            }
        }
        None
    }

    /// Connects the client with the host that it asks for.
    async fn connect_to_host(&mut self, request: GuardRequest) -> RequestEnd {
        let context = self.context;
        if let Some(refusal) = self.check_login(&request) {
            return RequestEnd::Refused(refusal);
        }
        let is_here = context.is_listener(&request.host_name(), request.port());
        let scope = match is_here {
            true if matches!(self.login, NeededLogin::OfListener(_)) => {
                return RequestEnd::Refused(own_listener_refusal(&request));
            }
            true => TunnelScope::ThisMachineToo,
            false if self.is_intercepted(&request) => return self.intercept_tunnel(&request).await,
            false => match self.check_destination(&request) {
                Some(refusal) => return RequestEnd::Refused(refusal),
                None => context.policy.tunnel_scope(),
            },
        };
        let opened = match request.kind {
            ConnectionKind::Tls => context.connector.open_tls(&request.to, scope).await,
            _ => context.connector.open(&request.to, scope).await,
        };
        let mut server = match opened {
            Ok(server) => server,
            Err(error) => {
                return RequestEnd::Refused(unreachable_refusal(&error, &request, context.policy));
            }
        };
        let is_tunnel = request.kind == ConnectionKind::Tunnel;
        let answer = if is_tunnel { ESTABLISHED } else { b"" };
        // An error is the end of the connection for both sides, which see it as such.
        if self.client.write_all(answer).await.is_ok()
            && server.write_all(&request.first_bytes).await.is_ok()
        {
            drop(copy_bidirectional(&mut self.client, &mut server).await);
        }
        RequestEnd::Passed
    }

    /// Returns why the client may not use this proxy.
    fn check_login(&self, request: &GuardRequest) -> Option<GuardRefusal> {
        let (is_known, text) = match self.login {
            NeededLogin::OfRun(login) => (
                request.has_login(login),
                "this proxy is for the command that loomrec runs: its URL is in HTTPS_PROXY, with a \
                 name and a password",
            ),
            NeededLogin::OfListener(ProxyClient::Own) => return None,
            NeededLogin::OfListener(ProxyClient::WithToken(token)) => (
                request.has_password(token),
                "this proxy is for the user that runs loomrec on this machine: all others send the \
                 token of --control-token as a password, with any name",
            ),
            NeededLogin::OfListener(ProxyClient::Refused(why)) => {
                let status = "403 this proxy is for another user".to_owned();
                return Some(GuardRefusal { status, text: why.to_owned() });
            }
        };
        let status = "407 Proxy Authentication Required\r\nproxy-authenticate: Basic \
                      realm=\"loomrec\"";
        let refusal = GuardRefusal { status: status.to_owned(), text: text.to_owned() };
        (!is_known).then_some(refusal)
    }

    fn is_intercepted(&self, request: &GuardRequest) -> bool {
        request.kind == ConnectionKind::Tunnel
            && request.target_address().is_some_and(|to| self.context.is_intercepted(&to))
    }

    /// Opens a tunnel whose end loomrec is.
    async fn intercept_tunnel(&mut self, request: &GuardRequest) -> RequestEnd {
        let Some(host) = request.shown_host().parse().ok().filter(|_| {
            // What came before the answer would be lost.
            request.first_bytes.is_empty()
        }) else {
            return RequestEnd::Refused(GuardRefusal {
                status: "400 Bad Request".to_owned(),
                text: "wait for the answer to CONNECT before you send more".to_owned(),
            });
        };
        match self.client.write_all(ESTABLISHED).await {
            Ok(()) => RequestEnd::Intercepted(host),
            // The client has left.
            Err(_) => RequestEnd::Passed,
        }
    }

    /// Counts a connection. Returns why it is refused, if it leads to a provider and is.
    fn check_destination(&self, request: &GuardRequest) -> Option<GuardRefusal> {
        let shown = request.shown_host();
        let Some(remedy) = self.find_remedy(request) else {
            let scope = self.context.policy.tunnel_scope();
            if scope == TunnelScope::OtherMachines && is_this_machine(&request.host_name()) {
                return Some(this_machine_refusal(&request.host_name()));
            }
            if self.context.is_passed_on(&shown) {
                self.context.hosts.add_passed(&shown);
                return None;
            }
            self.context.refuse_host(&shown);
            return Some(GuardRefusal {
                status: format!("403 loomrec replays without {shown}: --pass {shown} permits it"),
                text: format!(
                    "loomrec replay --intercept makes no connection to {shown}, which is no host of \
                     an upstream: loomrec replay --pass {shown} lets it through"
                ),
            });
        };
        self.context.hosts.add_escape(&shown, &remedy);
        (self.context.policy == EscapePolicy::Refuse).then(|| GuardRefusal {
            status: format!("403 loomrec replays calls to {shown}: {}", remedy.for_status()),
            text: format!("loomrec replay: this program may not call {shown} itself: {remedy}"),
        })
    }

    /// Returns what makes a connection past loomrec one to it. `None` if it is no upstream's.
    fn find_remedy(&self, request: &GuardRequest) -> Option<EscapeRemedy> {
        let (host, routes) = (request.shown_host(), &self.context.routes);
        let target = request.target_address();
        let own = target.as_ref().and_then(|target| routes.own_upstream_at_host(target));
        let recorded = || routes.recorded_upstream_at_host(target.as_ref()?);
        let public = || {
            let of_provider = ProviderHosts::upstream_at(&request.host_name());
            of_provider.or_else(|| request.asks_a_model().then_some("NAME"))
        };
        let known = own.or_else(recorded);
        let upstream = known.or_else(public)?;
        let can_intercept = self.context.interception.is_none();
        if !can_intercept && request.kind == ConnectionKind::Tunnel {
            return Some(EscapeRemedy::upstream_flag(upstream, &host));
        }
        let url = match known {
            Some(_) => escapes::base_url(upstream),
            None => escapes::base_url_with_flag(upstream, &host),
        };
        Some(EscapeRemedy::BaseUrl { url, can_intercept })
    }

    async fn send_refusal(&mut self, GuardRefusal { status, text }: &GuardRefusal) {
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

/// Returns the refusal for a tunnel to loomrec through its own listener.
fn own_listener_refusal(request: &GuardRequest) -> GuardRefusal {
    let host = request.host_name();
    let status = format!("403 {host} is loomrec itself");
    let text = format!(
        "loomrec makes no tunnel to itself: add {host} to NO_PROXY, so that the program calls it \
         directly"
    );
    GuardRefusal { status, text }
}

/// Returns the refusal for a connection to this machine.
fn this_machine_refusal(host: &str) -> GuardRefusal {
    let status = format!("403 {host} is this machine");
    let text = format!(
        "loomrec's guard makes no connections to this machine: add {host} to NO_PROXY, so that the \
         program connects to it directly"
    );
    GuardRefusal { status, text }
}

/// Returns the refusal for a connection that could not be made.
fn unreachable_refusal(
    error: &TunnelError,
    request: &GuardRequest,
    policy: EscapePolicy,
) -> GuardRefusal {
    if let TunnelError::ThisMachine { host } = error {
        return this_machine_refusal(host.host());
    }
    let status =
        format!("{} failed to connect to {}", policy.unreachable_status(), request.to.host());
    GuardRefusal { status, text: format!("failed to {error}") }
}
