//! Finds the upstream of an exchange's address, and the address of an upstream's call.

use http::Uri;
use url::Url;

use loomrec_provider::directory::{self, ProviderHosts};
use loomrec_provider::{Operation, RecognisedCall, RequestHead, recognise_request};

/// The name of the upstream if all calls go to one given address and no name is known.
const UNNAMED: &str = "default";

/// The host of a call whose file names none.
pub(super) const NO_HOST: &str = "no-host.invalid";

/// The addresses of upstreams: the known ones, and those that the user gives.
#[derive(Clone, Debug, Default)]
pub struct UpstreamAddresses {
    named: Vec<(String, Url)>,
    single: Option<Url>,
}

/// The upstream of a call, and its path there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCall {
    /// The upstream's name.
    pub upstream: String,
    /// The raw path after the upstream's mount.
    pub path: String,
    /// How the upstream was found.
    pub by: PlacedBy,
}

/// How the upstream of a call was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedBy {
    /// By its address.
    Address,
    /// By the shape of its path, for example of a gateway or a self-hosted server.
    Shape,
    /// It was not found: its shape is unknown, so it is named after its host.
    Host,
}

impl UpstreamAddresses {
    /// Returns a map with addresses that the user gives. Each has an upstream's name, or none for
    /// everything that belongs to no named upstream.
    pub fn new(given: impl IntoIterator<Item = (Option<String>, Url)>) -> Self {
        let mut addresses = Self::default();
        for (name, url) in given {
            match name {
                Some(name) => {
                    let url = without_tail(&name, url);
                    addresses.named.push((name, url));
                }
                None => addresses.single = Some(url),
            }
        }
        addresses
    }

    /// Returns the upstream and the path of a call to this address. Names of headers must be in
    /// lower case.
    pub fn place_call(
        &self,
        method: &str,
        uri: &Uri,
        headers: &[(String, String)],
        body: &[u8],
    ) -> PlacedCall {
        let (host, port) = (host_of(uri), port_of(uri));
        let placed = |upstream: &str, path: &str, by| {
            let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            PlacedCall { upstream: upstream.to_owned(), path, by }
        };
        let shape = loomrec_provider::upstream_for(method, uri.path(), headers);
        let given =
            self.named.iter().filter_map(|(name, base)| Some((name, path_after_base(base, uri)?)));
        // The longest base wins, since one gateway may serve several upstreams. Of two upstreams at
        // one address, the one that matches the shape of the path wins.
        let nearest = |(name, path): &(&String, &str)| (path.len(), Some(name.as_str()) != shape);
        if let Some((name, path)) = given.min_by_key(nearest) {
            return placed(name, path, PlacedBy::Address);
        }
        if let Some(path) = self.single.as_ref().and_then(|base| path_after_base(base, uri)) {
            return placed(shape.unwrap_or(UNNAMED), path, PlacedBy::Address);
        }
        if host == NO_HOST
            && let Some(name) = self.only_name()
        {
            return placed(name, uri.path(), PlacedBy::Address);
        }
        if let Some((name, base)) = directory::upstream_at(&host, port, uri.path()) {
            let path = uri.path().strip_prefix(base).unwrap_or(uri.path());
            return placed(name, path, PlacedBy::Address);
        }
        // An export writes this host for an upstream without a public address.
        let named = host.strip_suffix(".invalid").and_then(directory::KnownUpstream::find);
        if let Some(known) = named {
            return placed(known.name, uri.path(), PlacedBy::Address);
        }
        let call = model_call(method, uri, headers, body);
        let provider_host = port.is_none().then(|| ProviderHosts::upstream_at(&host)).flatten();
        match call.map(|call| (provider_host, shape.unwrap_or_else(|| upstream_like(&call)))) {
            Some((Some(name), _)) => placed(name, uri.path(), PlacedBy::Address),
            Some((None, name)) => placed(name, uri.path(), PlacedBy::Shape),
            None => {
                let port = port.map(|port| format!("-{port}")).unwrap_or_default();
                let name = format!("{}{port}", host.trim_matches(['[', ']']).replace(':', "-"));
                placed(&name, uri.path(), PlacedBy::Host)
            }
        }
    }

    /// Returns the only upstream that the user named.
    fn only_name(&self) -> Option<&str> {
        match self.named.as_slice() {
            [(name, _)] => Some(name),
            _ => None,
        }
    }

    /// Returns the address of an upstream's call: the one that the user gave, the public one, the
    /// one that the call was sent to (`origin`), or a substitute if none is known.
    pub fn call_url(
        &self,
        upstream: &str,
        origin: Option<&str>,
        path: &str,
        query: &str,
    ) -> String {
        let given = self.named.iter().find(|(name, _)| name == upstream);
        let given = given.map(|(_, base)| base).or(self.single.as_ref());
        let base = match given {
            Some(base) => base.as_str().trim_end_matches('/').to_owned(),
            None => directory::KnownUpstream::find(upstream)
                .and_then(|known| known.base)
                .or(origin.filter(|origin| leads_to(origin, upstream)))
                .map_or_else(|| format!("https://{}", substitute_host(upstream)), str::to_owned),
        };
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        format!("{base}{path}{query}")
    }
}

/// Whether calls to this origin belong to the upstream by their host alone.
fn leads_to(origin: &str, upstream: &str) -> bool {
    let host = Url::parse(origin).ok().and_then(|url| Some(url.host_str()?.to_owned()));
    let found = host.and_then(|host| directory::upstream_at(&host, None, "/"));
    found == Some((upstream, ""))
}

/// Returns a host for an upstream whose address is not known: the upstream's name if it is a host
/// name, or a name under the reserved domain `.invalid`.
fn substitute_host(upstream: &str) -> String {
    if upstream.contains('.') { upstream.to_owned() } else { format!("{upstream}.invalid") }
}

/// Returns the base without the suffix that SDKs expect in theirs (`/v1`). The path keeps the
/// suffix, as it does if a program sends its calls to loomrec.
fn without_tail(name: &str, mut url: Url) -> Url {
    let Some(known) = directory::KnownUpstream::find(name) else { return url };
    let path = url.path().trim_end_matches('/').to_owned();
    let tails = known.variables.iter().map(|variable| known.suffix_after_mount(variable));
    let tail =
        tails.filter(|tail| !tail.is_empty() && path.ends_with(tail)).max_by_key(|t| t.len());
    if let Some(tail) = tail {
        url.set_path(&path[..path.len() - tail.len()]);
    }
    url
}

/// Returns the path after a base, if the address begins with the base.
fn path_after_base<'a>(base: &Url, uri: &'a Uri) -> Option<&'a str> {
    let own = base.host_str()?.to_ascii_lowercase();
    let host = host_of(uri);
    let local = |host: &str| matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let same = own == host || (local(&own) && local(&host));
    let port = uri.port_u16().or_else(|| default_port(uri.scheme_str()?));
    if !same || port != base.port_or_known_default() {
        return None;
    }
    let rest = uri.path().strip_prefix(base.path().trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Returns the call that a request to another host makes, if it names a model. The shape of the path
/// alone would accept any path named `/models`.
fn model_call(
    method: &str,
    uri: &Uri,
    headers: &[(String, String)],
    body: &[u8],
) -> Option<RecognisedCall> {
    let body: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let model = body.as_ref().and_then(|body| body.get("model")?.as_str());
    let call = recognise_request(&RequestHead {
        method,
        path: uri.path(),
        query: uri.query().unwrap_or_default(),
        headers,
        body_model: model,
        body_stream: None,
        has_messages: body.as_ref().is_some_and(|body| body["messages"].is_array()),
        rpc: None,
    });
    Some(call).filter(|call| call.operation != Operation::OTHER && call.model.is_some())
}

/// Returns the upstream whose calls are like this one.
fn upstream_like(call: &RecognisedCall) -> &'static str {
    let like = directory::UPSTREAMS.iter().find(|known| known.provider == call.provider);
    like.map_or(UNNAMED, |known| known.name)
}

fn host_of(uri: &Uri) -> String {
    uri.host().unwrap_or_default().to_ascii_lowercase()
}

/// Returns the port, if it is not the default port of the scheme.
fn port_of(uri: &Uri) -> Option<u16> {
    uri.port_u16().filter(|port| uri.scheme_str().and_then(default_port) != Some(*port))
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(addresses: &UpstreamAddresses, url: &str) -> (String, String, PlacedBy) {
        let body = br#"{"model": "m"}"#;
        let placed = addresses.place_call("POST", &url.parse().unwrap(), &[], body);
        (placed.upstream, placed.path, placed.by)
    }

    fn told(upstream: &str, path: &str, by: PlacedBy) -> (String, String, PlacedBy) {
        (upstream.to_owned(), path.to_owned(), by)
    }

    #[test]
    fn call_is_placed_by_the_address_that_was_given_before_any_other() {
        let url = |text: &str| Url::parse(text).unwrap();
        let addresses = UpstreamAddresses::new([
            (Some("openai".to_owned()), url("http://127.0.0.1:9999/v1")),
            (Some("mine".to_owned()), url("https://gate.example/llm")),
            (Some("other".to_owned()), url("https://gate.example/")),
            (Some("anthropic".to_owned()), url("http://127.0.0.1:9999")),
        ]);
        let at = |url: &str| place(&addresses, url);
        let chat = "/v1/chat/completions";
        let openai = told("openai", chat, PlacedBy::Address);
        let messages = told("anthropic", "/v1/messages", PlacedBy::Address);
        assert_eq!(at("http://localhost:9999/v1/messages"), messages);
        assert_eq!(at("http://localhost:9999/v1/chat/completions"), openai);
        assert_eq!(at("https://api.openai.com/v1/chat/completions"), openai);
        assert_eq!(at("https://gate.example/llm/ask"), told("mine", "/ask", PlacedBy::Address));
        assert_eq!(at("https://gate.example/llmx"), told("other", "/llmx", PlacedBy::Address));
    }

    #[test]
    fn other_hosts_are_placed_by_shape_where_a_model_is_asked_and_by_host_else() {
        let none = UpstreamAddresses::default();
        let shaped = told("anthropic", "/v1/messages", PlacedBy::Shape);
        assert_eq!(place(&none, "http://10.0.0.1:8000/v1/messages"), shaped);
        let prefixed = "http://10.0.0.1:8000/api/paas/v4/chat/completions";
        let (name, _, by) = place(&none, prefixed);
        assert_eq!((name.as_str(), by), ("openai", PlacedBy::Shape));
        let page = told("example.com-8080", "/api/version", PlacedBy::Host);
        assert_eq!(place(&none, "http://example.com:8080/api/version"), page);
        let uri = "https://shop.example/v1/models".parse().unwrap();
        assert_eq!(none.place_call("GET", &uri, &[], b"").by, PlacedBy::Host);
    }

    #[test]
    fn call_to_a_providers_host_is_named_after_the_provider() {
        let none = UpstreamAddresses::default();
        let chat = "/api/paas/v4/chat/completions";
        let url = format!("https://api.z.ai{chat}");
        assert_eq!(place(&none, &url), told("zhipu", chat, PlacedBy::Address));
        let writer = told("writer", "/v1/chat", PlacedBy::Address);
        assert_eq!(place(&none, "https://api.writer.com/v1/chat"), writer);
        let (_, _, page) = place(&none, "https://api.z.ai/pricing");
        assert_eq!(page, PlacedBy::Host);
    }

    #[test]
    fn address_of_a_call_leads_back_to_its_upstream() {
        let base = Url::parse("https://gate.example/v1/").unwrap();
        let given = UpstreamAddresses::new([(Some("openai".to_owned()), base)]);
        for (addresses, upstream) in [
            (&given, "openai"),
            (&UpstreamAddresses::default(), "anthropic"),
            (&UpstreamAddresses::default(), "a.b"),
        ] {
            let url = addresses.call_url(upstream, None, "/v1/x", "a=b");
            let placed = addresses.place_call("POST", &url.parse().unwrap(), &[], b"");
            assert_eq!((placed.upstream.as_str(), placed.path.as_str()), (upstream, "/v1/x"));
        }
        let none = UpstreamAddresses::default();
        assert_eq!(none.call_url("azure", None, "/x", ""), "https://azure.invalid/x");
        let azure = told("azure", "/x", PlacedBy::Address);
        assert_eq!(place(&none, "https://azure.invalid/x"), azure);
        let origin = "https://acme.openai.azure.com";
        assert_eq!(none.call_url("azure", Some(origin), "/x", ""), format!("{origin}/x"));
        assert_eq!(
            none.call_url("openai", Some("http://a.b"), "/x", ""),
            "https://api.openai.com/x"
        );
    }
}
