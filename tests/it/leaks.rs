//! A secret at a place chosen by chance, spelled in ways chosen by chance, is in no output:
//! recording, log, journal, receipt, pending file, messages, metrics, spans, inspector and
//! exports. `PROOF=full` makes many more of them.

mod spelling;
mod table;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::chance::{Chance, rounds};
use crate::support::loomrec::command;
use crate::support::shape::{CHAT, chat, chat_answer, chat_body, chat_events};
use crate::support::{Answer, Call, Finished, Received, Scene, Server, Upstream};
use spelling::{MARKER, hex, reveals, secret, spelled};

/// How often one spelling may stand upon another, with those of the outputs themselves.
const DEEPEST: usize = 7;

/// Where a secret may stand.
const PLACES: [&str; 18] = [
    "a prompt",
    "a member's name",
    "a compressed prompt",
    "a model's name",
    "a file's name in a multipart body",
    "the path",
    "a query parameter",
    "the step id",
    "the session",
    "the `accept` header",
    "`tracestate`",
    "the value of `x-loomrec-fault`",
    "an answer's text",
    "an answer's stream",
    "an answer's `location` header",
    "the name of an answer's header",
    "an answer's error",
    "a tool call of an answer",
];

/// One call with a secret at one place.
struct Case {
    place: &'static str,
    secret: String,
    spelled: String,
}

impl Case {
    fn new(place: &'static str, chance: &mut Chance) -> Self {
        let secret = secret(chance);
        let spelled = match chance.below(6) {
            0 => secret.clone(),
            1 => hex(&secret),
            _ => spelled(&secret, chance),
        };
        Self { place, secret, spelled }
    }

    /// The call: `tag` makes it another one.
    fn call(&self, tag: &str) -> Call {
        let text = &self.spelled;
        let mut body = chat_body(&format!("hi {tag}"));
        let url: String = text
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect();
        let answer =
            json!({ "place": self.place, "text": text, "secret": self.secret }).to_string();
        let answer = format!("x-answer: {}", hex(&answer));
        let (mut target, mut header) = (CHAT.to_owned(), String::new());
        match self.place {
            "a prompt" => body["messages"][0]["content"] = json!(format!("{tag}: {text}.")),
            "a member's name" => body["metadata"] = json!({ text: tag }),
            "a model's name" => body["model"] = json!(text),
            "the path" => target = format!("/openai/v1/things/{url}/{tag}"),
            "a query parameter" => target = format!("/openai/v1/things?tag={tag}&note={url}"),
            "the step id" => header = format!("x-loomrec-step-id: {tag} {text}"),
            "the session" => header = format!("x-loomrec-session: {tag} {text}"),
            "the `accept` header" => header = format!("accept: text/{text}"),
            "`tracestate`" => header = format!("tracestate: a={text}"),
            "the value of `x-loomrec-fault`" => header = format!("x-loomrec-fault: {text}"),
            "an answer's stream" => body["stream"] = json!(true),
            _ => {}
        }
        let (mut media, mut bytes) = ("application/json", body.to_string().into_bytes());
        match self.place {
            "a compressed prompt" => {
                body["messages"][0]["content"] = json!(format!("{tag}: {text}."));
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(body.to_string().as_bytes()).unwrap();
                bytes = encoder.finish().unwrap();
                header = "content-encoding: gzip".to_owned();
            }
            "a file's name in a multipart body" => {
                media = "multipart/form-data; boundary=b";
                let name = text.replace('"', "%22");
                bytes = format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{tag}\r\n--b--\r\n").into_bytes();
                target = "/openai/v1/audio/transcriptions".to_owned();
            }
            _ => {}
        }
        let call = Call::new("POST", &target).header(&format!("content-type: {media}")).body(bytes);
        let call = call.header(&format!("authorization: Bearer {}", self.secret)).header(&answer);
        let call =
            call.header("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        if header.is_empty() { call } else { call.header(&header) }
    }
}

/// Answers as the request asks for it.
fn answer(request: &Received) -> Answer {
    let digits = request.header("x-answer").unwrap_or_default().as_bytes().chunks(2);
    let bytes =
        digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap());
    let asked: Value = serde_json::from_slice(&bytes.collect::<Vec<u8>>()).unwrap_or_default();
    let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
    let (place, said) = (text("place"), text("text"));
    match place.as_str() {
        "an answer's text" => Answer::json(200, chat_answer(&format!("<{said}>"))),
        "an answer's stream" => {
            let (front, back) = said.split_at(said.len() / 2);
            Answer::events(&chat_events(&["see ", front, back, " there"]))
        }
        "an answer's `location` header" => {
            let header = format!("location: https://h.test/?next={said}");
            Answer::whole(200, &["content-type: application/json", &header], chat_answer("ok"))
        }
        "the name of an answer's header" => {
            let header = format!("x-{}: 1", text("secret"));
            Answer::whole(200, &["content-type: application/json", &header], chat_answer("ok"))
        }
        "an answer's error" => {
            Answer::json(401, json!({"error": {"message": format!("bad key {said}")}}).to_string())
        }
        "a tool call of an answer" => {
            let arguments = json!({ "key": said }).to_string();
            let mut body: Value = serde_json::from_str(&chat_answer("ok")).unwrap();
            body["choices"][0]["message"]["tool_calls"] = json!([{"id": "call_1", "type": "function",
                "function": {"name": "look", "arguments": arguments}}]);
            Answer::json(200, body.to_string())
        }
        _ => Answer::json(200, chat_answer("ok")),
    }
}

/// All that came out of a run over some cases, each output by its name.
struct Outputs {
    all: Vec<(&'static str, Vec<u8>)>,
    /// How many calls were made, and how many of them are not in the recording.
    calls: usize,
    lost: usize,
}

fn start(scene: &Scene, collector: &Upstream, verb: &str, args: Vec<std::ffi::OsString>) -> Server {
    let mut command = command(scene.dir(), &args);
    let (journal, receipt) = (format!("{verb}.jsonl"), format!("{verb}.receipt.json"));
    command.args(["-v", "--log", "trace", "--otel", "--listen", "127.0.0.1:0"]);
    command.args(["--journal", &journal, "--receipt", &receipt]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    Server::spawn(command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"))
}

/// What a run shows while it goes on.
fn watched(server: &Server, calls: usize, all: &mut Vec<(&'static str, Vec<u8>)>) {
    let ask = |target: &str| server.call(&Call::get(target)).body();
    all.push(("metrics", ask("/metrics")));
    for target in ["run", "journal", "mismatches", "health"] {
        all.push(("inspector", ask(&format!("/__loomrec/{target}"))));
    }
    for seq in 1..=calls {
        all.push(("inspector", ask(&format!("/__loomrec/call?seq={seq}"))));
    }
}

fn run(cases: &[Case]) -> Outputs {
    let scene = Scene::new();
    let upstream = Upstream::start(answer);
    let collector = Upstream::always(Answer::json(200, "{}"));
    let mut all = Vec::new();
    let said = |finished: Finished, all: &mut Vec<(&'static str, Vec<u8>)>| {
        all.push(("messages and log", finished.stdout.into_bytes()));
        all.push(("messages and log", finished.stderr.into_bytes()));
        finished.code
    };
    let server = start(&scene, &collector, "record", scene.record_args(&upstream.url(), &[]));
    // One call without a secret: there is a recording whatever becomes of the others.
    let mut client = server.connect();
    client.exchange(&chat("plain")).expect(200);
    let mut kept = 1;
    for (at, case) in cases.iter().enumerate() {
        let response = client.exchange(&case.call(&format!("call {at}").replace(' ', "-")));
        kept += usize::from(response.header("x-loomrec-error").is_none());
    }
    all.push(("log of the recording", std::fs::read(scene.beside(".log")).unwrap_or_default()));
    watched(&server, cases.len(), &mut all);
    let code = said(server.stop(), &mut all);
    let takes = scene.takes().len();
    assert!(code == 0 || (code == 5 && takes < kept), "exit {code} with {takes} of {kept}");
    let pending = ["--pending", "missed.json"];
    let server = start(&scene, &collector, "replay", scene.replay_args(&pending));
    let mut client = server.connect();
    for (at, case) in cases.iter().enumerate() {
        for tag in [format!("call-{at}"), format!("other-{at}")] {
            all.push(("an answer of a replay", client.exchange(&case.call(&tag)).body()));
        }
    }
    watched(&server, 2 * cases.len(), &mut all);
    said(server.stop(), &mut all);
    for (format, out) in [("har", "out.har"), ("vcr", "out.yaml")] {
        let recording = scene.recording();
        let args = ["export", "--to", format, recording.to_str().unwrap(), "-o", out];
        said(scene.run(&args), &mut all);
    }
    for received in collector.received() {
        all.push(("spans", received.body));
    }
    for (path, bytes) in scene.files() {
        all.push((name_of(&path.file_name().unwrap().to_string_lossy()), bytes));
    }
    Outputs { all, calls: kept, lost: kept.saturating_sub(takes) }
}

fn name_of(file: &str) -> &'static str {
    match file {
        "run.json" => "recording",
        "record.jsonl" | "replay.jsonl" => "journal",
        "record.receipt.json" | "replay.receipt.json" => "receipt",
        "out.har" => "HAR",
        "out.yaml" => "VCR",
        name if name.starts_with("missed.json") => "pending",
        _ => "beside the recording",
    }
}

#[test]
fn what_is_spelled_is_read_again() {
    let mut chance = Chance::new();
    for _ in 0..300 {
        let case = Case::new("a prompt", &mut chance);
        assert!(reveals(case.spelled.as_bytes(), DEEPEST), "{} {}", case.secret, case.spelled);
    }
    assert!(!reveals(b"{\"a\": \"[REDACTED] \\u0041%41&#65;\"}", DEEPEST));
}

#[test]
fn secret_at_any_place_in_any_spelling_is_in_no_output() {
    let mut chance = Chance::new();
    let batches = rounds(1, 100);
    let (mut calls, mut lost) = (0, 0);
    for batch in 0..batches {
        let cases: Vec<Case> =
            (0..54).map(|at| Case::new(PLACES[at % PLACES.len()], &mut chance)).collect();
        let outputs = run(&cases);
        (calls, lost) = (calls + outputs.calls, lost + outputs.lost);
        for (output, bytes) in &outputs.all {
            if reveals(bytes, DEEPEST) {
                let told = |case: &&Case| reveals_of(case, bytes);
                let which =
                    cases.iter().find(told).map(|case| (case.place, &case.secret, &case.spelled));
                panic!("batch {batch}: {output} holds a secret: {which:?}\n{}", around(bytes));
            }
        }
    }
    assert!(lost * 50 <= calls, "{lost} of {calls} calls were not kept");
    eprintln!("{} cases, {lost} of {calls} calls not kept", batches * 54);
}

/// Whether it is the secret of this case, as far as a plain look tells.
fn reveals_of(case: &Case, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    [&case.secret, &case.spelled, &case.secret.to_ascii_lowercase()]
        .iter()
        .any(|part| text.contains(*part))
}

/// The text around the marker, where it stands plainly.
fn around(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let at = text.find(MARKER).unwrap_or(0);
    text.chars().skip(text[..at].chars().count().saturating_sub(200)).take(500).collect()
}
