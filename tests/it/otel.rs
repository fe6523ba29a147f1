//! Tests of `--otel`: what a collector gets for each call, and what one that is slow, down or
//! hostile must not be able to do.

pub(crate) mod collector;
mod trouble;

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::{Value, json};

use crate::support::loomrec::command;
use crate::support::shape::{chat, chat_answer, chat_streamed, message, message_answer};
use crate::support::{Answer, Call, Client, Gate, Scene, Server, Upstream};
use collector::{Collector, Span};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// The call, made within a span of the client.
fn joined(call: Call) -> Call {
    call.header(&format!("traceparent: 00-{TRACE}-{PARENT}-01")).header("tracestate: a=1,b=2")
}

/// A run with these variables, besides those that name a collector.
#[track_caller]
fn start(scene: &Scene, args: &[OsString], variables: &[(&str, &str)]) -> Server {
    let mut command = command(scene.dir(), args);
    command.args(["--otel", "--listen", "127.0.0.1:0"]).envs(variables.iter().copied());
    Server::spawn(&mut command)
}

fn upstream() -> Upstream {
    Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
        _ if request.text().contains("limit") => {
            Answer::json(429, "{\"error\":{\"message\":\"no\"}}")
        }
        _ => Answer::json(200, chat_answer("Hello.")),
    })
}

/// Checks every attribute. For some, the expected value only gives the type.
#[track_caller]
fn has(span: &Span, expected: &Value) {
    let mut told = span.attributes.clone();
    for (name, value) in expected.as_object().unwrap() {
        let found = told.remove(name).unwrap_or_else(|| panic!("{name} is not in {told:#?}"));
        match value.as_str() {
            Some("a hash") => assert_eq!(found.as_str().unwrap().len(), 64, "{name}: {found}"),
            Some("a number") => assert!(found.is_number(), "{name}: {found}"),
            _ => assert_eq!(&found, value, "{name}"),
        }
    }
    assert_eq!(told, BTreeMap::new(), "more is told");
}

#[test]
fn recorded_call_is_told_as_the_conventions_have_it() {
    let (scene, upstream, collector) = (Scene::new(), upstream(), Collector::http("http/protobuf"));
    let server = start(&scene, &scene.record_args(&upstream.url(), &[]), &collector.variables());
    server.call(&joined(chat("hi").header("x-loomrec-step-id: greet"))).expect(200);
    server.call(&chat("limit")).expect(429);
    server.stop().expect(0);
    let spans = collector.spans();
    assert_eq!(spans.len(), 2, "{spans:#?}");
    let span = &spans[0];
    has(
        span,
        &json!({
            "gen_ai.operation.name": "chat", "gen_ai.system": "openai",
            "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.request.stream": false, "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
            "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 12,
            "http.request.method": "POST", "http.response.status_code": 200,
            "url.path": "/v1/chat/completions",
            "server.address": "127.0.0.1", "server.port": upstream.address().port(),
            "loomrec.mode": "record", "loomrec.outcome": "recorded", "loomrec.source": "upstream",
            "loomrec.upstream": "openai", "loomrec.operation": "chat", "loomrec.key": "a hash",
            "loomrec.step_id": "greet", "loomrec.cost_usd": "a number", "loomrec.kept": true,
            "loomrec.answer": "complete", "loomrec.end": "complete", "loomrec.bytes": chat_answer("Hello.").len(),
            "loomrec.chunks": 1,
        }),
    );
    assert_eq!((span.sent.name.as_str(), span.sent.kind), ("chat gpt-4o-mini", 2));
    assert_eq!((span.trace(), span.parent()), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(span.sent.trace_state, "a=1,b=2");
    assert_eq!(span.sent.status.as_ref().map_or(0, |status| status.code), 0);
    let (start, end) = (span.sent.start_time_unix_nano, span.sent.end_time_unix_nano);
    let first = &span.sent.events[0];
    assert_eq!((span.sent.events.len(), first.name.as_str()), (1, "loomrec.first_byte"));
    assert!(start < first.time_unix_nano && first.time_unix_nano <= end, "{span:#?}");
    assert_eq!(span.resource["service.name"], "loomrec");
    // A limit is the client's error, and the client named no trace.
    let limited = &spans[1];
    assert_eq!(limited.attributes["error.type"], "429");
    assert_eq!(limited.sent.status.as_ref().map_or(0, |status| status.code), 0);
    assert_eq!((limited.parent().as_str(), limited.trace() == TRACE), ("", false));
    // The program's headers are passed on unchanged.
    let received = &upstream.received()[0];
    let parent = format!("00-{TRACE}-{PARENT}-01");
    assert_eq!(received.header("traceparent"), Some(&*parent));
    assert_eq!(received.header("tracestate"), Some("a=1,b=2"));
}

#[cfg(feature = "otel-grpc")]
#[test]
fn served_missed_and_faulted_calls_are_sent_over_grpc() {
    let (scene, collector) = (Scene::new(), Collector::grpc());
    scene.recorded(&upstream(), &[chat("hi"), message("hi").header("x-loomrec-step-id: greet")]);
    let args = scene.replay_args(&["--fault", "greet=http_error:503"]);
    let server = start(&scene, &args, &collector.variables());
    server.call(&joined(chat("hi"))).expect(200);
    server.call(&joined(chat("canary-of-the-prompt"))).expect(422);
    server.call(&joined(message("hi").header("x-loomrec-step-id: greet"))).expect(503);
    server.stop().expect(1);
    let spans = collector.spans();
    assert_eq!(spans.len(), 3, "{spans:#?}");
    let joined = |span: &Span| span.trace() == TRACE && span.parent() == PARENT;
    assert!(spans.iter().all(joined), "{spans:#?}");
    assert!(!format!("{spans:?}").contains("canary"), "{spans:#?}");

    let (served, missed) = (collector.only("served"), collector.only("missed"));
    served_and_missed(&served, &missed);
    let faulted = collector.only("faulted");
    has(
        &faulted,
        &json!({
            "gen_ai.operation.name": "chat", "gen_ai.system": "anthropic",
            "gen_ai.provider.name": "anthropic", "gen_ai.request.stream": false,
            "gen_ai.request.model": "claude-sonnet-4-20250514",
            "http.request.method": "POST", "http.response.status_code": 503,
            "url.path": "/v1/messages", "error.type": "http_error",
            "server.address": "api.anthropic.com", "server.port": 443,
            "loomrec.mode": "replay", "loomrec.outcome": "faulted", "loomrec.source": "fault",
            "loomrec.upstream": "anthropic", "loomrec.operation": "messages",
            "loomrec.key": "a hash", "loomrec.step_id": "greet", "loomrec.attempt": 1,
            "loomrec.end": "complete", "loomrec.bytes": "a number", "loomrec.chunks": 1,
            "loomrec.fault_type": "http_error", "loomrec.fault_source": "flag",
        }),
    );
    assert_eq!(faulted.sent.status.as_ref().map(|status| status.code), Some(2));
    assert_eq!(faulted.event("loomrec.fault").unwrap()["loomrec.fault_type"], "http_error");
}

/// Checks the spans of a served call and of a missed one.
#[track_caller]
fn served_and_missed(served: &Span, missed: &Span) {
    let common = json!({
        "gen_ai.operation.name": "chat", "gen_ai.system": "openai",
        "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.request.stream": false, "http.request.method": "POST",
        "url.path": "/v1/chat/completions",
        "server.address": "api.openai.com", "server.port": 443,
        "loomrec.mode": "replay", "loomrec.upstream": "openai", "loomrec.operation": "chat",
        "loomrec.key": "a hash", "loomrec.end": "complete", "loomrec.bytes": "a number",
        "loomrec.chunks": 1,
    });
    let with = |more: Value| {
        let mut all = common.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    has(
        served,
        &with(json!({
            "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 12,
            "http.response.status_code": 200, "loomrec.outcome": "served",
            "loomrec.source": "recording", "loomrec.matched_by": "request_hash",
            "loomrec.entry": "a hash", "loomrec.take": 1, "loomrec.cost_usd": "a number",
            "loomrec.answer": "complete",
        })),
    );
    has(
        missed,
        &with(json!({
            "http.response.status_code": 422, "loomrec.outcome": "missed",
            "loomrec.mismatch_reason": "unknown request", "error.type": "RecordingMismatchError",
        })),
    );
    assert_eq!(missed.sent.status.as_ref().map(|status| status.code), Some(2));
    let event = missed.event("loomrec.mismatch").unwrap();
    assert_eq!(event["loomrec.mismatch_reason"], "unknown request");
    assert_eq!(event["loomrec.differing"], json!(["/messages/0/content"]));
}

#[test]
fn stream_that_its_client_leaves_is_told_as_json() {
    let gate = Gate::new();
    let rest = gate.clone();
    let upstream = Upstream::start(move |_| {
        Answer::stream()
            .chunk("data: {\"choices\":[]}\n\n")
            .wait(&rest)
            .chunk("data: [DONE]\n\n")
            .end()
    });
    let (scene, collector) = (Scene::new(), Collector::http("http/json"));
    let args = scene.record_args(&upstream.url(), &[]);
    let server = start(&scene, &args, &collector.variables());
    let mut client = Client::connect(server.address);
    client.send(&joined(chat_streamed("hi")));
    client.head();
    client.chunk().unwrap();
    drop(client);
    gate.open();
    server.stop().expect(0);
    let span = collector.only("recorded");
    assert_eq!(span.attributes["loomrec.end"], "client_left");
    assert_eq!(span.attributes["gen_ai.request.stream"], true);
    assert_eq!(span.trace(), TRACE);
    assert!(span.event("loomrec.first_byte").is_some());
}

#[test]
fn agentlooms_names_stand_beside_ours_when_they_are_asked_for() {
    let (scene, upstream, collector) = (Scene::new(), upstream(), Collector::http("http/protobuf"));
    let compat = ["--metrics-compat"];
    let call = chat("hi").header("x-loomrec-step-id: greet");
    let args = scene.record_args(&upstream.url(), &compat);
    let server = start(&scene, &args, &collector.variables());
    server.call(&call).expect(200);
    server.stop().expect(0);
    let server = start(&scene, &scene.replay_args(&compat), &collector.variables());
    server.call(&call).expect(200);
    server.stop().expect(0);
    let recorded = collector.only("recorded").attributes;
    assert_eq!(recorded["agentloom.recording.provider"], "openai");
    assert_eq!(recorded["agentloom.recording.model"], "gpt-4o-mini");
    assert!(recorded["agentloom.recording.latency_s"].as_f64().unwrap() > 0.0);
    for name in ["provider", "model", "latency_s"] {
        let [long, short] = ["agentloom.recording.", "recording."].map(|prefix| {
            recorded.get(&format!("{prefix}{name}")).unwrap_or_else(|| panic!("{prefix}{name}"))
        });
        assert_eq!(long, short, "{name}");
    }
    let served = collector.only("served").attributes;
    for prefix in ["agentloom.mock", "mock"] {
        assert_eq!(served[format!("{prefix}.matched_by").as_str()], "step_id");
        assert_eq!(served[format!("{prefix}.step_id").as_str()], "greet");
    }
}

#[test]
fn standard_variables_are_obeyed() {
    let (scene, collector) = (Scene::new(), Collector::http("http/protobuf"));
    scene.recorded(&upstream(), &[chat("hi")]);
    let mut variables = collector.variables().to_vec();
    variables.extend([
        ("OTEL_SERVICE_NAME", "my-agent"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=ci"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0"),
        ("HTTP_PROXY", "http://127.0.0.1:9"),
        ("http_proxy", "http://127.0.0.1:9"),
    ]);
    let server = start(&scene, &scene.replay_args(&["--repeat", "last"]), &variables);
    let not_sampled = format!("traceparent: 00-{TRACE}-{PARENT}-00");
    server.call(&chat("hi").header(&not_sampled)).expect(200);
    server.call(&chat("hi").header("traceparent: 00-zz-1-01")).expect(200);
    // Before the run has ended.
    let spans = collector.wait_for(1);
    server.stop().expect(0);
    assert_eq!(collector.spans().len(), 1, "the trace that is not sampled was sent");
    assert_eq!(spans[0].parent(), "");
    assert_eq!(spans[0].resource["service.name"], "my-agent");
    assert_eq!(spans[0].resource["deployment.environment"], "ci");
    assert_eq!(collector.header("x-team").as_deref(), Some("blue"));
}

#[test]
fn nothing_is_sent_and_the_command_has_its_own_variables_when_traces_are_not_asked_for() {
    let (scene, collector) = (Scene::new(), Collector::http("http/protobuf"));
    scene.recorded(&upstream(), &[chat("hi")]);
    for (flag, disabled) in [(None, "false"), (Some("--otel"), "true")] {
        let script = "env | grep ^OTEL_ | sort; curl -s -o /dev/null --data-binary @call.json \
                      -H 'content-type: application/json' $OPENAI_BASE_URL/chat/completions";
        std::fs::write(scene.path("call.json"), chat("hi").body_bytes()).unwrap();
        let mut args = scene.replay_args(&[]);
        args.extend(flag.map(OsString::from));
        args.extend(["--", "sh", "-c", script].map(OsString::from));
        let mut command = command(scene.dir(), &args);
        command.envs(collector.variables()).env("OTEL_SDK_DISABLED", disabled);
        let ended = crate::support::loomrec::finish(&mut command, b"").expect(0);
        let expected = format!(
            "OTEL_EXPORTER_OTLP_ENDPOINT={}\nOTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n\
             OTEL_SDK_DISABLED={disabled}\n",
            collector.url
        );
        assert_eq!(ended.stdout, expected);
    }
    assert_eq!(collector.connections(), 0);
}
