//! Addresses of an API in its answers. A client sends its next request to them as they are, around
//! loomrec. So it gets loomrec's own address for each of them that is at an upstream of this run,
//! whether the answer is live or recorded. Recordings keep the API's.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Response};
use http_body::Body as _;

use super::buffered_body::{self, UnchangedBody};
use super::connection_context::ConnectionContext;
use super::event_address::{EventAddresses, EventFinding, replace_strings};
use super::{Proxy, authority};
use loomrec_engine::route::Route;
use loomrec_engine::{AnswerBody, EditedBody, IncomingCall, LocalAddresses};
use loomrec_identity::media_type;
use loomrec_provider::directory::ApiAddress;
use loomrec_provider::framing::Framing;
use loomrec_provider::{AddressMembers, address_members, find_addresses};
use loomrec_recording::encoding;
use loomrec_recording::response_header::{ADDRESSES, leads_away};

/// The most bytes of an answer that is searched for addresses. A larger one is sent on as it is.
const MOST: usize = 1 << 20;

/// Whether an answer may name addresses: in a header, or as an answer of its operation.
pub(super) fn may_have_addresses(call: &IncomingCall, response: &Response<AnswerBody>) -> bool {
    !members_of(call).is_empty()
        || response.headers().keys().any(|name| ADDRESSES.contains(&name.as_str()))
}

/// Returns the answer with loomrec's address in the place of each that is at an upstream of this
/// run. `session` is the part of the path that names the session of the call. Any other address in
/// a live answer stays, and is counted. A recorded answer may be a stranger's, so such a header is
/// left out.
pub(super) async fn localize_addresses(
    caller: &ConnectionContext,
    call: &IncomingCall,
    session: Option<&str>,
    response: Response<AnswerBody>,
) -> Response<AnswerBody> {
    let context = AddressContext::from_call(caller, call, session.unwrap_or_default());
    let (server, members) = (context.address_server(), context.members);
    let (mut parts, body) = response.into_parts();
    let is_live = matches!(body, AnswerBody::Tee(_) | AnswerBody::Live(_));
    server.change_headers(&mut parts.headers, is_live);
    if members.is_empty() {
        return Response::from_parts(parts, body);
    }
    let media = media_of(&parts.headers);
    let is_json = media == "application/json" || media.ends_with("+json");
    let body = match Framing::of_media(&media) {
        Some(framing @ (Framing::Sse | Framing::Lines)) => {
            let events = EventAddresses::new(framing, members);
            context.change_stream(&mut parts.headers, body, events)
        }
        _ if is_json => server.change_body(&mut parts.headers, body, members).await,
        _ => body,
    };
    Response::from_parts(parts, body)
}

/// Returns the members of the answers to a call that hold addresses.
fn members_of(call: &IncomingCall) -> AddressMembers {
    if call.method == Method::HEAD {
        return &[];
    }
    address_members(call.storable_request().call.operation, &call.route().upstream)
}

/// Returns loomrec's address as the caller wrote it. `None` for a caller that uses loomrec as its
/// proxy: it writes the address of the API.
fn base_url(proxy: &Proxy, headers: &HeaderMap) -> Option<String> {
    let access = &proxy.config.access;
    let Some(host) = headers.get(HOST) else { return Some(proxy.config.url.clone()) };
    let host = host.to_str().ok()?;
    let is_own =
        authority::split_host_port(host).is_some_and(|(name, _)| access.is_served_host(name));
    let is_upstream = proxy.routes.own_upstream_at_host(&host.parse().ok()?).is_some();
    let scheme = if access.is_https() { "https" } else { "http" };
    (is_own && !is_upstream).then(|| format!("{scheme}://{host}"))
}

/// The address under which a client reaches the upstream of its call.
enum ClientBase {
    /// Loomrec's, and the session below it.
    Here(String),
    /// That of the host of its tunnel, whose end loomrec is.
    Tunnel(String),
    /// It uses loomrec as its proxy, without a tunnel.
    Unknown,
}

/// What a client gets in the place of an address.
enum ServedAddress {
    /// Loomrec's.
    Local(String),
    /// The address itself, which leads to loomrec.
    Same,
    /// The address itself, which leads elsewhere: to this origin.
    Away(Cow<'static, str>),
}

/// Why a body is served as it is.
enum KeptBody {
    /// It has no address to change.
    NothingToChange,
    /// It is compressed, and cannot be decoded.
    Compressed,
}

/// What the addresses of one answer depend on.
struct AddressContext {
    proxy: Arc<Proxy>,
    route: Route,
    base: ClientBase,
    session: String,
    /// The members of the answer that hold addresses.
    members: AddressMembers,
}

impl AddressContext {
    /// Reads what the answer to a call of this session depends on.
    fn from_call(caller: &ConnectionContext, call: &IncomingCall, session: &str) -> Self {
        let proxy = &caller.proxy;
        let base = match &caller.tunnel {
            Some(tunnel) => ClientBase::Tunnel(tunnel.origin()),
            None => match base_url(proxy, &call.headers) {
                Some(base) => ClientBase::Here(format!("{base}{session}")),
                None => ClientBase::Unknown,
            },
        };
        Self {
            proxy: Arc::clone(proxy),
            route: call.route().clone(),
            base,
            session: session.to_owned(),
            members: members_of(call),
        }
    }

    fn address_server(&self) -> AddressServer<'_> {
        let Self { proxy, route, base, session, .. } = self;
        let recorded =
            proxy.engine.replay_engine().map(|replay| replay.matcher().recorded_addresses());
        let upstreams = LocalAddresses { routes: &proxy.routes, route, recorded };
        AddressServer { proxy, upstreams, base, session }
    }

    /// Returns a stream with the addresses in its events changed. Its chunks stay.
    fn change_stream(
        self,
        headers: &mut HeaderMap,
        body: AnswerBody,
        mut events: EventAddresses,
    ) -> AnswerBody {
        if encoding::coding_of(headers).is_some() {
            self.address_server().count_unread("streamed and compressed");
            return body;
        }
        let mut edit = move |chunk: Bytes| {
            let server = self.address_server();
            let changed = events.replace_addresses(&chunk, |found| server.serve_in_event(&found));
            changed.map_or(chunk, Bytes::from)
        };
        match body {
            AnswerBody::Replay(body) => {
                let body = body.map_chunks(&mut edit);
                if let Some(length) = body.size_hint().exact() {
                    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
                }
                AnswerBody::Replay(body)
            }
            other => {
                headers.remove(CONTENT_LENGTH);
                AnswerBody::Edited(Box::new(EditedBody::new(other, Box::new(edit))))
            }
        }
    }
}

/// Serves the addresses of one answer.
struct AddressServer<'a> {
    proxy: &'a Proxy,
    upstreams: LocalAddresses<'a>,
    base: &'a ClientBase,
    session: &'a str,
}

impl AddressServer<'_> {
    /// Serves the address of a header, which may be a path.
    fn serve_reference(&self, reference: &str) -> ServedAddress {
        if leads_away(LOCATION.as_str(), reference) {
            return self.serve_address(reference);
        }
        let local = match self.base {
            ClientBase::Tunnel(_) => self.upstreams.unmounted_path(reference).map(str::to_owned),
            _ => {
                let own = self.upstreams.own_path(reference);
                own.map(|path| format!("{}{path}", self.session))
            }
        };
        let changed = local.filter(|local| local != reference);
        changed.map_or(ServedAddress::Same, ServedAddress::Local)
    }

    /// Returns what a client gets in the place of an address.
    fn serve_address(&self, address: &str) -> ServedAddress {
        let Some(address) = ApiAddress::parse(address) else {
            return match leads_away(LOCATION.as_str(), address) {
                true => ServedAddress::Away("an address that is not plain HTTP".into()),
                false => ServedAddress::Same,
            };
        };
        let (base, path) = match self.base {
            // The client's next connection there comes here.
            ClientBase::Tunnel(_) if self.upstreams.is_intercepted(&address) => {
                return ServedAddress::Same;
            }
            ClientBase::Tunnel(base) => (base, self.upstreams.unmounted_path_of(&address)),
            ClientBase::Here(base) => (base, self.upstreams.path_of(&address)),
            ClientBase::Unknown => return ServedAddress::Away(address.origin().into()),
        };
        match path {
            Some(path) => ServedAddress::Local(format!("{base}{path}")),
            None => ServedAddress::Away(address.origin().into()),
        }
    }

    /// Returns what a client gets in the place of an address in an event, if that is another one.
    fn serve_in_event(&self, found: &EventFinding<'_>) -> Option<String> {
        let EventFinding::Address { member, text, is_early } = found else {
            self.count_unread("with an event above 1 MiB");
            return None;
        };
        match self.serve_address(text) {
            ServedAddress::Local(_) if *is_early => {
                let text = format!("{member} in an event that came in parts");
                self.proxy.telemetry.counters.address_away(&text);
                None
            }
            ServedAddress::Local(local) => Some(local),
            ServedAddress::Away(origin) => {
                self.count_away(member, &origin);
                None
            }
            ServedAddress::Same => None,
        }
    }

    fn change_headers(&self, headers: &mut HeaderMap, is_live: bool) {
        let mut left_out = Vec::new();
        for (name, value) in headers.iter_mut() {
            let Some(name) = ADDRESSES.iter().find(|known| name.as_str() == **known) else {
                continue;
            };
            let address = String::from_utf8_lossy(value.as_bytes());
            match self.serve_reference(&address) {
                ServedAddress::Same => {}
                ServedAddress::Local(local) => {
                    *value = HeaderValue::from_str(&local).unwrap_or_else(|_| value.clone());
                }
                ServedAddress::Away(origin) if is_live => self.count_away(name, &origin),
                ServedAddress::Away(origin) => {
                    self.count_away(name, &format!("{origin}, left out"));
                    left_out.push(*name);
                }
            }
        }
        left_out.into_iter().for_each(|name| _ = headers.remove(name));
    }

    async fn change_body(
        &self,
        headers: &mut HeaderMap,
        body: AnswerBody,
        members: AddressMembers,
    ) -> AnswerBody {
        if body.size_hint().exact().is_some_and(|length| length > MOST as u64) {
            self.count_unread("above 1 MiB");
            return body;
        }
        body.note_change();
        let coding = encoding::coding_of(headers);
        let change = |bytes: &[u8]| self.change_bytes(coding.as_deref(), bytes, members);
        let changed = match body {
            AnswerBody::Replay(body) => body
                .try_map_bytes(change)
                .map(AnswerBody::Replay)
                .map_err(|(body, why)| (AnswerBody::Replay(body), UnchangedBody::Refused(why))),
            other => buffered_body::change_whole_body(other, MOST, change).await,
        };
        match changed {
            Ok(body) => {
                headers.remove(CONTENT_ENCODING);
                if let Some(length) = body.size_hint().exact() {
                    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
                }
                body
            }
            Err((body, why)) => {
                match why {
                    UnchangedBody::TooLarge => self.count_unread("above 1 MiB"),
                    UnchangedBody::Refused(KeptBody::Compressed) => {
                        self.count_unread("compressed in a way that cannot be opened");
                    }
                    UnchangedBody::Cut | UnchangedBody::Refused(KeptBody::NothingToChange) => {}
                }
                body
            }
        }
    }

    /// Returns a body with its addresses changed, in one piece. All other bytes stay.
    fn change_bytes(
        &self,
        coding: Option<&str>,
        bytes: &[u8],
        members: AddressMembers,
    ) -> Result<Vec<Vec<u8>>, KeptBody> {
        let plain = match coding {
            None => Cow::Borrowed(bytes),
            Some(coding) => {
                encoding::decode_body(coding, bytes, MOST).ok_or(KeptBody::Compressed)?.into()
            }
        };
        let mut edits = Vec::new();
        for found in find_addresses(&plain, members) {
            match self.serve_address(&found.text) {
                ServedAddress::Local(local) => edits.push((found.place, local)),
                ServedAddress::Away(origin) => self.count_away(&found.member, &origin),
                ServedAddress::Same => {}
            }
        }
        match edits.is_empty() {
            true => Err(KeptBody::NothingToChange),
            false => Ok(vec![replace_strings(&plain, edits)]),
        }
    }

    /// Counts an address that leads around loomrec.
    fn count_away(&self, place: &str, origin: &str) {
        self.proxy.telemetry.counters.address_away(&format!("{place} to {origin}"));
    }

    /// Counts an answer that cannot be searched.
    fn count_unread(&self, why: &str) {
        let text = format!("an answer of {} {why}", self.upstreams.route.upstream);
        self.proxy.telemetry.counters.address_away(&text);
    }
}

/// Returns the media type, in lower case and without parameters.
fn media_of(headers: &HeaderMap) -> String {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type(media).to_ascii_lowercase()
}
