//! Tests of what a scrape returns.

use super::label::OURSELVES;
use super::*;
use crate::call_record::TokenCounts;
use crate::run_counters::RunCounters;
use http::StatusCode;
use loomrec_engine::record::UpstreamTimes;
use loomrec_engine::replay::MatchedBy;
use loomrec_engine::{AnswerOrigin, AnswerSource, RequestSummary, ServedTake};
use loomrec_fault::{CallFault, CallKey, FaultSource};
use loomrec_provider::{AnswerOutcome, Provider};

/// The labels of a model with a name that has to be escaped.
const CLAUDE: &str = "provider=\"anthropic\",model=\"claude \\\"x\\\"\\n日本\"";

/// aimock's labels for those calls.
const AIMOCKS: &str = "method=\"POST\",path=\"{unknown}\"";

fn metrics(compat: bool) -> (Arc<Metrics>, Arc<RunCounters>) {
    let about = RunInfo { workflow: "agent".to_owned(), compat };
    (Arc::new(Metrics::new(about)), Arc::default())
}

fn input(loaded: u64) -> ScrapeInput {
    ScrapeInput { mode: "replay", loaded, rules: 0, journal_lost: 3, sessions: None }
}

/// Returns a call for a model, with this outcome and status.
fn seen(provider: Provider, model: &str, outcome: CallOutcome, status: Option<u16>) -> CallRecord {
    let mut facts = RequestSummary::from_refused("POST", "/v1/x", provider);
    facts.model = Some(model.to_owned());
    let mut seen = CallRecord::new(0, Arc::new(facts), "replay");
    (seen.outcome, seen.status) =
        (outcome, status.map(|status| StatusCode::from_u16(status).unwrap()));
    (seen.head, seen.waited) = (Duration::from_millis(9), Duration::from_micros(8_920));
    seen
}

fn fill(metrics: &Metrics, counters: &RunCounters) {
    let take = |matched_by| {
        AnswerOrigin::Take(ServedTake {
            matched_by,
            number: 1,
            index: 0,
            outcome: AnswerOutcome::Complete,
            bound: None,
        })
    };
    let mut served = seen(Provider::OPEN_AI, "gpt", CallOutcome::Served { entry: None }, Some(200));
    served.origin = Some(take(MatchedBy::StepId));
    served.tokens = Some(TokenCounts { input: 7, output: 5 });
    metrics.record_call(&served);
    served.origin = Some(take(MatchedBy::RequestHash));
    served.tokens = None;
    metrics.record_call(&served);
    let mut faulted = seen(Provider::OPEN_AI, "gpt", CallOutcome::Faulted, None);
    faulted.fault = Some(Arc::new(CallFault {
        id: 1,
        kind: "hang",
        rule: "hang".into(),
        source: FaultSource::Plan,
        key: CallKey::Connection,
        call: 1,
        attempt: 1,
        only_delays: false,
        exception: None,
    }));
    metrics.record_call(&faulted);
    let missed = CallOutcome::Missed(Arc::new(crate::journal::tests::mismatch("")));
    metrics.record_call(&seen(Provider::OPEN_AI, "gpt", missed, Some(422)));
    let mut recorded =
        seen(Provider::ANTHROPIC, "claude \"x\"\n日本", CallOutcome::Recorded, Some(200));
    let times = [5, 250, 305, 2_605].map(Duration::from_millis);
    let [sent, head, first, last] = times;
    let times = UpstreamTimes { sent, head, first: Some(first), last };
    recorded.exchange = Some(Box::new(crate::journal::tests::exchange(times, None)));
    metrics.record_call(&recorded);
    let mut forwarded = seen(Provider::COHERE, "command", CallOutcome::Forwarded, Some(200));
    (forwarded.waited, forwarded.total) = (Duration::from_millis(7), Duration::from_millis(102));
    metrics.record_call(&forwarded);
    metrics.count_fault("hang", "plan", None);
    metrics.count_chaos("rate_limit", "header", "fixture");
    metrics.count_chaos("rate_limit", "header", "proxy");
    metrics.count_bypass("malformed", "plan", "proxy", "too_short");
    metrics.stream_begins();
    metrics.stream_begins();
    metrics.stream_ends(SendEnd::ClientLeft);
    metrics.add_append_time(Duration::from_micros(30));
    metrics.add_compaction_time(Duration::from_millis(30));
    counters.add_tokens(7, 5, Some(0.25));
    RunCounters::add_one(&counters.recorded);
    counters.add_unkept("disk full");
}

/// Returns the value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
}

#[test]
fn scrape_tells_what_was_counted() {
    let (metrics, counters) = metrics(false);
    fill(&metrics, &counters);
    let text = metrics.scrape(vec![Arc::clone(&counters)], input(41), false);
    for (series, expected) in [
        ("loomrec_journal_lost_total", 3.0),
        ("loomrec_requests_total{mode=\"replay\",source=\"recording\",status=\"200\"}", 2.0),
        ("loomrec_requests_total{mode=\"replay\",source=\"fault\",status=\"none\"}", 1.0),
        ("loomrec_requests_total{mode=\"replay\",source=\"loomrec\",status=\"422\"}", 1.0),
        ("loomrec_replays_total{matched_by=\"step_id\"}", 1.0),
        ("loomrec_replays_total{matched_by=\"default\"}", 0.0),
        ("loomrec_mismatches_total{reason=\"drifted\"}", 0.0),
        (&format!("loomrec_captures_total{{{CLAUDE}}}"), 1.0),
        ("loomrec_upstream_latency_seconds_count{provider=\"cohere\",model=\"command\"}", 1.0),
        ("loomrec_upstream_latency_seconds_sum{provider=\"cohere\",model=\"command\"}", 0.1),
        (&format!("loomrec_upstream_latency_seconds_sum{{{CLAUDE}}}"), 2.6),
        (&format!("loomrec_upstream_first_byte_seconds_bucket{{le=\"0.25\",{CLAUDE}}}"), 0.0),
        (&format!("loomrec_upstream_first_byte_seconds_bucket{{le=\"0.5\",{CLAUDE}}}"), 1.0),
        ("loomrec_tokens_total{provider=\"openai\",model=\"gpt\",kind=\"output\"}", 5.0),
        ("loomrec_cost_usd_total{how=\"spent\"}", 0.25),
        ("loomrec_cost_usd_total{how=\"saved\"}", 0.0),
        ("loomrec_request_overhead_seconds_count", 5.0),
        ("loomrec_faults_total{type=\"hang\",source=\"plan\"}", 1.0),
        ("loomrec_chaos_triggered_total{action=\"rate_limit\",source=\"header\"}", 2.0),
        (
            "loomrec_chaos_bypassed_total{action=\"malformed\",source=\"plan\",reason=\"too_short\"}",
            1.0,
        ),
        ("loomrec_streams_open", 1.0),
        ("loomrec_streams_ended_total{how=\"client_left\"}", 1.0),
        ("loomrec_store_append_seconds_bucket{le=\"+Inf\"}", 1.0),
        ("loomrec_store_fold_seconds_count", 1.0),
        ("loomrec_recording_entries", 42.0),
        ("loomrec_lost_total", 1.0),
    ] {
        assert_eq!(value(&text, series), expected, "{series}");
    }
    let others = ["\nagentloom_", "\naimock_"];
    assert!(!others.iter().any(|name| text.contains(name)), "{text}");
    assert!(metrics.scrape(vec![Arc::clone(&counters)], input(41), true).ends_with("\n# EOF\n"));
}

#[test]
fn other_names_stand_beside_ours_when_they_are_asked_for() {
    let (metrics, counters) = metrics(true);
    fill(&metrics, &counters);
    metrics.count_fault("hang", "plan", Some("research"));
    let mut named = seen(Provider::OPEN_AI, "gpt", CallOutcome::Placeholder, Some(200));
    named.workflow = Some("research".into());
    named.origin = Some(AnswerOrigin::Placeholder);
    metrics.record_call(&named);
    let mut sent = seen(Provider::OPEN_AI, "gpt", CallOutcome::Served { entry: None }, Some(200));
    (sent.end, sent.total) = (SendEnd::Complete, Duration::from_millis(30));
    metrics.record_call(&sent);
    let text = metrics.scrape(vec![Arc::clone(&counters)], input(0), false);
    for (series, expected) in [
        ("agentloom_mock_replays_total{workflow=\"agent\",matched_by=\"step_id\"}", 1.0),
        ("agentloom_mock_replays_total{workflow=\"agent\",matched_by=\"prompt_hash\"}", 1.0),
        ("loomrec_replays_total{matched_by=\"request_hash\"}", 1.0),
        ("agentloom_mock_faults_total{workflow=\"agent\",fault_type=\"hang\"}", 1.0),
        ("agentloom_mock_faults_total{workflow=\"research\",fault_type=\"hang\"}", 1.0),
        ("agentloom_mock_replays_total{workflow=\"research\",matched_by=\"default\"}", 1.0),
        ("agentloom_mock_replays_total{workflow=\"agent\",matched_by=\"default\"}", 0.0),
        ("loomrec_faults_total{type=\"hang\",source=\"plan\"}", 2.0),
        (&format!("agentloom_recording_latency_seconds_count{{{CLAUDE}}}"), 1.0),
        ("aimock_chaos_triggered_total{action=\"rateLimit\",source=\"proxy\"}", 1.0),
        (
            "aimock_chaos_bypassed_total{action=\"malformed\",source=\"proxy\",reason=\"too_short\"}",
            1.0,
        ),
        ("loomrec_replays_total{matched_by=\"step_id\"}", 1.0),
        ("aimock_requests_total{method=\"POST\",path=\"{unknown}\",status=\"200\"}", 1.0),
        ("aimock_requests_total{method=\"POST\",path=\"{unknown}\",status=\"destroyed\"}", 7.0),
        (&format!("aimock_request_duration_seconds_bucket{{le=\"0.05\",{AIMOCKS}}}"), 7.0),
        (&format!("aimock_request_duration_seconds_count{{{AIMOCKS}}}"), 8.0),
    ] {
        assert_eq!(value(&text, series), expected, "{series}");
    }
}

#[test]
fn sources_are_named_as_the_journal_names_them() {
    use AnswerSource::{Default, Fault, Nowhere, Recording, Script, Upstream};
    for source in [Recording, Upstream, Script, Default, Fault, Nowhere] {
        assert_eq!(SOURCES[source as usize], source.as_str().unwrap_or(OURSELVES));
    }
}
