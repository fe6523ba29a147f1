//! Tests of recovery by other means than the same call: a fallback, and an error that the program
//! reports.

use serde_json::{Value, json};

use super::stage::{Over, Stage, silent, step};
use crate::support::shape::{chat_answer, message_answer};
use crate::support::{Answer, Call, Client, Scene, Upstream};

const BUDGET: &str = "max_detection_ms=60000,max_recovery_ms=60000,require_clean_timeout";

/// A chat call to this model.
fn chat(model: &str, prompt: &str) -> Call {
    let messages = json!([{ "role": "user", "content": prompt }]);
    let body = json!({ "model": model, "messages": messages }).to_string();
    Call::post("/v1/chat/completions", body)
}

/// The same question to Anthropic.
fn message(prompt: &str) -> Call {
    let messages = json!([{ "role": "user", "content": [{ "type": "text", "text": prompt }] }]);
    let body = json!({ "model": "claude", "max_tokens": 9, "messages": messages }).to_string();
    Call::post("/v1/messages", body).header("anthropic-version: 2023-06-01")
}

/// Replays the recording of all calls of these tests; calls to `gpt-big` get this fault.
fn stage(fault: &str) -> Stage {
    stage_with(fault, &[])
}

/// The same, with more arguments.
fn stage_with(fault: &str, more: &[&str]) -> Stage {
    let args = ["--faults", "plan.json", "--recovery", BUDGET, "--journal", "run.jsonl"];
    Stage::of(planned(fault), &[&args[..], more].concat())
}

/// The recording of all calls, and a plan in which those to `gpt-big` get this fault.
fn planned(fault: &str) -> Scene {
    let upstream = Upstream::start(|received| match received.text().contains("claude") {
        true => Answer::json(200, message_answer("Hello.")),
        false => Answer::json(200, chat_answer("Hello.")),
    });
    let scene = Scene::new();
    let models = ["gpt-big", "gpt-small"];
    let chats = models.into_iter().flat_map(|model| [chat(model, "Hi"), chat(model, "Bye")]);
    let calls: Vec<Call> = chats.chain([message("Hi"), message("Bye")]).collect();
    scene.recorded(&upstream, &calls);
    let plan = json!({ "rules": [{ "match": { "model": "gpt-big" }, "fault": fault }] });
    std::fs::write(scene.path("plan.json"), plan.to_string()).unwrap();
    scene
}

/// The recovery that the receipt tells of.
fn recovery(over: &Over) -> &Value {
    &over.receipt["recovery"]
}

/// Ends a run that recovered by this means, noticed in this way.
#[track_caller]
fn recovered_by(stage: Stage, means: &str, noticed_by: &str) {
    stage.journal_with(|line| line["outcome"] == "recovered");
    let over = stage.end(0);
    let recovery = recovery(&over);
    let fault = &recovery["faults"][0];
    assert_eq!(recovery["passed"], true, "{recovery:#}");
    assert_eq!(
        (&fault["recovered_by"], &fault["noticed_by"]),
        (&json!(means), &json!(noticed_by)),
        "{recovery:#}"
    );
    assert_eq!(recovery["total"]["recovered_by"][means], 1, "{recovery:#}");
}

/// Makes a call to the model that fails. The client leaves if there is no answer, and keeps its
/// connection otherwise.
fn fails(stage: &Stage, fault: &str) -> Option<Client> {
    let call = chat("gpt-big", "Hi");
    let mut client = stage.server.connect();
    if fault.starts_with("connection") {
        silent(&mut client, &call);
        return None;
    }
    client.send(&call);
    if fault.starts_with("hang") {
        stage.journal_with(|line| line["outcome"] == "fired");
        return None;
    }
    drop(client.answer());
    Some(client)
}

#[test]
fn answer_of_another_model_to_the_same_question_is_a_recovery() {
    let faults = [
        ("http_error:503", "error"),
        ("connection_reset", "cut"),
        ("malformed_response", "sent"),
        ("hang", "left"),
    ];
    for (fault, noticed_by) in faults {
        for call in [chat("gpt-small", "Hi"), message("Hi")] {
            let stage = stage(fault);
            let _open = fails(&stage, fault);
            stage.call(&call).expect(200);
            recovered_by(stage, "fallback", noticed_by);
        }
    }
}

#[test]
fn answer_to_the_same_question_in_another_step_is_a_recovery() {
    // AgentLoom's own example of an entry with a fault.
    let scene = Scene::new();
    let fault = json!({ "type": "http_error", "status_code": 500 });
    let entries = json!({ "_version": 2, "first_attempt": { "fault": fault },
        "second_attempt": { "content": "Hello." } });
    scene.write(entries.to_string());
    let stage = Stage::of(scene, &["--recovery", BUDGET, "--journal", "run.jsonl"]);
    stage.call(&step("first_attempt", "Hi")).expect(500);
    stage.call(&step("second_attempt", "Hi")).expect(200);
    recovered_by(stage, "other_step", "error");
}

#[test]
fn answer_to_the_same_question_with_other_settings_is_a_recovery() {
    let chat = |temperature: f64, prompt: &str| {
        let messages = json!([{ "role": "user", "content": prompt }]);
        let body = json!({ "model": "gpt", "messages": messages, "temperature": temperature });
        Call::post("/v1/chat/completions", body.to_string())
    };
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    scene.recorded(&upstream, &[chat(1.0, "Hi"), chat(0.5, "Hi"), chat(0.5, "Bye")]);
    let rule = json!({ "match": { "body": { "/temperature": 1.0 } }, "fault": "connection_reset" });
    std::fs::write(scene.path("plan.json"), json!({ "rules": [rule] }).to_string()).unwrap();
    let args = ["--faults", "plan.json", "--recovery", BUDGET, "--journal", "run.jsonl"];
    let stage = Stage::of(scene, &args);
    silent(&mut stage.server.connect(), &chat(1.0, "Hi"));
    stage.call(&chat(0.5, "Bye")).expect(200);
    assert!(!stage.journal().iter().any(|line| line["outcome"] == "recovered"));
    stage.call(&chat(0.5, "Hi")).expect(200);
    recovered_by(stage, "other_settings", "cut");
}

#[test]
fn other_work_at_another_model_is_no_recovery() {
    let stage = stage("http_error:503");
    drop(fails(&stage, "http_error"));
    stage.call(&chat("gpt-small", "Bye")).expect(200);
    stage.call(&message("Bye")).expect(200);
    stage.call(&chat("gpt-small", "Hi").header("x-loomrec-session: other")).expect(200);
    let over = stage.end(1);
    let fault = &recovery(&over)["faults"][0];
    assert_eq!((&fault["recovered"], &fault["recovered_by"]), (&json!(false), &Value::Null));
    over.finished.says(&["budget MISSED by 1 of 1 fault", "not recovered"]);
}

#[test]
fn call_to_another_model_that_came_before_the_fault_was_over_is_no_recovery() {
    let stage = stage("hang");
    let mut hung = stage.server.connect();
    hung.send(&chat("gpt-big", "Hi"));
    stage.journal_with(|line| line["outcome"] == "fired");
    // A second model is asked beside it, as an ensemble does.
    stage.call(&chat("gpt-small", "Hi")).expect(200);
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    drop(hung);
    stage.journal_with(|line| line["outcome"] == "noticed");
    stage.end(1).finished.says(&["not recovered"]);
}

#[test]
fn fallback_that_is_not_answered_well_is_no_recovery() {
    let stage = stage("http_error:503");
    drop(fails(&stage, "http_error"));
    stage.call(&chat("gpt-tiny", "Hi")).expect(422);
    assert_eq!(recovery(&stage.end(1))["total"]["recovered"], 0);
}

#[test]
fn placeholder_is_no_recovery() {
    let stage = stage_with("http_error:503", &["--on-miss", "default"]);
    drop(fails(&stage, "http_error"));
    stage.call(&chat("gpt-tiny", "Hi")).expect(200);
    assert_eq!(recovery(&stage.end(1))["total"]["recovered"], 0);
}

#[test]
fn clean_error_that_the_program_reports_is_a_recovery() {
    let report = |query: &str| {
        Call::post(&format!("/__loomrec/recovered{query}"), "").header("host: localhost")
    };
    let stage = stage("http_error:503");
    let none = stage.call(&report("")).expect(409).text();
    assert!(none.contains("no fault to recover from"), "{none}");
    drop(fails(&stage, "http_error"));
    stage.call(&report("?session=other")).expect(409);
    let told = stage.call(&report("")).expect(200).json();
    assert_eq!(told, json!({ "recovered": [1], "waiting": [] }));
    stage.call(&report("")).expect(409);
    recovered_by(stage, "clean_error", "error");
}

#[test]
fn score_tells_the_means_of_the_journal() {
    let stage = stage("http_error:503");
    drop(fails(&stage, "http_error"));
    stage.call(&chat("gpt-small", "Hi")).expect(200);
    stage.journal_with(|line| line["outcome"] == "recovered");
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let ended = scene.run(&["journal", "run.jsonl", "--recovery", BUDGET]).expect(0);
    let told = ended.stdout;
    assert!(told.contains("MEANS") && told.contains(", 1 by fallback · "), "{told}");
}

/// Gives a model up, asks another, and ends.
const PROGRAM: &str = r#"
import http.client, json, os
from urllib.parse import urlparse
at = urlparse(os.environ["LOOMREC_URL"])
def ask(model, seconds):
    one = http.client.HTTPConnection(at.hostname, at.port, timeout=seconds)
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hi"}]})
    try:
        one.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        one.getresponse().read()
    except TimeoutError:
        pass
    one.close()
ask("gpt-big", 0.2)
ask("gpt-small", 30)
"#;

#[test]
fn program_that_ends_right_after_its_fallback_has_recovered() {
    let scene = planned("hang");
    let args = ["replay", "-r", scene.name(), "--faults", "plan.json", "--recovery", BUDGET];
    for _ in 0..10 {
        let ended = scene.run(&[&args[..], &["--", "python3", "-c", PROGRAM]].concat());
        ended.expect(0).says(&["budget kept"]);
    }
}
