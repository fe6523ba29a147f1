use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use proptest::prelude::*;
use url::Url;

use super::*;
use crate::observe::RequestObserver;
use crate::route::{MountedUpstream, RouteTable};
use loomrec_identity::IdentityRules;
use loomrec_provider::Provider;
use loomrec_recording::redact::{CallCredentials, Redactor};

const BODY: &str = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}"#;

/// A request as the server has it before it is routed.
#[derive(Clone, Debug)]
struct Sent {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Sent {
    fn new(target: &str, headers: &[(&'static str, &str)], body: &str) -> Self {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        Self {
            method: Method::POST,
            uri: target.parse().unwrap(),
            headers: headers.iter().map(pair).collect(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    fn raw(&self) -> RequestRef<'_> {
        RequestRef {
            method: &self.method,
            uri: &self.uri,
            headers: &self.headers,
            body: &self.body,
            named: &[],
        }
    }
}

/// A cache, and the observer that fills it.
struct Scene {
    observer: RequestObserver,
    routes: RouteTable,
}

impl Scene {
    fn new() -> Self {
        let upstream = |name: &str| {
            let base = Url::parse("https://api.example.test").ok();
            MountedUpstream::new(name, base, Provider::OPEN_AI)
        };
        let redactor = Redactor::new(&["hidden-[0-9]+".to_owned()]).unwrap();
        Self {
            observer: RequestObserver::new(redactor.into(), vec![IdentityRules::default()]),
            routes: RouteTable {
                named: vec![upstream("openai"), upstream("anthropic"), upstream("gemini")],
                unnamed: true,
                ..RouteTable::default()
            },
        }
    }

    fn observe(&self, sent: &Sent) -> Arc<ParsedRequest> {
        let place = self.routes.find_route(&sent.method, &sent.uri, &sent.headers).unwrap();
        let list = crate::record::capture::header_list(&sent.headers);
        let secrets = Arc::new(CallCredentials::for_known_provider(&list, &place.query));
        let opening = self.observer.open(place, &sent.method, &sent.headers, secrets);
        Arc::new(self.observer.observe_request(&opening, &sent.body, None))
    }

    /// Looks a request up, and caches it if the cache asks for that.
    fn ask(&self, sent: &Sent) -> Option<Arc<ParsedRequest>> {
        match self.observer.memo.look_up(&sent.raw()) {
            CachedRequest::Known(known) => Some(known),
            CachedRequest::Again(fingerprint) => {
                self.observer.memo.store_request(&fingerprint, &sent.raw(), self.observe(sent));
                None
            }
            CachedRequest::New => None,
        }
    }

    /// Returns a scene whose cache holds this request.
    fn knowing(sent: &Sent) -> Self {
        let scene = Self::new();
        assert!(scene.ask(sent).is_none() && scene.ask(sent).is_none());
        assert!(scene.ask(sent).is_some());
        scene
    }
}

/// All that an engine sees of a request.
fn seen_by_engine(known: &ParsedRequest) -> String {
    format!("{:?} {:?}", known.route, known.redacted)
}

fn chat() -> Sent {
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer one-long-secret"),
        ("content-length", "66"),
    ];
    Sent::new("/v1/chat/completions", &headers, BODY)
}

#[test]
fn request_is_known_when_it_comes_for_the_third_time() {
    let scene = Scene::new();
    assert!(scene.ask(&chat()).is_none(), "made once: only its hash is kept");
    assert!(scene.ask(&chat()).is_none(), "made twice: kept");
    let known = scene.ask(&chat()).unwrap();
    assert_eq!(seen_by_engine(&known), seen_by_engine(&scene.observe(&chat())));
}

#[test]
fn request_is_known_when_only_a_header_without_any_part_in_it_differs() {
    let mut other = chat();
    other.headers.insert("content-length", HeaderValue::from_static("7"));
    let known = Scene::knowing(&chat()).ask(&other).unwrap();
    assert_eq!(seen_by_engine(&known), seen_by_engine(&Scene::new().observe(&other)));
}

#[test]
fn request_is_not_known_when_any_byte_of_its_body_differs() {
    let scene = Scene::knowing(&chat());
    for at in 0..BODY.len() {
        let mut body = BODY.as_bytes().to_vec();
        body[at] ^= 1;
        let other = Sent { body: body.into(), ..chat() };
        assert!(scene.ask(&other).is_none(), "byte {at}");
    }
    for body in [&BODY[1..], &BODY[..BODY.len() - 1], "", &format!("{BODY} ")] {
        assert!(scene.ask(&Sent { body: body.to_owned().into(), ..chat() }).is_none(), "{body:?}");
    }
}

#[test]
fn request_is_not_known_when_its_target_or_method_differs() {
    let scene = Scene::knowing(&chat());
    for target in [
        "/v1/chat/completions?",
        "/v1/chat/completions?a=b",
        "/v1/chat/completion",
        "/V1/chat/completions",
        "/@one/v1/chat/completions",
        "/openai/v1/chat/completions",
        "http://api.example.test/v1/chat/completions",
        "http://127.0.0.1/v1/chat/completions",
    ] {
        let other = Sent { uri: target.parse().unwrap(), ..chat() };
        assert!(scene.ask(&other).is_none(), "{target}");
    }
    assert!(scene.ask(&Sent { method: Method::PUT, ..chat() }).is_none());
}

#[test]
fn request_is_not_known_when_a_header_that_matters_differs() {
    let scene = Scene::knowing(&chat());
    for (name, value) in [
        ("content-type", "text/plain"),
        ("authorization", "Bearer two-long-secret"),
        ("x-loomrec-session", "one"),
        ("x-loomrec-step-id", "step"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "one"),
        ("openai-beta", "one"),
        ("accept", "text/event-stream"),
        ("x-api-key", "one-long-secret"),
        ("cookie", "a=one-long-secret"),
        ("x-unheard-of", "even this: there is one header more"),
    ] {
        let mut other = chat();
        other.headers.insert(name, HeaderValue::from_static(value));
        assert!(scene.ask(&other).is_none(), "{name}");
    }
    let mut repeated = chat();
    repeated.headers.append("content-type", HeaderValue::from_static("application/json"));
    assert!(scene.ask(&repeated).is_none());
    let mut missing = chat();
    missing.headers.remove("authorization");
    assert!(scene.ask(&missing).is_none());
}

#[test]
fn absolute_form_is_never_kept() {
    let scene = Scene::new();
    let sent = Sent { uri: "http://127.0.0.1/v1/chat/completions".parse().unwrap(), ..chat() };
    assert!((0..5).all(|_| scene.ask(&sent).is_none()));
}

#[test]
fn another_request_of_the_same_hash_is_not_taken_for_it() {
    let scene = Scene::knowing(&chat());
    let fingerprint = RequestFingerprint(fingerprint_of(
        &chat().raw(),
        "/v1/chat/completions",
        &scene.observer.memo.hashing,
    ));
    let other = Sent { body: Bytes::from_static(b"{}"), ..chat() };
    // As if both had the same hash: the later one replaces the first.
    scene.observer.memo.store_request(&fingerprint, &other.raw(), scene.observe(&other));
    assert!(scene.ask(&chat()).is_none());
}

#[test]
fn bytes_are_bounded_when_many_requests_are_kept() {
    let scene = Scene::new();
    for number in 0..200 {
        let body = format!("{number}{}", "x".repeat(400_000));
        let sent = Sent { body: body.into(), ..chat() };
        scene.ask(&sent);
        scene.ask(&sent);
    }
    for shard in &scene.observer.memo.shards {
        let shard = shard.lock().unwrap();
        let held: usize = shard.entries.values().map(RememberedRequest::byte_size).sum();
        assert_eq!((held, shard.order.len()), (shard.bytes, shard.entries.len()));
        assert!(held <= SHARD_BYTES);
    }
    let large = Sent { body: "x".repeat(LARGEST + 1).into(), ..chat() };
    assert!((0..5).all(|_| scene.ask(&large).is_none()));
}

#[test]
fn body_that_redaction_leaves_alone_counts_once() {
    let scene = Scene::new();
    let filler = "x".repeat(100_000);
    for content in [filler.clone(), format!("{filler} hidden-1")] {
        let body = format!(r#"{{"model":"m","content":"{content}"}}"#);
        let sent = Sent { body: body.into(), ..chat() };
        assert!(scene.ask(&sent).is_none() && scene.ask(&sent).is_none());
    }
    let shards = scene.observer.memo.shards.iter().map(|shard| shard.lock().unwrap());
    let mut sizes: Vec<usize> = shards
        .flat_map(|shard| {
            shard.entries.values().map(RememberedRequest::byte_size).collect::<Vec<_>>()
        })
        .collect();
    sizes.sort_unstable();
    assert!(sizes[0] < 110_000, "{sizes:?}");
    assert!(sizes[1] > 200_000, "{sizes:?}");
}

/// Requests that are easily mistaken for each other.
fn sent() -> impl Strategy<Value = Sent> {
    let target = prop::sample::select(vec![
        "/v1/chat/completions",
        "/openai/v1/chat/completions",
        "/@one/v1/chat/completions",
        "/v1/messages",
        "/v1/models?key=one-long-secret",
        "/v1/models?key=two-long-secret",
        "/elsewhere",
    ]);
    let name = prop::sample::select(vec![
        "content-type",
        "content-length",
        "authorization",
        "x-api-key",
        "anthropic-version",
        "x-loomrec-session",
        "x-loomrec-step-id",
        "cookie",
        "user-agent",
        "traceparent",
        "x-custom-token",
    ]);
    let value = prop::sample::select(vec!["", "one-long-secret", "two-long-secret", "text/plain"]);
    let body = prop::sample::select(vec![
        BODY,
        r#"{"model":"one-long-secret"}"#,
        r#"{"model":"two-long-secret","stream":true}"#,
        r#"{"a":"hidden-1"}"#,
        r#"{"a":"hidden-2"}"#,
    ]);
    (target, prop::collection::vec((name, value), 0..4), body)
        .prop_map(|(target, headers, body)| Sent::new(target, &headers, body))
}

proptest! {
    #[test]
    fn what_the_memo_says_is_what_would_be_observed(
        sent in prop::collection::vec(sent(), 1..6),
        order in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let scene = Scene::new();
        for index in order {
            let sent = index.get(&sent);
            if let Some(known) = scene.ask(sent) {
                prop_assert_eq!(seen_by_engine(&known), seen_by_engine(&scene.observe(sent)));
            }
        }
    }
}
