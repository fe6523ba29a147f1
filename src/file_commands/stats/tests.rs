use super::*;
use crate::show::contents::tests::recording as parsed;

fn at(path: &str) -> RecordingLocation {
    std::path::PathBuf::from(path).into()
}

/// A recording with a bit of everything, including plain AgentLoom entries.
const SAMPLE: &str = include_str!("../show/sample.json");

fn stats(by: Option<StatsBy>, prices: Option<&str>, texts: &[&str]) -> CallStats {
    let table = prices
        .map_or_else(PriceTable::built_in, |text| PriceTable::with_user_prices(text).unwrap());
    let mut stats = CallStats::new(by, PriceSource { table, anew: prices.is_some() });
    texts.iter().for_each(|text| stats.add_recording(&parsed(text)).unwrap());
    stats
}

fn table(stats: &CallStats, width: Option<usize>) -> String {
    let text = stats.to_text(&[at("run.json")], width);
    anstream::adapter::strip_str(&text).to_string()
}

fn json_of(stats: &CallStats) -> Value {
    serde_json::from_str(&stats.to_json_text(&[at("run.json")])).unwrap()
}

#[test]
fn calls_are_put_together_by_upstream_and_model() {
    insta::assert_snapshot!(table(&stats(None, None, &[SAMPLE]), None), @r###"
    UPSTREAM   MODEL                     CALLS  FAILED   IN  OUT  CACHED         COST      P50      P90      P99  FIRST P50  FIRST P90  FIRST P99
    -          -                             2       1    0    0       -           $0        -        -        -          -          -          -
    -          gpt-4o                        1       -   40    2       -    $0.000120        -        -        -          -          -          -
    anthropic  claude-sonnet-4-20250514      1       -  412   88       -    $0.002640  61.84 s  61.84 s  61.84 s          -          -          -
    openai     -                             1       -    0    0       -           $0    30 ms    30 ms    30 ms          -          -          -
    openai     gpt-4o-mini                   3       2   12    9       4  ≥ $0.000007   1.40 s   1.40 s   1.40 s     312 ms     312 ms     312 ms
    openai     gpt-4o-mini-2024-07-18        2       -   16    6       -    $0.000006   843 ms   843 ms   843 ms          -          -          -
    all                                     10       3  480  105       4  ≥ $0.002773   843 ms  61.84 s  61.84 s     312 ms     312 ms     312 ms

    10 calls, 3 failed · 480 tokens in, 105 out · ≥ $0.002773
    "###);
}

#[test]
fn calls_are_put_together_by_what_is_asked_for() {
    let text = |by| table(&stats(Some(by), None, &[SAMPLE]), None);
    let all = [StatsBy::Model, StatsBy::Upstream, StatsBy::Step, StatsBy::Session];
    insta::assert_snapshot!(all.map(text).join("\n"), @r###"
    MODEL                     CALLS  FAILED   IN  OUT  CACHED         COST      P50      P90      P99  FIRST P50  FIRST P90  FIRST P99
    -                             3       1    0    0       -           $0    30 ms    30 ms    30 ms          -          -          -
    claude-sonnet-4-20250514      1       -  412   88       -    $0.002640  61.84 s  61.84 s  61.84 s          -          -          -
    gpt-4o                        1       -   40    2       -    $0.000120        -        -        -          -          -          -
    gpt-4o-mini                   3       2   12    9       4  ≥ $0.000007   1.40 s   1.40 s   1.40 s     312 ms     312 ms     312 ms
    gpt-4o-mini-2024-07-18        2       -   16    6       -    $0.000006   843 ms   843 ms   843 ms          -          -          -
    all                          10       3  480  105       4  ≥ $0.002773   843 ms  61.84 s  61.84 s     312 ms     312 ms     312 ms

    10 calls, 3 failed · 480 tokens in, 105 out · ≥ $0.002773

    UPSTREAM   CALLS  FAILED   IN  OUT  CACHED         COST      P50      P90      P99  FIRST P50  FIRST P90  FIRST P99
    -              3       1   40    2       -    $0.000120        -        -        -          -          -          -
    anthropic      1       -  412   88       -    $0.002640  61.84 s  61.84 s  61.84 s          -          -          -
    openai         6       2   28   15       4  ≥ $0.000013   843 ms   1.40 s   1.40 s     312 ms     312 ms     312 ms
    all           10       3  480  105       4  ≥ $0.002773   843 ms  61.84 s  61.84 s     312 ms     312 ms     312 ms

    10 calls, 3 failed · 480 tokens in, 105 out · ≥ $0.002773

    STEP       CALLS  FAILED   IN  OUT  CACHED         COST      P50      P90      P99  FIRST P50  FIRST P90  FIRST P99
    -              5       2   28   15       4  ≥ $0.000013   843 ms   1.40 s   1.40 s     312 ms     312 ms     312 ms
    flaky          1       1    0    0       -           $0        -        -        -          -          -          -
    greet          1       -  412   88       -    $0.002640  61.84 s  61.84 s  61.84 s          -          -          -
    models         1       -    0    0       -           $0    30 ms    30 ms    30 ms          -          -          -
    summarize      2       -   40    2       -    $0.000120        -        -        -          -          -          -
    all           10       3  480  105       4  ≥ $0.002773   843 ms  61.84 s  61.84 s     312 ms     312 ms     312 ms

    10 calls, 3 failed · 480 tokens in, 105 out · ≥ $0.002773

    SESSION  CALLS  FAILED   IN  OUT  CACHED         COST     P50      P90      P99  FIRST P50  FIRST P90  FIRST P99
    -            9       3  468   96       -  ≥ $0.002766  843 ms  61.84 s  61.84 s          -          -          -
    agent-7      1       -   12    9       4    $0.000007  1.40 s   1.40 s   1.40 s     312 ms     312 ms     312 ms
    all         10       3  480  105       4  ≥ $0.002773  843 ms  61.84 s  61.84 s     312 ms     312 ms     312 ms

    10 calls, 3 failed · 480 tokens in, 105 out · ≥ $0.002773
    "###);
}

#[test]
fn the_table_gives_way_when_the_terminal_is_narrow() {
    let stats = stats(None, None, &[SAMPLE]);
    insta::assert_snapshot!(table(&stats, Some(80)), @r###"
    UPSTREAM   MODEL          CALLS  FAILED   IN  OUT         COST      P50      P99
    -          -                  2       1    0    0           $0        -        -
    -          gpt-4o             1       -   40    2    $0.000120        -        -
    anthropic  claude-sonne…      1       -  412   88    $0.002640  61.84 s  61.84 s
    openai     -                  1       -    0    0           $0    30 ms    30 ms
    openai     gpt-4o-mini        3       2   12    9  ≥ $0.000007   1.40 s   1.40 s
    openai     gpt-4o-mini-…      2       -   16    6    $0.000006   843 ms   843 ms
    all                          10       3  480  105  ≥ $0.002773   843 ms  61.84 s
    no room for FIRST P90, P90, FIRST P99, CACHED, FIRST P50; a wider terminal or --json has it

    10 calls, 3 failed · 480 tokens in, 105 out · ≥ $0.002773
    "###);
    for width in [60, 80, 100, 120, 150, 400] {
        let text = table(&stats, Some(width));
        let lines = text.lines().take_while(|line| !line.is_empty());
        let widest = lines.filter(|line| !line.starts_with("no room")).map(|l| l.chars().count());
        assert!(widest.max().unwrap() <= width.max(66), "{width}: {text}");
    }
}

#[test]
fn json_tells_every_sum_by_name() {
    let told = json_of(&stats(Some(StatsBy::Session), None, &[SAMPLE]));
    assert_eq!((&told["recordings"], &told["by"]), (&json!(["run.json"]), &json!(["session"])));
    assert_eq!(told["groups"][0]["session"], Value::Null);
    assert_eq!(told["all"]["calls"], 10);
    assert_eq!(told["unpriced_models"], json!({}));
    insta::assert_snapshot!(format!("{:#}", told["groups"][1]), @r###"
    {
      "session": "agent-7",
      "calls": 1,
      "failed": 0,
      "streamed": 1,
      "tokens": {
        "prompt": 12,
        "completion": 9,
        "total": 21,
        "reasoning": 0,
        "cached": 4,
        "cache_write": 0
      },
      "cost_usd": 7.2e-6,
      "unpriced": 0,
      "latency_ms": {
        "count": 1,
        "p50": 1402.3,
        "p90": 1402.3,
        "p99": 1402.3
      },
      "first_chunk_ms": {
        "count": 1,
        "p50": 312.4,
        "p90": 312.4,
        "p99": 312.4
      }
    }
    "###);
}

#[test]
fn sums_of_several_recordings_are_those_of_all_their_calls() {
    let (one, two) = (stats(None, None, &[SAMPLE]), stats(None, None, &[SAMPLE, SAMPLE]));
    let (one, two) = (json_of(&one)["all"].clone(), json_of(&two)["all"].clone());
    for name in ["calls", "failed", "streamed", "unpriced"] {
        assert_eq!(two[name].as_u64(), one[name].as_u64().map(|count| count * 2), "{name}");
    }
    assert_eq!(one["latency_ms"]["p50"], two["latency_ms"]["p50"]);
}

#[test]
fn a_model_without_a_price_is_named_and_counted() {
    let entry = r#"{"content": "x", "model": "mystery-9", "cost_usd": 0.0,
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}}"#;
    let known = entry.replace("mystery-9", "gpt-4o").replace("0.0", "0.25");
    let text = format!(r#"{{"a": [{entry}, {entry}], "b": {known}}}"#);
    let stats = stats(None, None, &[&text]);
    assert_eq!(json_of(&stats)["unpriced_models"], json!({ "mystery-9": 2 }));
    assert_eq!(json_of(&stats)["all"]["cost_usd"], 0.25);
    assert!(table(&stats, None).contains("no price is known for mystery-9 (calls: 2)"));
}

#[test]
fn cost_is_worked_out_anew_when_prices_are_given() {
    let entry = r#"{"content": "x", "model": "m", "upstream": "u", "cost_usd": 0.25,
        "usage": {"prompt_tokens": 1000000, "completion_tokens": 0, "total_tokens": 1000000}}"#;
    let text = format!(r#"{{"a": {entry}}}"#);
    let cost = |prices| json_of(&stats(None, prices, &[&text]))["all"].clone();
    assert_eq!(cost(None)["cost_usd"], 0.25);
    let own = r#"{"models": [{"names": ["m"], "input": 3}]}"#;
    assert_eq!(cost(Some(own))["cost_usd"], 3.0);
    let none = cost(Some(r#"{"replace": true, "models": []}"#));
    assert_eq!((&none["cost_usd"], &none["unpriced"]), (&Value::Null, &json!(1)));
}

#[test]
fn times_are_those_of_answers_that_did_not_fail() {
    let entry = |status: u16, ms: f64| {
        json!({ "latency_ms": ms, "content": "", "request": {"method": "POST", "path": "/v1/x",
            "headers": {}}, "response": {"status": status, "headers":
            {"content-type": "text/event-stream"}, "end": "complete",
            "chunks": [[ms / 2.0, "data: 1\n\n"], [ms, "data: 2\n\n"]]} })
    };
    let text = json!({ "a": entry(200, 100.0), "b": entry(500, 9000.0) }).to_string();
    let all = json_of(&stats(None, None, &[&text]))["all"].clone();
    assert_eq!(
        (&all["calls"], &all["failed"], &all["streamed"]),
        (&json!(2), &json!(1), &json!(2))
    );
    assert_eq!(all["latency_ms"], json!({"count": 1, "p50": 100.0, "p90": 100.0, "p99": 100.0}));
    assert_eq!(all["first_chunk_ms"], json!({"count": 1, "p50": 50.0, "p90": 50.0, "p99": 50.0}));
}

#[test]
fn an_empty_recording_says_so() {
    let stats = stats(None, None, &[r#"{"_version": 2}"#]);
    assert_eq!(table(&stats, None), "run.json: an empty recording, no call was kept\n");
    assert_eq!(json_of(&stats)["groups"], json!([]));
}

#[test]
fn hostile_names_cannot_reach_the_terminal() {
    let text = r#"{"a": {"content": "", "model": "\u009b31m\u202e",
        "usage": {"prompt_tokens": 1}}}"#;
    let stats = stats(None, None, &[text]);
    for told in [table(&stats, None), stats.to_json_text(&[at("x")])] {
        assert!(!told.contains(['\u{9b}', '\u{202e}']), "{told}");
    }
}
