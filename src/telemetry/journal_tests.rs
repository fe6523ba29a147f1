use super::*;
use loomrec_engine::record::{RecordOutcome, UpstreamTimes};
use loomrec_engine::replay::{MissReason, RecordingMismatchError};
use loomrec_engine::{CallOutcome, RequestSummary};
use loomrec_fault::{CallFault, CallKey, FaultSource};
use loomrec_identity::RequestKey;
use loomrec_provider::{JudgedAnswer, Provider};
use loomrec_recording::timestamp::format_timestamp;

pub(super) fn seen(at: i64) -> CallRecord {
    CallRecord::new(
        at,
        Arc::new(RequestSummary::from_refused("POST", "/v1/x", Provider::OPEN_AI)),
        "replay",
    )
}

/// Returns a mismatch with this detail of its reason.
pub(crate) fn mismatch(detail: &str) -> RecordingMismatchError {
    RecordingMismatchError {
        reason: MissReason::Exhausted,
        detail: Some(detail.to_owned()),
        key: RequestKey::parse(&"a".repeat(64)).unwrap(),
        method: "POST".to_owned(),
        path: "/v1/x".to_owned(),
        upstream: "openai".to_owned(),
        rpc: None,
        model: None,
        step: None,
        session: None,
        recordings: Vec::new(),
        nearest: None,
        outside_key: Vec::new(),
        same_messages: None,
        is_of_session: false,
    }
}

/// Returns a recorded exchange that was kept, answered by this model.
pub(crate) fn exchange(times: UpstreamTimes, model: Option<String>) -> RecordOutcome {
    RecordOutcome {
        outcome: Ok(()),
        incomplete: None,
        label: String::new(),
        model,
        tokens: (0, 0),
        cost_usd: None,
        is_unpriced: false,
        judged: Some(JudgedAnswer::COMPLETE),
        is_given_up: false,
        failure: None,
        unchecked: None,
        times,
        append: Duration::ZERO,
    }
}

fn written(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns a journal with a file in a temporary folder.
fn journal() -> (Journal, std::path::PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let file = JournalFile::create(&path).unwrap();
    (Journal::new(Some((file, Box::new(|_| {})))), path, folder)
}

#[test]
fn latest_lines_come_oldest_first_when_more_were_added_than_are_kept() {
    let journal = Journal::new(None);
    (0..KEPT as i64 + 5).for_each(|at| drop(journal.add_call(&mut seen(at))));
    let lines = journal.recent_lines();
    assert_eq!(lines.len(), KEPT);
    assert_eq!((&lines[0]["at"], &lines[0]["seq"]), (&json!(format_timestamp(5)), &json!(6)));
    assert_eq!(lines[KEPT - 1]["at"], format_timestamp(KEPT as i64 + 4));
}

#[test]
fn a_call_that_somebody_reads_stays_as_it_is_when_others_come_in_its_place() {
    let journal = Journal::new(None);
    let first = journal.add_call(&mut seen(0));
    let places =
        || (0..KEPT as i64).map(|at| Arc::as_ptr(&journal.add_call(&mut seen(1 + at)))).collect();
    let (second, third): (Vec<_>, Vec<_>) = (places(), places());
    assert_eq!((first.at, journal.find_line(1).is_none()), (0, true));
    let again = second.iter().zip(&third).filter(|(one, other)| one == other).count();
    assert_eq!(again, KEPT, "those that nobody reads make room for others where they are");
}

#[test]
fn oldest_lines_go_when_lines_are_large() {
    let journal = Journal::new(None);
    for at in 0..100 {
        let outcome = CallOutcome::Missed(Arc::new(mismatch(&"x".repeat(1 << 20))));
        journal.add_call(&mut CallRecord { outcome, ..seen(at) });
    }
    let held = journal.bytes.load(Ordering::Relaxed);
    assert!(held <= KEPT_BYTES as isize, "{held}");
    let lines = journal.recent_lines();
    assert!((10..17).contains(&lines.len()), "{}", lines.len());
    assert_eq!(lines.last().unwrap()["seq"], 100);
    (100..1200).for_each(|at| drop(journal.add_call(&mut seen(at))));
    assert_eq!(journal.recent_lines().len(), KEPT);
    let held = journal.bytes.load(Ordering::Relaxed);
    assert_eq!(held as usize, KEPT * seen(0).weight());
}

#[test]
fn one_line_goes_with_the_next_when_it_is_larger_than_all_may_be() {
    let journal = Journal::new(None);
    (0..5_000).for_each(|at| drop(journal.add_call(&mut seen(at))));
    for at in 5_000..5_010 {
        let outcome = CallOutcome::Unreachable { message: "x".repeat(KEPT_BYTES) };
        journal.add_call(&mut CallRecord { outcome, ..seen(at) });
        let lines = journal.recent_lines();
        assert_eq!((lines.len(), &lines[0]["seq"]), (1, &json!(at + 1)));
    }
}

#[test]
fn lines_weigh_what_their_texts_take() {
    let long = || Some("x".repeat(1000));
    let light = seen(0);
    let facts =
        RequestSummary { model: long(), step: long(), session: long(), ..(*light.facts).clone() };
    let fault = CallFault {
        id: 1,
        kind: "timeout",
        rule: "y".repeat(1000).into(),
        source: FaultSource::Plan,
        key: CallKey::Connection,
        call: 1,
        attempt: 1,
        only_delays: false,
        exception: None,
    };
    let fault = Some(Arc::new(fault));
    let exchange = Some(Box::new(exchange(UpstreamTimes::default(), long())));
    let heavy = CallRecord { facts: Arc::new(facts), exchange, fault, ..light.clone() };
    assert!(heavy.weight() >= light.weight() + 5_000, "{}", heavy.weight());
}

#[test]
fn file_holds_every_line_once_the_journal_is_closed() {
    let (journal, path, _folder) = journal();
    (0..3).for_each(|at| drop(journal.add_call(&mut seen(at))));
    journal.close().unwrap();
    assert_eq!(written(&path), journal.recent_lines());
    assert_eq!(journal.health_json()["file"]["written"], 3);
    journal.add_call(&mut seen(4));
    assert_eq!(journal.health_json()["file"]["lost"], 1, "a line behind the end is lost, and said");
}

#[test]
fn lines_are_counted_and_said_once_when_the_file_takes_none() {
    let file = JournalFile::create(std::path::Path::new("/dev/full")).unwrap();
    let errors = Arc::<Mutex<Vec<String>>>::default();
    let sink = Arc::clone(&errors);
    let on_error: OnJournalError = Box::new(move |text| sink.lock().unwrap().push(text.to_owned()));
    let journal = Journal::new(Some((file, on_error)));
    for at in 0..30 {
        journal.add_call(&mut seen(at));
        std::thread::sleep(Duration::from_millis(1));
    }
    let why = journal.close().unwrap_err();
    assert!(why.starts_with("30 lines are lost: No space left"), "{why}");
    assert_eq!(journal.lost_lines(), 30);
    assert_eq!(errors.lock().unwrap().len(), 1);
}
