//! Tests that a `--redact` match ends with the text that it is in, for every media type: two
//! requests never become one.

use crate::support::shape::chat_answer;
use crate::support::{Answer, Call, Scene, Upstream};

const RULES: [&str; 2] = ["--redact", "Today is .*"];
const FORM: &str = "application/x-www-form-urlencoded";

/// A request that names a day, and then asks something.
type Spelling = fn(day: &str, ask: &str) -> Call;

fn call(content_type: &str, body: impl AsRef<[u8]>) -> Call {
    let header = format!("content-type: {content_type}");
    Call::new("POST", "/openai/v1/chat/completions").body(body).header(&header)
}

fn json(day: &str, ask: &str) -> String {
    format!(
        r#"{{"model":"m","messages":[{{"content":"t=1 Today is {day}"}},{{"content":"{ask}"}}]}}"#
    )
}

fn json_called_a_form(day: &str, ask: &str) -> Call {
    call(FORM, json(day, ask))
}

fn json_without_an_equals_sign_called_a_form(day: &str, ask: &str) -> Call {
    call(FORM, json(day, ask).replace("t=1 ", ""))
}

fn json_called_text(day: &str, ask: &str) -> Call {
    call("text/plain", json(day, ask))
}

fn json_with_a_comma_too_many(day: &str, ask: &str) -> Call {
    call("application/json", json(day, ask).replace("]}", "],}"))
}

fn json_with_two_commas(day: &str, ask: &str) -> Call {
    call("application/json", json(day, ask).replace(r#""m","#, r#""m",,"#))
}

fn json_without_its_end(day: &str, ask: &str) -> Call {
    call("application/json", json(day, ask).replace("]}", ""))
}

fn parts_of_a_boundary_that_a_rule_matches(day: &str, ask: &str) -> Call {
    let boundary = "0123456789abcdef0123456789abcdef";
    parts(boundary, "\r\n", day, ask)
}

fn parts_of_a_long_boundary(day: &str, ask: &str) -> Call {
    parts(&"b-".repeat(40), "\r\n", day, ask)
}

fn parts_with_line_feeds_only(day: &str, ask: &str) -> Call {
    parts("XX", "\n", day, ask)
}

fn parts(boundary: &str, line: &str, day: &str, ask: &str) -> Call {
    let text = json(day, ask);
    let head = "content-disposition: form-data; name=\"q\"\ncontent-type: application/json\n\n";
    let body = format!("--{boundary}\n{head}{text}\n--{boundary}--\n").replace('\n', line);
    call(&format!("multipart/form-data; boundary={boundary}"), body)
}

fn query(day: &str, ask: &str) -> Call {
    let plus = |text: &str| text.replace(' ', "+");
    Call::get(&format!("/openai/v1/files?q=Today%20is%20{day}&ask={}", plus(ask)))
}

fn query_without_escapes(day: &str, ask: &str) -> Call {
    Call::get(&format!("/openai/v1/files?q=Today%20is={day}&ask={}", ask.replace(' ', "-")))
}

const SPELLINGS: [(&str, Spelling); 11] = [
    ("JSON called a form", json_called_a_form),
    ("JSON without = called a form", json_without_an_equals_sign_called_a_form),
    ("JSON called text", json_called_text),
    ("JSON with a comma too many", json_with_a_comma_too_many),
    ("JSON with two commas", json_with_two_commas),
    ("JSON without its end", json_without_its_end),
    ("parts, a boundary that a rule matches", parts_of_a_boundary_that_a_rule_matches),
    ("parts, a long boundary", parts_of_a_long_boundary),
    ("parts, line feeds only", parts_with_line_feeds_only),
    ("a query", query),
    ("a query, the rule in a name", query_without_escapes),
];

#[test]
fn another_request_is_not_answered_where_a_rule_matches_its_first_text() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("four")));
    for (name, spelling) in SPELLINGS {
        let scene = Scene::new();
        let rules = [&RULES[..], &["--redact", "[0-9a-f]{32}"]].concat();
        let server = scene.record(&upstream, &rules);
        server.call(&spelling("Monday", "question A")).expect(200);
        server.stop().expect(0);
        if name != "a query, the rule in a name" {
            assert!(!scene.text().contains("Monday"), "{name}: {}", scene.text());
            scene.replayed(&rules, &[spelling("Sunday", "question A")], 0);
        }
        scene.replayed(&rules, &[spelling("Monday", "question A")], 0);
        scene.replayed(&rules, &[spelling("Monday", "question B")], 1);
        scene.run(&["verify", "run.json"]).expect(0);
    }
}

#[test]
fn rule_reaches_percent_escapes_of_a_path_and_of_a_query_without_names() {
    let upstream = Upstream::always(Answer::json(200, "{}"));
    for target in ["/openai/v1/users/ann%40example.com", "/openai/v1/users?ann%40example.com"] {
        let scene = Scene::new();
        let rules = ["--redact", "[a-z]+@[a-z.]+"];
        let server = scene.record(&upstream, &rules);
        server.call(&Call::get(target)).expect(200);
        server.stop().expect(0);
        assert!(!scene.text().contains("ann%40"), "{}", scene.text());
        scene.replayed(&rules, &[Call::get(target)], 0);
    }
}

#[test]
fn strict_replay_and_verify_refuse_requests_that_redaction_broke() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("four")));
    let kind = |kind: &str, body: &str| call(kind, body);
    for broken in [
        kind(FORM, r#"{"model":"m","messages":[{"content":"t=1 <DAY:1>"#),
        kind("application/json", r#"{"model":"m","messages":[{"content":"t=1 [REDACTED]"#),
        kind("application/json", r#"{"created": [REDACTED]}"#),
        kind("multipart/form-data; boundary=[REDACTED]", "--[REDACTED]\r\n"),
    ] {
        let scene = Scene::new();
        scene.recorded(&upstream, &[broken]);
        let said = scene.run(&["verify", "run.json"]).expect(1);
        assert!(said.stdout.contains("was broken by redaction"), "{}", said.stdout);
        let args = ["replay", "--strict", "-r", "run.json", "--", "true"];
        let said = scene.run(&args).expect(4);
        assert!(said.stderr.contains("redaction removed more"), "{}", said.stderr);
    }
}
