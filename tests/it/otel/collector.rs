//! An OpenTelemetry collector for each protocol. It decodes what it receives with OpenTelemetry's
//! own types.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span as Sent;
use prost::Message as _;
use serde_json::{Value, json};

use crate::support::gate::PATIENCE;
use crate::support::{Answer, Upstream};

/// A span as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) sent: Sent,
    pub(super) attributes: BTreeMap<String, Value>,
    pub(super) resource: BTreeMap<String, Value>,
}

impl Span {
    pub(super) fn trace(&self) -> String {
        hex(&self.sent.trace_id)
    }

    pub(super) fn parent(&self) -> String {
        hex(&self.sent.parent_span_id)
    }

    /// The attributes of an event.
    pub(super) fn event(&self, name: &str) -> Option<BTreeMap<String, Value>> {
        let event = self.sent.events.iter().find(|event| event.name == name)?;
        Some(map(&event.attributes))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn map(attributes: &[KeyValue]) -> BTreeMap<String, Value> {
    let pairs = attributes.iter().map(|pair| (pair.key.clone(), value(pair.value.as_ref())));
    let map: BTreeMap<String, Value> = pairs.collect();
    assert_eq!(map.len(), attributes.len(), "an attribute stands there twice");
    map
}

fn value(given: Option<&AnyValue>) -> Value {
    match given.and_then(|given| given.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => json!(text),
        Some(any_value::Value::BoolValue(flag)) => json!(flag),
        Some(any_value::Value::IntValue(number)) => json!(number),
        Some(any_value::Value::DoubleValue(number)) => json!(number),
        Some(any_value::Value::ArrayValue(list)) => {
            list.values.iter().map(|one| value(Some(one))).collect()
        }
        other => panic!("an attribute is {other:?}"),
    }
}

type Came = Arc<(Mutex<Vec<Span>>, Condvar)>;

fn take(came: &Came, request: ExportTraceServiceRequest) {
    let mut spans = came.0.lock().unwrap();
    for of_resource in request.resource_spans {
        let resource = map(&of_resource.resource.unwrap().attributes);
        for sent in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let attributes = map(&sent.attributes);
            spans.push(Span { sent, attributes, resource: resource.clone() });
        }
    }
    came.1.notify_all();
}

/// A collector that accepts everything.
pub(crate) struct Collector {
    came: Came,
    pub(super) url: String,
    pub(super) protocol: &'static str,
    http: Option<Upstream>,
    _runtime: Option<tokio::runtime::Runtime>,
}

impl Collector {
    /// Over HTTP, in protobuf or JSON.
    pub(super) fn http(protocol: &'static str) -> Self {
        let came = Came::default();
        let own = Arc::clone(&came);
        let upstream = Upstream::start(move |received| {
            assert_eq!((&*received.method, &*received.target), ("POST", "/v1/traces"));
            match received.header("content-type") {
                Some("application/json") => {
                    take(&own, serde_json::from_slice(&received.body).unwrap());
                    Answer::json(200, "{}")
                }
                Some("application/x-protobuf") => {
                    take(&own, ExportTraceServiceRequest::decode(&*received.body).unwrap());
                    Answer::whole(200, &["content-type: application/x-protobuf"], b"")
                }
                other => panic!("{other:?}"),
            }
        });
        Self { came, url: upstream.url(), protocol, http: Some(upstream), _runtime: None }
    }

    /// Over gRPC.
    pub(crate) fn grpc() -> Self {
        let came = Came::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let own = Arc::clone(&came);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let own = Arc::clone(&own);
                let service = hyper::service::service_fn(move |request| {
                    let own = Arc::clone(&own);
                    async move { Ok::<_, Infallible>(unary(&own, request).await) }
                });
                let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(serving);
            }
        });
        let url = format!("http://{address}");
        Self { came, url, protocol: "grpc", http: None, _runtime: Some(runtime) }
    }

    /// The variables that name this collector.
    pub(crate) fn variables(&self) -> [(&'static str, &str); 2] {
        [("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url), ("OTEL_EXPORTER_OTLP_PROTOCOL", self.protocol)]
    }

    /// A header of the first request that came over HTTP.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let received = self.http.as_ref()?.received();
        received.first()?.header(name).map(str::to_owned)
    }

    /// How many connections were made over HTTP.
    pub(super) fn connections(&self) -> usize {
        self.http.as_ref().map_or(0, Upstream::connections)
    }

    /// All spans that were received.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.came.0.lock().unwrap().clone()
    }

    /// All spans that were received, once there are at least `n`.
    #[track_caller]
    pub(super) fn wait_for(&self, n: usize) -> Vec<Span> {
        let spans = self.came.0.lock().unwrap();
        let few = |spans: &mut Vec<Span>| spans.len() < n;
        let (spans, _) = self.came.1.wait_timeout_while(spans, PATIENCE, few).unwrap();
        assert!(spans.len() >= n, "only {} of {n} spans came", spans.len());
        spans.clone()
    }

    /// The only span with this outcome.
    #[track_caller]
    pub(super) fn only(&self, outcome: &str) -> Span {
        let is = |span: &Span| span.attributes["loomrec.outcome"] == outcome;
        let found: Vec<Span> = self.spans().into_iter().filter(is).collect();
        assert_eq!(found.len(), 1, "{outcome}: {found:#?}");
        found[0].clone()
    }
}

/// Answers one call of the trace service.
async fn unary(
    came: &Came,
    request: Request<Incoming>,
) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let path = request.uri().path().to_owned();
    assert_eq!(path, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    // A flag for no compression, the length, and the message.
    assert_eq!(body[0], 0);
    let length = u32::from_be_bytes(body[1..5].try_into().unwrap()) as usize;
    take(came, ExportTraceServiceRequest::decode(&body[5..5 + length]).unwrap());
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    let answer = Full::new(Bytes::from_static(&[0; 5]));
    let answer = answer.with_trailers(async move { Some(Ok(trailers)) });
    Response::builder()
        .header("content-type", "application/grpc")
        .body(answer.boxed_unsync())
        .unwrap()
}
