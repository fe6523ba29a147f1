//! The demo's upstream: a small server on this machine that speaks OpenAI's
//! chat completions, whole and streamed, with the pauses a model makes.
//!
//! It knows three answers: a tool call, an advice once the tool's result is
//! there, and a summary in a stream.

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

/// How long a whole answer is thought about.
const THINKING: Duration = Duration::from_millis(180);
/// How long the first word of a stream takes.
const FIRST_WORD: Duration = Duration::from_millis(120);
/// How long each further word takes.
const WORD: Duration = Duration::from_millis(35);

/// What it advises once it knows the weather.
const ADVICE: &str =
    "It is 14 °C with light rain in Paris: wear a light coat and take an umbrella.";
/// How it sums that up.
const SUMMARY: &str = "Light coat, umbrella, and shoes that do not mind the rain.";

/// The server, running.
pub(super) struct DemoUpstream {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl DemoUpstream {
    /// Starts it on a free port.
    pub(super) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // Connections end with the task that holds them.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                // Without it small chunks wait for each other.
                drop(stream.set_nodelay(true));
                let serving = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                connections.spawn(async move {
                    // How a connection ends is its client's business.
                    drop(serving.await);
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Its address.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops it, its connections included.
    pub(super) async fn stop(self) {
        self.task.abort();
        // Aborted is what it is meant to be.
        drop(self.task.await);
    }
}

/// Answers one request.
async fn answer(request: Request<Incoming>) -> Result<Response<Said>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes());
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let messages = body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let has_result = messages.iter().any(|message| message["role"] == "tool");
    if body["stream"] == true {
        return Ok(head("text/event-stream", Said::stream(events())));
    }
    tokio::time::sleep(THINKING).await;
    let (id, message, finish, usage) = if has_result {
        let message = json!({ "role": "assistant", "content": ADVICE, "refusal": null });
        ("chatcmpl-demo-2", message, "stop", usage(96, 21))
    } else {
        let call = json!({
            "id": "call_demo_1",
            "type": "function",
            "function": { "name": "get_weather", "arguments": "{\"city\":\"Paris\"}" },
        });
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        ("chatcmpl-demo-1", message, "tool_calls", usage(62, 15))
    };
    let answer = json!({
        "id": id,
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": usage,
    });
    Ok(head("application/json", Said::whole(answer.to_string())))
}

/// A response of success. `server` says in the recording who it was.
fn head(media: &'static str, body: Said) -> Response<Said> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert("content-type", http::HeaderValue::from_static(media));
    headers.insert("server", http::HeaderValue::from_static("loomrec-demo"));
    response
}

/// Token counts, as OpenAI gives them.
fn usage(input: u32, output: u32) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

/// The summary's events, each with the pause before it.
fn events() -> Vec<(Duration, Bytes)> {
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
    let said = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        event(json!([choice]), Value::Null)
    };
    let mut events = vec![(FIRST_WORD, said(json!({ "role": "assistant" }), Value::Null))];
    for word in SUMMARY.split_inclusive(' ') {
        events.push((WORD, said(json!({ "content": word }), Value::Null)));
    }
    events.push((Duration::ZERO, said(json!({}), "stop".into())));
    events.push((Duration::ZERO, event(json!([]), usage(41, 14))));
    events.push((Duration::ZERO, Bytes::from_static(b"data: [DONE]\n\n")));
    events
}

/// A response body: bytes that come as they are said.
struct Said {
    words: mpsc::Receiver<Bytes>,
    /// How many bytes it has, where that is known before.
    length: Option<u64>,
}

impl Said {
    /// All at once.
    fn whole(text: String) -> Self {
        let (sender, words) = mpsc::channel(1);
        let length = Some(text.len() as u64);
        // There is room for one, and the receiver is here.
        drop(sender.try_send(text.into()));
        Self { words, length }
    }

    /// One after the other.
    fn stream(events: Vec<(Duration, Bytes)>) -> Self {
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

impl http_body::Body for Said {
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
