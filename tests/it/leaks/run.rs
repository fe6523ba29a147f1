//! Runs of the real binary with some calls, and all their outputs.

use std::ffi::OsString;

use super::case::{Case, answer};
use super::spelling::MARKS;
use crate::otel::collector::Collector;
use crate::support::loomrec::{command, finish};
use crate::support::shape::chat;
use crate::support::{Answer, Call, Finished, Scene, Server, Upstream};

/// Every kind of output.
pub(super) const OUTPUTS: [&str; 15] = [
    "recording",
    "log of the recording",
    "journal",
    "receipt",
    "pending",
    "messages and log",
    "metrics",
    "spans",
    "inspector",
    "an answer of a replay",
    "show",
    "diff",
    "review",
    "HAR",
    "VCR",
];

/// A collector of spans that keeps the bytes it receives.
enum Spans {
    Http(Upstream, &'static str),
    Grpc(Collector),
}

impl Spans {
    /// One of the protocols, in turn.
    fn new(turn: usize) -> Self {
        let protobuf = || Answer::whole(200, &["content-type: application/x-protobuf"], b"");
        match turn % 3 {
            0 => Self::Http(Upstream::always(Answer::json(200, "{}")), "http/json"),
            1 if cfg!(feature = "otel-grpc") => Self::Grpc(Collector::grpc()),
            _ => Self::Http(Upstream::always(protobuf()), "http/protobuf"),
        }
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        match self {
            Self::Http(upstream, protocol) => [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", upstream.url()),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", (*protocol).to_owned()),
            ],
            Self::Grpc(collector) => {
                collector.variables().map(|(name, value)| (name, value.to_owned()))
            }
        }
    }

    /// What was received: bytes over HTTP, decoded messages over gRPC.
    fn received(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Http(upstream, _) => {
                upstream.received().into_iter().map(|received| received.body).collect()
            }
            Self::Grpc(collector) => {
                collector.spans().iter().map(|span| format!("{span:?}").into_bytes()).collect()
            }
        }
    }
}

/// All outputs of a run with some cases, each with its name.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) all: Vec<(&'static str, Vec<u8>)>,
    /// How many calls were made, and how many of them are missing in the recording.
    pub(super) calls: usize,
    pub(super) lost: usize,
}

impl Outputs {
    fn add(&mut self, output: &'static str, bytes: impl Into<Vec<u8>>) {
        self.all.push((output, bytes.into()));
    }

    fn add_said(&mut self, output: &'static str, said: Finished) -> i32 {
        self.add(output, said.stdout);
        self.add("messages and log", said.stderr);
        said.code
    }

    /// Adds what a run shows while it goes on.
    fn add_shown(&mut self, server: &Server, calls: usize) {
        let mut client = server.connect();
        let mut ask = |target: &str| client.exchange(&Call::get(target)).body();
        self.add("metrics", ask("/metrics"));
        for target in ["run", "journal", "mismatches", "health"] {
            self.add("inspector", ask(&format!("/__loomrec/{target}")));
        }
        for seq in 1..=calls {
            self.add("inspector", ask(&format!("/__loomrec/call?seq={seq}")));
            self.add("inspector", ask(&format!("/__loomrec/questions?seq={seq}")));
        }
    }
}

/// Records the cases, replays them with drifted calls, sends the missed ones again, and exports and
/// shows the results. `turn` selects variants of outputs.
pub(super) fn run(cases: &[Case], turn: usize) -> Outputs {
    let scene = Scene::new();
    let upstream = Upstream::forgetful(move |request| answer(request, turn % 2 == 1));
    let mut outputs = Outputs::default();
    record(&scene, &upstream, cases, turn, &mut outputs);
    replay(&scene, cases, turn, &mut outputs);
    read(&scene, &upstream, &mut outputs);
    for (path, bytes) in scene.files() {
        outputs.add(name_of(&path.file_name().unwrap().to_string_lossy()), bytes);
    }
    outputs
}

fn start(scene: &Scene, spans: &Spans, turn: usize, verb: &str, args: Vec<OsString>) -> Server {
    let mut command = command(scene.dir(), &args);
    let (journal, receipt) = (format!("{verb}.jsonl"), format!("{verb}.receipt.json"));
    command.args(["-v", "--log", "trace", "--otel", "--listen", "127.0.0.1:0"]);
    command.args(["--log-format", ["human", "json"][turn % 2]]);
    command.args(["--journal", &journal, "--receipt", &receipt]);
    Server::spawn(command.envs(spans.variables()))
}

fn record(scene: &Scene, upstream: &Upstream, cases: &[Case], turn: usize, outputs: &mut Outputs) {
    let spans = Spans::new(turn);
    let server = start(scene, &spans, turn, "record", scene.record_args(&upstream.url(), &[]));
    // One call without a secret, so that there is a recording in any case.
    let mut client = server.connect();
    client.exchange(&chat("plain")).expect(200);
    let mut kept = 1;
    for (at, case) in cases.iter().enumerate() {
        let response = client.exchange(&case.call(&format!("call-{at}")));
        kept += usize::from(response.header("x-loomrec-error").is_none());
    }
    let log = std::fs::read(scene.hidden(".log")).unwrap_or_default();
    outputs.add("log of the recording", log);
    outputs.add_shown(&server, cases.len() + 1);
    let code = outputs.add_said("messages and log", server.stop());
    let takes = scene.takes().len();
    assert!(code == 0 || (code == 5 && takes < kept), "exit {code} with {takes} of {kept}");
    (outputs.calls, outputs.lost) = (kept, kept.saturating_sub(takes));
    spans.received().into_iter().for_each(|bytes| outputs.add("spans", bytes));
}

fn replay(scene: &Scene, cases: &[Case], turn: usize, outputs: &mut Outputs) {
    let spans = Spans::new(turn + 1);
    let args = scene.replay_args(&["--pending", "run.json.pending"]);
    let server = start(scene, &spans, turn + 1, "replay", args);
    let mut client = server.connect();
    for (at, case) in cases.iter().enumerate() {
        for tag in [format!("call-{at}"), format!("other-{at}")] {
            outputs.add("an answer of a replay", client.exchange(&case.call(&tag)).body());
        }
    }
    outputs.add_shown(&server, 2 * cases.len());
    outputs.add_said("messages and log", server.stop());
    spans.received().into_iter().for_each(|bytes| outputs.add("spans", bytes));
}

/// Runs the commands that read the outputs.
fn read(scene: &Scene, upstream: &Upstream, outputs: &mut Outputs) {
    let key = MARKS.join("-");
    let args = ["rerecord", "--pending", "run.json.pending", "--yes", "--send-redacted"];
    let mut rerecord = command(scene.dir(), &args);
    rerecord.args(["--upstream", &format!("openai={}", upstream.url())]);
    outputs.add_said("messages and log", finish(rerecord.env("OPENAI_API_KEY", key), b""));
    let commands: [(&'static str, &[&str]); 12] = [
        ("HAR", &["export", "--to", "har", "run.json", "-o", "out.har"]),
        ("VCR", &["export", "--to", "vcr", "run.json", "-o", "out.yaml"]),
        ("show", &["show", "run.json"]),
        ("diff", &["diff", "run.json", "run.json.new"]),
        ("diff", &["diff", "--json", "run.json", "run.json.new"]),
        ("review", &["review", "run.json"]),
        ("review", &["review", "run.json", "--list", "--json"]),
        ("messages and log", &["ls", "run.json"]),
        ("messages and log", &["ls", "run.json", "--json"]),
        ("messages and log", &["stats", "run.json", "--by", "step"]),
        ("messages and log", &["verify", "run.json"]),
        ("journal", &["journal", "replay.jsonl", "--json"]),
    ];
    for (output, args) in commands {
        outputs.add_said(output, scene.run(args));
    }
    let names: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    for name in names.iter().step_by(names.len().div_ceil(8)) {
        outputs.add_said("show", scene.run(&["show", "run.json", name]));
        outputs.add_said("show", scene.run(&["show", "run.json", name, "--json"]));
    }
}

fn name_of(file: &str) -> &'static str {
    match file {
        "run.json" => "recording",
        "record.jsonl" | "replay.jsonl" => "journal",
        "record.receipt.json" | "replay.receipt.json" => "receipt",
        "out.har" => "HAR",
        "out.yaml" => "VCR",
        "run.json.pending" => "pending",
        "run.json.new" => "review",
        _ => "beside the recording",
    }
}
