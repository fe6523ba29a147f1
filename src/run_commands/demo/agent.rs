//! The demo's program: an agent that makes three calls, as a program with an SDK makes them. It
//! asks a question, gets a tool call, answers with the tool's result, and has the final answer
//! summed up in a stream.

use std::time::Instant;

use serde_json::{Value, json};

use super::demo_check::demo_failure;
use loomrec_cli::exit::CommandFailure;
use loomrec_engine::upstream::install_crypto_provider;
use loomrec_provider::framing::events;
use loomrec_provider::{Answer, Framing, Operation};

/// The made-up key that it sends, as every program sends one.
pub(super) const KEY: &str = "made-up-key-of-the-demo-0123456789";

/// The model that it asks for. It exists only in the built-in upstream.
const MODEL: &str = "loomrec-demo";

/// The agent.
pub(super) struct DemoAgent {
    client: reqwest::Client,
    url: String,
}

/// What the agent received in one run.
pub(super) struct AgentRun {
    /// The calls, in order.
    pub(super) turns: Vec<AgentCall>,
    /// How long the run took.
    pub(super) total_ms: f64,
}

/// One call, as the agent saw it.
pub(super) struct AgentCall {
    /// The purpose of the call.
    pub(super) asked: &'static str,
    /// The status.
    pub(super) status: u16,
    /// The media type.
    media: String,
    /// When the first bytes of the body arrived.
    pub(super) first_ms: f64,
    /// When the last bytes arrived.
    pub(super) last_ms: f64,
    /// The body.
    pub(super) body: Vec<u8>,
    /// The number of events of a stream. 0 for an answer that is not a stream.
    pub(super) events: usize,
    /// What the answer says, in one line.
    pub(super) said: String,
}

impl AgentRun {
    /// Returns the first call that did not succeed.
    pub(super) fn first_failure(&self) -> Option<&AgentCall> {
        self.turns.iter().find(|turn| turn.status != 200)
    }

    /// Whether the agent received the same bytes in both runs. Times are ignored.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        let seen = |turn: &AgentCall| (turn.status, turn.media.clone(), turn.body.clone());
        self.turns.iter().map(seen).eq(other.turns.iter().map(seen))
    }

    /// Returns the total size of all answers.
    pub(super) fn answer_bytes(&self) -> usize {
        self.turns.iter().map(|turn| turn.body.len()).sum()
    }
}

impl DemoAgent {
    /// Creates the agent, with its base URL set to `origin`.
    pub(super) fn new(origin: &str) -> Result<Self, CommandFailure> {
        install_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().build();
        let client = client.map_err(|error| demo_failure(&error.to_string()))?;
        Ok(Self { client, url: format!("{origin}/openai/v1/chat/completions") })
    }

    /// Runs the agent. It stops at the first call that fails.
    pub(super) async fn run(self, prompt: &str) -> Result<AgentRun, CommandFailure> {
        let started = Instant::now();
        let mut turns = Vec::new();
        let outcome = self.run_turns(prompt, &mut turns).await;
        outcome.map_err(|error| demo_failure(&format!("a call of the agent: {error}")))?;
        Ok(AgentRun { turns, total_ms: elapsed_milliseconds(started) })
    }

    async fn run_turns(
        &self,
        prompt: &str,
        turns: &mut Vec<AgentCall>,
    ) -> Result<(), reqwest::Error> {
        let mut messages = vec![
            json!({ "role": "system", "content": "You answer briefly. Use tools for facts." }),
            json!({ "role": "user", "content": prompt }),
        ];
        let request = json!({ "model": MODEL, "messages": messages, "tools": [weather_tool()] });
        let Some(answer) = self.call("asks", &request, turns).await? else { return Ok(()) };
        for call in &answer.tool_calls {
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [{
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments.to_string() },
            }]}));
            messages.push(json!({
                "role": "tool", "tool_call_id": call.id, "content": run_weather_tool(&call.arguments),
            }));
        }
        let request = json!({ "model": MODEL, "messages": messages, "tools": [weather_tool()] });
        let Some(answer) = self.call("tool result", &request, turns).await? else {
            return Ok(());
        };
        let request = json!({
            "model": MODEL,
            "messages": [
                { "role": "system", "content": "Sum up in one sentence." },
                { "role": "user", "content": answer.content },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        self.call("sums up", &request, turns).await.map(|_| ())
    }

    /// Makes one call and reads its body as it arrives. Returns `None` if the agent cannot go on.
    async fn call(
        &self,
        asked: &'static str,
        request: &Value,
        turns: &mut Vec<AgentCall>,
    ) -> Result<Option<Answer>, reqwest::Error> {
        let started = Instant::now();
        let mut response = self
            .client
            .post(&self.url)
            .header("authorization", format!("Bearer {KEY}"))
            .header("content-type", "application/json")
            .body(request.to_string())
            .send()
            .await?;
        let status = response.status().as_u16();
        let media = response.headers().get("content-type");
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let (mut first_ms, mut body) = (None, Vec::new());
        while let Some(chunk) = response.chunk().await? {
            first_ms.get_or_insert_with(|| elapsed_milliseconds(started));
            body.extend_from_slice(&chunk);
        }
        let last_ms = elapsed_milliseconds(started);
        let framing = media.starts_with("text/event-stream").then_some(Framing::Sse);
        let answer = loomrec_provider::read_answer(Operation::CHAT_COMPLETIONS, framing, &body)
            .filter(|_| status == 200);
        turns.push(AgentCall {
            asked,
            status,
            first_ms: first_ms.unwrap_or(last_ms),
            last_ms,
            events: framing.map_or(0, |framing| events(framing, &body).count()),
            said: answer.as_ref().map(in_a_line).unwrap_or_default(),
            media,
            body,
        });
        Ok(answer)
    }
}

/// Returns the definition of the tool for the model.
fn weather_tool() -> Value {
    json!({ "type": "function", "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": { "city": { "type": "string" } },
            "required": ["city"],
        },
    }})
}

/// Runs the tool.
fn run_weather_tool(arguments: &Value) -> String {
    let city = arguments.get("city").and_then(Value::as_str).unwrap_or("nowhere");
    json!({ "city": city, "celsius": 14, "sky": "light rain" }).to_string()
}

/// Formats what an answer says in one line.
fn in_a_line(answer: &Answer) -> String {
    match answer.tool_calls.first() {
        Some(call) => format!("calls the tool {} {}", call.name, call.arguments),
        None => answer.content.clone(),
    }
}

/// Returns the milliseconds since a moment.
fn elapsed_milliseconds(then: Instant) -> f64 {
    then.elapsed().as_secs_f64() * 1000.0
}
