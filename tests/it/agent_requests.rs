//! Tests of presets with requests as real agents write them.

use serde_json::{Value, json};

use crate::support::shape::{CHAT, MESSAGES, chat_answer};
use crate::support::{Answer, Call, Scene, Upstream};

/// Returns what an agent sends in a run: the path, its `user-agent` and the body.
type Requests<'r> = &'r dyn Fn(&Values) -> Value;

/// What differs from run to run.
struct Values {
    id: &'static str,
    turn: &'static str,
    moment: f64,
    overview: &'static str,
    month: &'static str,
}

const RECORDED: Values = Values {
    id: "01a220bf-bae4-70e3-9973-e5f84c94b42c",
    turn: "01a220bf-bb66-7d71-9014-848827b51612",
    moment: 1_795_845_766.103_534_5,
    overview: "`main`\n\n````\n?? recordings/\n````",
    month: "November 2026",
};

const HERE: Values = Values {
    id: "02b33100-c5c1-7060-959f-4245d2f4b847",
    turn: "02b33100-c608-7a41-bb3f-1011a5662a21",
    moment: 1_795_999_768.844_741,
    overview: "`ci/7` (clean)",
    month: "December 2026",
};

/// A request of Codex 0.171, shortened.
fn codex(values: &Values) -> Value {
    let Values { id, turn, moment, .. } = values;
    let metadata = format!(
        "{{\"installation_id\":\"{turn}\",\"session_id\":\"{id}\",\"thread_id\":\"{id}\",\
         \"agent_name\":\"/root\",\"turn_id\":\"{turn}\",\"window_id\":\"{id}:0\",\
         \"window_number\":0,\"context_window_id\":\"{turn}\",\"request_kind\":\"turn\",\
         \"root_turn_id\":\"{turn}\",\"sandbox\":\"none\",\
         \"turn_started_at_unix_ms\":{},\"model\":\"gpt-6.2-sol\"}}",
        (moment * 1000.0).trunc()
    );
    let passed = json!({ "turn_id": turn, "create_time": moment });
    json!({
        "model": "gpt-6.2-sol",
        "input": [
            { "type": "message", "role": "user", "id": format!("msg_{turn}"),
              "content": [{ "type": "input_text", "text": "Write the file." }],
              "internal_chat_message_metadata_passthrough": passed },
        ],
        "prompt_cache_key": id,
        "client_metadata": {
            "session_id": id,
            "thread_id": id,
            "turn_id": turn,
            "root_turn_id": turn,
            "x-codex-installation-id": turn,
            "x-codex-window-id": format!("{id}:0"),
            "x-codex-turn-metadata": metadata,
        },
    })
}

/// A request of gptme 0.35, shortened.
fn gptme(values: &Values) -> Value {
    let system = format!(
        "## System Information\n\n**OS:** Debian GNU/Linux 12\n\n# Project Workspace\n\n\
         ## Git Status\n\n**Branch:** {}\n\n<budget:token_budget>128000</budget:token_budget>",
        values.overview
    );
    json!({
        "model": "gpt-4o",
        "messages": [
            { "role": "system", "content": "You are gptme v0.35.1, a general-purpose AI assistant" },
            { "role": "system", "content": system },
            { "role": "user", "content": "Write the file." },
        ],
    })
}

/// A request of Claude Code 2.1, shortened.
fn claude_code(values: &Values) -> Value {
    let month = values.month;
    let search = format!(
        "Search the web. Returns result blocks with titles and URLs. US-only.\n\n\
         - The current month is {month} — use this when searching for recent information.\n\
         - After answering from results, end with a \"Sources:\" list.\n"
    );
    json!({
        "model": "claude-opus-4-8",
        "max_tokens": 64,
        "messages": [{ "role": "user", "content": "Search it." }],
        "tools": [{
            "name": "WebSearch",
            "description": search,
            "input_schema": {
                "type": "object",
                "properties": { "query": { "type": "string", "description": "The query" } },
            },
        }],
    })
}

/// Records a request, and replays it with the values of another run; each of `changes` is a miss.
fn replays(path: &str, agent: &str, request: Requests<'_>, changes: &[(&str, &str)]) {
    let call =
        |body: &Value| Call::post(path, body.to_string()).header(&format!("user-agent: {agent}"));
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let of_run = ["--var", "git_branch=main", "--var", "git_status=?? recordings/"];
    let flags = [&of_run[..], &["--var", "day=2026-11-27", "--var", "utc_day=2026-11-27"]].concat();
    let server = scene.record(&upstream, &flags);
    server.call(&call(&request(&RECORDED))).expect(200);
    server.stop().expect(0);
    let of_run = ["--strict", "--var", "git_branch=ci/7", "--var", "git_status=(clean)"];
    let flags = [&of_run[..], &["--var", "day=2026-12-04", "--var", "utc_day=2026-12-04"]].concat();
    let server = scene.replay(&flags);
    server.call(&call(&request(&HERE))).expect(200);
    for (from, to) in changes {
        let text = request(&HERE).to_string();
        assert!(text.contains(from), "{from} is not in {text}");
        let changed: Value = serde_json::from_str(&text.replace(from, to)).unwrap();
        server.call(&call(&changed)).expect(422);
    }
    server.stop().expect(1);
}

#[test]
fn window_of_codex_has_a_number_after_its_id() {
    replays(
        "/v1/responses",
        "codex_exec/0.171.0 (Debian 12.0.0; x86_64)",
        &codex,
        &[
            ("window_id\\\":\\\"02b33100-c5c1", "window_id\\\":\\\"02b33100-c5c2"),
            ("4245d2f4b847:0\\\"", "4245d2f4b847:1\\\""),
            ("\\\"window_number\\\":0", "\\\"window_number\\\":1"),
            ("\\\"sandbox\\\":\\\"none", "\\\"sandbox\\\":\\\"some"),
            ("Write", "Read"),
        ],
    );
}

#[test]
fn branch_and_state_of_gptme_are_values_of_the_run() {
    replays(
        CHAT,
        "OpenAI/Python 2.54.0",
        &gptme,
        &[
            ("ci/7", "ci/8"),
            ("(clean)", "(dirty)"),
            ("(clean)\\n\\n", "(clean)\\n\\n\\n"),
            ("`ci/7` (clean)", "`main`\\n\\n````\\n?? recordings/\\n````"),
            ("128000", "128001"),
            ("Write", "Read"),
        ],
    );
}

#[test]
fn month_in_the_description_of_a_tool_is_a_value_of_the_run() {
    replays(
        MESSAGES,
        "claude-cli/2.1.197 (external, cli)",
        &claude_code,
        &[
            ("December 2026", "November 2026"),
            ("December 2026", "December 2027"),
            ("December 2026", "2026-12-04"),
            ("current month", "next month"),
            ("recent information", "old information"),
            ("Returns result", "Gives result"),
            ("Search the web", "Search the net"),
            ("\"WebSearch\"", "\"WebFind\""),
            ("The query", "The question"),
            ("Search it", "Search December 2026"),
        ],
    );
}
