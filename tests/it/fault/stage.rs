//! The common base of the fault tests: a recording with an answer in every format, and a run that
//! replays it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use loomrec_provider::Framing;
use loomrec_provider::framing::EventFrame;
use serde_json::{Value, json};

use crate::support::Upstream;
use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, gemini, gemini_answer, message, message_answer,
    message_events, message_streamed,
};
use crate::support::{Answer, Call, Client, End, Finished, Received, Response, Scene, Server};

/// A call, and its recorded answer.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) call: Call,
    pub(super) media: &'static str,
    /// The chunks of a stream; a single one if the answer is complete.
    pub(super) chunks: Vec<Vec<u8>>,
    /// The framing of the stream; `None` if the answer is complete.
    pub(super) framing: Option<Framing>,
}

impl Sample {
    fn complete(name: &'static str, call: Call, body: String) -> Self {
        let (media, chunks) = ("application/json", vec![body.into_bytes()]);
        Self { name, call, media, chunks, framing: None }
    }

    fn stream<T: Into<Vec<u8>>>(
        name: &'static str,
        call: Call,
        framing: Framing,
        chunks: Vec<T>,
    ) -> Self {
        let chunks = chunks.into_iter().map(Into::into).collect();
        Self { name, call, media: framing.media_type(), chunks, framing: Some(framing) }
    }

    pub(super) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    /// The same call with a fault in its header.
    pub(super) fn with(&self, fault: &str) -> Call {
        self.call.clone().header(&format!("x-loomrec-fault: {fault}"))
    }

    fn answer(&self) -> Answer {
        let media = format!("content-type: {}", self.media);
        if self.framing.is_none() {
            return Answer::whole(200, &[&media], self.body());
        }
        let head = Answer::head(200, &[&media, "transfer-encoding: chunked"]);
        self.chunks.iter().fold(head, Answer::chunk).end()
    }
}

/// The words in every stream; two have characters of several bytes.
pub(super) const WORDS: [&str; 4] = ["All ", "g\u{f6}od ", "\u{2603} ", "here."];

/// A sample in every format.
pub(super) fn samples() -> Vec<Sample> {
    let verb = "streamGenerateContent";
    let sse = |text: &&str| format!("data: {}\r\n\r\n", gemini_answer(text));
    let elements = WORDS.map(gemini_answer);
    let array = elements.iter().enumerate().map(|(at, one)| match at {
        0 => format!("[{one}"),
        _ => format!(",\r\n{one}"),
    });
    let array = array.chain(["]".to_owned()]).collect();
    vec![
        Sample::complete("chat", chat("complete"), chat_answer("All good.")),
        Sample::stream("chat stream", chat_streamed("s"), Framing::Sse, chat_events(&WORDS)),
        Sample::complete("message", message("complete"), message_answer("All good.")),
        Sample::stream(
            "message stream",
            message_streamed("s"),
            Framing::Sse,
            message_events(&WORDS),
        ),
        Sample::complete("gemini", gemini("generateContent", "c"), gemini_answer("All good.")),
        Sample::stream(
            "gemini stream",
            gemini(&format!("{verb}?alt=sse"), "s"),
            Framing::Sse,
            WORDS.iter().map(sse).collect::<Vec<String>>(),
        ),
        Sample::stream("gemini array", gemini(verb, "array"), Framing::Array, array),
        Sample::complete("ollama", ollama("complete", false), line("All good.", true)),
        Sample::stream("ollama lines", ollama("s", true), Framing::Lines, lines()),
        Sample::complete("converse", converse("", "complete"), converse_answer()),
        Sample::stream("converse stream", converse("-stream", "s"), Framing::EventStream, frames()),
    ]
}

/// The sample of this name.
pub(super) fn sample(name: &str) -> Sample {
    samples().into_iter().find(|sample| sample.name == name).unwrap()
}

/// The streamed samples.
pub(super) fn streams() -> impl Iterator<Item = Sample> {
    samples().into_iter().filter(|sample| sample.framing.is_some())
}

/// The complete samples.
pub(super) fn complete() -> impl Iterator<Item = Sample> {
    samples().into_iter().filter(|sample| sample.framing.is_none())
}

fn ollama(prompt: &str, stream: bool) -> Call {
    let messages = json!([{ "role": "user", "content": prompt }]);
    let body = json!({ "model": "qwen3", "messages": messages, "stream": stream });
    Call::post("/ollama/api/chat", body.to_string())
}

fn line(text: &str, done: bool) -> String {
    let mut line = json!({ "model": "qwen3", "created_at": "2026-11-21T22:47:48Z",
        "message": { "role": "assistant", "content": text }, "done": done });
    if done {
        line["done_reason"] = "stop".into();
        line["prompt_eval_count"] = 3.into();
        line["eval_count"] = 5.into();
    }
    format!("{line}\n")
}

fn lines() -> Vec<String> {
    WORDS.iter().map(|word| line(word, false)).chain([line("", true)]).collect()
}

fn converse(verb: &str, prompt: &str) -> Call {
    let body = json!({ "messages": [{ "role": "user", "content": [{ "text": prompt }] }] });
    Call::post(
        &format!("/bedrock/model/us.amazon.nova-lite-v1%3A0/converse{verb}"),
        body.to_string(),
    )
}

fn converse_answer() -> String {
    json!({
        "output": { "message": { "role": "assistant", "content": [{ "text": "All good." }] } },
        "stopReason": "end_turn",
        "usage": { "inputTokens": 3, "outputTokens": 5, "totalTokens": 8 },
        "metrics": { "latencyMs": 9 }
    })
    .to_string()
}

fn frames() -> Vec<Vec<u8>> {
    let frame =
        |name, data: Value| EventFrame { name: Some(name), data: Some(data), exception: false };
    let delta = |text: &&str| {
        frame("contentBlockDelta", json!({ "contentBlockIndex": 0, "delta": { "text": text } }))
    };
    let usage = json!({ "inputTokens": 3, "outputTokens": 5, "totalTokens": 8 });
    let mut frames = vec![frame("messageStart", json!({ "role": "assistant" }))];
    frames.extend(WORDS.iter().map(delta));
    frames.push(frame("contentBlockStop", json!({ "contentBlockIndex": 0 })));
    frames.push(frame("messageStop", json!({ "stopReason": "end_turn" })));
    frames.push(frame("metadata", json!({ "metrics": { "latencyMs": 9 }, "usage": usage })));
    Framing::EventStream.write_events(&frames)
}

/// An upstream that answers each sample's call with the sample's answer.
pub(super) fn upstream() -> Upstream {
    let answers: Vec<(Vec<u8>, Answer)> =
        samples().into_iter().map(|one| (one.call.body_bytes().to_vec(), one.answer())).collect();
    Upstream::start(move |received: &Received| {
        let found = answers.iter().find(|(said, _)| *said == received.body);
        let found = found.map(|(_, answer)| answer.clone());
        found.unwrap_or_else(|| Answer::json(200, chat_answer("something else")))
    })
}

/// A folder with the recording of all samples.
pub(super) fn recorded() -> Scene {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let scene = Scene::new();
        let calls: Vec<Call> = samples().into_iter().map(|sample| sample.call).collect();
        for answer in scene.recorded(&upstream(), &calls) {
            answer.expect(200);
        }
        scene.text()
    });
    let scene = Scene::new();
    scene.write(text);
    scene
}

/// A run over a recording, with a receipt.
pub(super) struct Stage {
    pub(super) scene: Scene,
    pub(super) server: Server,
}

/// What a client sees if a connection ends without an answer.
#[derive(Debug)]
pub(super) struct Silence {
    pub(super) end: End,
    pub(super) after: Duration,
}

/// The output of a run that has ended.
pub(super) struct Over {
    pub(super) receipt: Value,
    pub(super) finished: Finished,
}

impl Stage {
    /// Replays the recording of all samples.
    #[track_caller]
    pub(super) fn replay(more: &[&str]) -> Self {
        Self::of(recorded(), more)
    }

    /// Replays the recording in `scene`.
    #[track_caller]
    pub(super) fn of(scene: Scene, more: &[&str]) -> Self {
        let args = [&["--receipt", "receipt.json"], more].concat();
        let server = scene.replay(&args);
        Self { scene, server }
    }

    /// Records in front of `upstream`.
    #[track_caller]
    pub(super) fn record(upstream: &Upstream, more: &[&str]) -> Self {
        let scene = Scene::new();
        let args = [&["--receipt", "receipt.json"], more].concat();
        let server = scene.record(upstream, &args);
        Self { scene, server }
    }

    #[track_caller]
    pub(super) fn call(&self, call: &Call) -> Response {
        self.server.call(call)
    }

    /// Makes a call that gets no answer.
    #[track_caller]
    pub(super) fn silent(&self, call: &Call) -> Silence {
        silent(&mut self.server.connect(), call)
    }

    /// The journal so far.
    pub(super) fn journal(&self) -> Vec<Value> {
        let mut calls =
            self.call(&Call::get("/__loomrec/journal").header("host: localhost")).json();
        match calls["calls"].take() {
            Value::Array(lines) => lines,
            other => panic!("no journal: {other}"),
        }
    }

    /// The journal, once it holds a record for which `is` returns true.
    #[track_caller]
    pub(super) fn journal_with(&self, is: impl Fn(&Value) -> bool) -> Vec<Value> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let journal = self.journal();
            if journal.iter().any(&is) {
                return journal;
            }
            assert!(Instant::now() < until, "never in the journal: {journal:#?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the run, which must exit with `code`.
    #[track_caller]
    pub(super) fn end(self, code: i32) -> Over {
        let finished = self.server.stop().expect(code);
        let text = std::fs::read_to_string(self.scene.path("receipt.json")).unwrap();
        Over { receipt: serde_json::from_str(&text).unwrap(), finished }
    }
}

impl Over {
    /// How often the rule matched and fired.
    #[track_caller]
    pub(super) fn count(&self, rule: &str) -> (u64, u64) {
        let rules = self.receipt["faults"]["rules"].as_array().unwrap();
        let found = rules.iter().find(|one| one["rule"] == rule);
        let found = found.unwrap_or_else(|| panic!("no rule {rule:?} in {rules:#?}"));
        (found["matched"].as_u64().unwrap(), found["fired"].as_u64().unwrap())
    }

    /// The warnings, one per line.
    pub(super) fn warnings(&self) -> String {
        let warnings = self.receipt["faults"]["warnings"].as_array().unwrap();
        warnings.iter().map(|one| format!("{}\n", one["text"].as_str().unwrap())).collect()
    }
}

/// Makes a call on an open connection and gets no answer.
#[track_caller]
pub(super) fn silent(client: &mut Client, call: &Call) -> Silence {
    let began = Instant::now();
    client.send(call);
    let end = client.silence();
    Silence { end, after: began.elapsed() }
}

/// A chat call of this step.
pub(super) fn step(name: &str, prompt: &str) -> Call {
    chat(prompt).header(&format!("x-loomrec-step-id: {name}"))
}
