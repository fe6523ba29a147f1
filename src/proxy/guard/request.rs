//! The first request of a connection to the guard, which says where the client wants to go.

use std::io;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::Uri;
use http::uri::{Authority, Scheme};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::context::GuardLogin;

/// The longest head that is read.
const LONGEST_HEAD: usize = 64 << 10;
const END: &[u8] = b"\r\n\r\n";
/// How paths end that models are called by, whatever the base URL.
const ENDS_OF_PATHS: [&str; 4] = ["/chat/completions", "/responses", "/messages", "/embeddings"];

/// The kind of connection that a client wants from the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionKind {
    /// A tunnel.
    Tunnel,
    /// One on which the guard makes TLS: some clients send the request for an `https` address to
    /// their proxy.
    Tls,
    /// One for a request to an `http` address: some clients use the proxy for `https` for these, too.
    Plain,
}

/// A request to the guard.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GuardRequest {
    /// Where the client wants to go.
    pub(super) to: Authority,
    /// The value of `proxy-authorization`.
    authorization: Option<String>,
    /// The bytes for the server: those after the head of a `CONNECT`, or a request for an address in
    /// the form that a server expects.
    pub(super) first_bytes: Vec<u8>,
    /// The kind of connection that the client wants.
    pub(super) kind: ConnectionKind,
    /// Whether it has a path that models are called by. In a tunnel, no path is seen.
    asks_a_model: bool,
}

impl GuardRequest {
    /// Reads a request. Returns `None` if the guard does not serve such a request.
    ///
    /// # Errors
    /// A connection that breaks or ends within the head, or a head that is too long.
    pub(super) async fn read(client: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        loop {
            let searched = bytes.len().saturating_sub(END.len());
            if client.read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(at) = memmem::find(&bytes[searched..], END) {
                let rest = bytes.split_off(searched + at + END.len());
                return Ok(Self::parse(&bytes, rest));
            }
            if bytes.len() > LONGEST_HEAD {
                return Ok(None);
            }
        }
    }

    /// Reads a head, which ends in an empty line. `rest` is what came after it.
    fn parse(head: &[u8], rest: Vec<u8>) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.trim_end_matches("\r\n").split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let name_of = |line: &str| line.split(':').next().unwrap_or(line).to_ascii_lowercase();
        let authorization = lines.clone().find(|line| name_of(line) == "proxy-authorization");
        let authorization = authorization.and_then(|line| Some(line.split_once(':')?.1.trim()));
        let authorization = authorization.map(str::to_owned);
        if method == "CONNECT" {
            let to: Authority = target.parse().ok()?;
            to.port_u16()?;
            let (kind, asks_a_model) = (ConnectionKind::Tunnel, false);
            return Some(Self { to, authorization, first_bytes: rest, kind, asks_a_model });
        }
        let uri: Uri = target.parse().ok()?;
        let kind = match uri.scheme()? {
            scheme if *scheme == Scheme::HTTPS => ConnectionKind::Tls,
            scheme if *scheme == Scheme::HTTP => ConnectionKind::Plain,
            _ => return None,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        // The next request on this connection may be for another host.
        let mut sent = format!("{method} {path} {version}\r\nconnection: close\r\n");
        for line in lines {
            let name = name_of(line);
            if name != "connection" && !name.starts_with("proxy-") {
                sent.push_str(line);
                sent.push_str("\r\n");
            }
        }
        sent.push_str("\r\n");
        let first_bytes = [sent.as_bytes(), &rest].concat();
        let asks_a_model = method == "POST" && is_path_of_model(uri.path());
        let to = with_port(uri.authority()?, kind)?;
        Some(Self { to, authorization, first_bytes, kind, asks_a_model })
    }

    /// Whether the client has sent this name and password.
    pub(super) fn has_login(&self, login: &GuardLogin) -> bool {
        let text = BASE64_STANDARD.encode(format!("{}:{}", login.name, login.password));
        self.basic_credentials().is_some_and(|sent| is_same(sent.as_bytes(), text.as_bytes()))
    }

    /// Whether the client has sent this password, with any name.
    pub(super) fn has_password(&self, password: &str) -> bool {
        let sent = self.basic_credentials().and_then(|sent| BASE64_STANDARD.decode(sent).ok());
        let sent = sent.as_deref().and_then(|login| login.splitn(2, |byte| *byte == b':').nth(1));
        sent.is_some_and(|sent| is_same(sent, password.as_bytes()))
    }

    /// Returns what the client has sent of a name and a password, in base64.
    fn basic_credentials(&self) -> Option<&str> {
        let (scheme, sent) = self.authorization.as_deref()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("basic").then_some(sent)
    }

    /// Returns the host without a port, in lower case and without a dot at its end.
    pub(super) fn host_name(&self) -> String {
        self.to.host().trim_end_matches('.').to_ascii_lowercase()
    }

    /// Returns the host, with its port if that is not 443.
    pub(super) fn shown_host(&self) -> String {
        let (host, port) = (self.host_name(), self.port());
        if port == 443 { host } else { format!("{host}:{port}") }
    }

    /// Returns host and port. `None` if the host, without a user, is not valid.
    pub(super) fn target_address(&self) -> Option<Authority> {
        format!("{}:{}", self.host_name(), self.port()).parse().ok()
    }

    /// Whether it has a path that models are called by.
    pub(super) fn asks_a_model(&self) -> bool {
        self.asks_a_model
    }

    /// Returns the port.
    pub(super) fn port(&self) -> u16 {
        self.to.port_u16().unwrap_or(443)
    }
}

/// Returns an authority whose port is not that of `https`, unless it is meant.
fn with_port(authority: &Authority, kind: ConnectionKind) -> Option<Authority> {
    match (kind, authority.port_u16()) {
        (ConnectionKind::Plain, None) => format!("{}:80", authority.host()).parse().ok(),
        _ => Some(authority.clone()),
    }
}

/// Compares in a time that does not depend on where two texts of one length differ.
fn is_same(sent: &[u8], expected: &[u8]) -> bool {
    let differences = sent.iter().zip(expected).fold(0, |all, (one, other)| all | (one ^ other));
    sent.len() == expected.len() && differences == 0
}

/// Whether models are called by this path, below any base URL.
fn is_path_of_model(path: &str) -> bool {
    loomrec_provider::upstream_for("POST", path, &[]).is_some()
        || ENDS_OF_PATHS.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(head: &str) -> Option<GuardRequest> {
        GuardRequest::parse(head.as_bytes(), b"rest".to_vec())
    }

    #[test]
    fn connect_names_host_and_port() {
        let head = "CONNECT api.example:443 HTTP/1.1\r\nHost: x\r\nproxy-Authorization: Basic bWU6cA==\r\n\r\n";
        let request = parsed(head).unwrap();
        assert_eq!((request.to.host(), request.port()), ("api.example", 443));
        let expected = (ConnectionKind::Tunnel, &b"rest"[..]);
        assert_eq!((request.kind, request.first_bytes.as_slice()), expected);
        let login = |name: &str| GuardLogin { name: name.to_owned(), password: "p".to_owned() };
        assert!(request.has_login(&login("me")) && !request.has_login(&login("you")));
        assert!(request.has_password("p") && !request.has_password("me"));
        let request = parsed("CONNECT [::1]:8443 HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!((request.to.host(), request.port()), ("[::1]", 8443));
        assert!(!request.has_login(&login("me")));
    }

    #[test]
    fn request_for_an_https_address_is_written_as_its_server_expects_it() {
        let head = "POST https://a.example/v1/x?y=1 HTTP/1.1\r\nhost: a.example\r\nConnection: \
                    keep-alive\r\nproxy-connection: x\r\ncontent-length: 4\r\n\r\n";
        let request = parsed(head).unwrap();
        let of =
            |request: &GuardRequest| (request.to.host().to_owned(), request.port(), request.kind);
        assert_eq!(of(&request), ("a.example".to_owned(), 443, ConnectionKind::Tls));
        let plain = parsed(&head.replace("https://a.example/", "http://a.example/")).unwrap();
        assert_eq!(of(&plain), ("a.example".to_owned(), 80, ConnectionKind::Plain));
        assert_eq!(plain.first_bytes, request.first_bytes);
        let expected = "POST /v1/x?y=1 HTTP/1.1\r\nconnection: close\r\nhost: \
                        a.example\r\ncontent-length: 4\r\n\r\nrest";
        assert_eq!(String::from_utf8(request.first_bytes).unwrap(), expected);
    }

    #[test]
    fn path_tells_a_call_of_a_model_where_it_is_seen() {
        for (line, expected) in [
            ("POST https://a.example/v1/chat/completions HTTP/1.1", true),
            ("POST https://a.example/any/base/chat/completions?x=1 HTTP/1.1", true),
            ("POST https://a.example/v1/messages HTTP/1.1", true),
            ("POST https://a.example/upload HTTP/1.1", false),
            ("GET https://a.example/v1/chat/completions HTTP/1.1", false),
            ("CONNECT a.example:443 HTTP/1.1", false),
        ] {
            let request = parsed(&format!("{line}\r\n\r\n")).unwrap();
            assert_eq!(request.asks_a_model(), expected, "{line}");
        }
    }

    #[test]
    fn host_has_one_spelling() {
        for (target, expected) in [
            ("API.Openai.com:443", "api.openai.com"),
            ("api.openai.com.:443", "api.openai.com"),
            ("user@api.openai.com:443", "api.openai.com"),
            ("[::1]:443", "[::1]"),
        ] {
            let request = parsed(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")).unwrap();
            assert_eq!(request.host_name(), expected);
        }
        assert_eq!(parsed("CONNECT api\u{3002}openai.com:443 HTTP/1.1\r\n\r\n"), None);
    }

    #[test]
    fn everything_else_is_not_served() {
        for line in [
            "GET / HTTP/1.1",
            "GET ftp://a.example/ HTTP/1.1",
            "CONNECT a.example HTTP/1.1",
            "CONNECT a.example:0x HTTP/1.1",
            "CONNECT a.example:443 HTTP/2",
            "CONNECT  a.example:443 HTTP/1.1",
            "CONNECT a.example:443 HTTP/1.1 x",
            "CONNECT /:443 HTTP/1.1",
            "",
        ] {
            assert_eq!(parsed(&format!("{line}\r\n\r\n")), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(head in proptest::collection::vec(any::<u8>(), 0..200), rest: Vec<u8>) {
            let _ = GuardRequest::parse(&head, rest);
        }
    }
}
