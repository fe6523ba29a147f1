//! The demo's upstream: a small local server with OpenAI's chat completions API, with and without
//! streaming, and with the pauses that a model makes.
//!
//! It gives three answers: a tool call, advice once it has the tool's result, and a summary as a
//! stream.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// The delay before an answer that is not a stream.
const THINKING: Duration = Duration::from_millis(180);
/// The delay before the first word of a stream.
const FIRST_WORD: Duration = Duration::from_millis(120);
/// The delay before each further word.
const WORD: Duration = Duration::from_millis(35);

/// The advice that it gives once it knows the weather.
const ADVICE: &str =
    "It is 14 °C with light rain in Paris: wear a light coat and take an umbrella.";
/// The summary of that advice.
const SUMMARY: &str = "Light coat, umbrella, and shoes that do not mind the rain.";

/// The running server.
pub(super) struct DemoUpstream {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl DemoUpstream {
    /// Starts the server on a free port.
    pub(super) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // Connections end with the task that owns them.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                // Without this, small chunks would wait for each other.
                drop(stream.set_nodelay(true));
                let serving = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer_request));
                connections.spawn(async move {
                    // How a connection ends is the client's business.
                    drop(serving.await);
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Returns the URL of the server.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the server and its connections.
    pub(super) async fn stop(self) {
        self.task.abort();
        // The result is expected to be an abort.
        drop(self.task.await);
    }
}

/// Answers one request.
async fn answer_request(request: Request<Incoming>) -> Result<Response<DemoBody>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes());
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let messages = body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let has_result = messages.iter().any(|message| message["role"] == "tool");
    if body["stream"] == true {
        return Ok(success_response("text/event-stream", DemoBody::from_events(summary_events())));
    }
    tokio::time::sleep(THINKING).await;
    let (id, message, finish, usage) = if has_result {
        let message = json!({ "role": "assistant", "content": ADVICE, "refusal": null });
        ("chatcmpl-demo-2", message, "stop", usage_json(96, 21))
    } else {
        let call = json!({
            "id": "call_demo_1",
            "type": "function",
            "function": { "name": "get_weather", "arguments": "{\"city\":\"Paris\"}" },
        });
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        ("chatcmpl-demo-1", message, "tool_calls", usage_json(62, 15))
    };
    let answer = json!({
        "id": id,
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": usage,
    });
    Ok(success_response("application/json", DemoBody::from_text(answer.to_string())))
}

/// Returns a successful response. Its `server` header identifies this upstream in the recording.
fn success_response(media: &'static str, body: DemoBody) -> Response<DemoBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert("content-type", http::HeaderValue::from_static(media));
    headers.insert("server", http::HeaderValue::from_static("loomrec-demo"));
    response
}

/// Returns token counts in OpenAI's format.
fn usage_json(input: u32, output: u32) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

/// Returns the events of the summary, each with the pause before it.
fn summary_events() -> Vec<(Duration, Bytes)> {
    let event = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-demo-3",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "loomrec-demo",
            "choices": choices,
            "usage": usage,
        });
        Bytes::from(format!("data: {chunk}\n\n"))
    };
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        event(json!([choice]), Value::Null)
    };
    let mut events = vec![(FIRST_WORD, chunk(json!({ "role": "assistant" }), Value::Null))];
    for word in SUMMARY.split_inclusive(' ') {
        events.push((WORD, chunk(json!({ "content": word }), Value::Null)));
    }
    events.push((Duration::ZERO, chunk(json!({}), "stop".into())));
    events.push((Duration::ZERO, event(json!([]), usage_json(41, 14))));
    events.push((Duration::ZERO, Bytes::from_static(b"data: [DONE]\n\n")));
    events
}

/// A response body whose bytes are sent as they arrive.
struct DemoBody {
    words: mpsc::Receiver<Bytes>,
    /// The number of bytes, if it is known in advance.
    length: Option<u64>,
}

impl DemoBody {
    /// Creates a body that is sent at once.
    fn from_text(text: String) -> Self {
        let (sender, words) = mpsc::channel(1);
        let length = Some(text.len() as u64);
        // The channel has room for one message, and its receiver exists.
        drop(sender.try_send(text.into()));
        Self { words, length }
    }

    /// Creates a body that sends one event after the other.
    fn from_events(events: Vec<(Duration, Bytes)>) -> Self {
        let (sender, words) = mpsc::channel(1);
        tokio::spawn(async move {
            for (pause, event) in events {
                tokio::time::sleep(pause).await;
                if sender.send(event).await.is_err() {
                    // The client has left.
                    return;
                }
            }
        });
        Self { words, length: None }
    }
}

impl http_body::Body for DemoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.words.poll_recv(context).map(|word| word.map(|word| Ok(Frame::data(word))))
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
