use super::*;
use crate::PlaceUnit;

fn rule(name: &str) -> Arc<str> {
    Arc::from(name)
}

fn declared(source: FaultSource, name: &str) -> DeclaredFaultName {
    DeclaredFaultName { source, rule: rule(name), kind: "drop", is_at_accept: false }
}

fn reasons(counters: &FaultCounters) -> Vec<(FaultSource, String, String)> {
    let untested = counters.untested_faults().into_iter();
    untested.map(|it| (it.source, it.rule.to_string(), it.why)).collect()
}

const SOURCES: [FaultSource; 5] = [
    FaultSource::Header,
    FaultSource::Entry,
    FaultSource::Plan,
    FaultSource::Flag,
    FaultSource::Chaos,
];

#[test]
fn a_declared_fault_that_matched_no_call_is_untested_wherever_it_is_declared() {
    for source in SOURCES {
        let counters = FaultCounters::default();
        counters.declare(declared(source, "a"));
        assert_eq!(counters.untested_faults().len(), 1, "{source:?}");
        counters.count_matched(source, &rule("a"), &Fault::Drop);
        counters.count_fired(source, &rule("a"));
        assert_eq!(reasons(&counters), [], "{source:?}");
    }
}

#[test]
fn an_undeclared_fault_is_untested_once_it_was_decided_and_did_not_happen() {
    for source in SOURCES {
        let counters = FaultCounters::default();
        assert_eq!(reasons(&counters), []);
        counters.count_matched(source, &rule("a"), &Fault::Drop);
        counters.note_obstacle(source, &rule("a"), &FaultObstacle::NoBody);
        let why = "the answer has no body".to_owned();
        assert_eq!(reasons(&counters), [(source, "a".to_owned(), why)]);
    }
}

#[test]
fn the_reason_is_what_hindered_the_fault_most_closely() {
    let counters = FaultCounters::default();
    let (source, name) = (FaultSource::Plan, rule("a"));
    counters.declare(declared(source, "a"));
    let why = |counters: &FaultCounters| counters.untested_faults().remove(0).why;
    assert_eq!(why(&counters), "no call matched it");
    let number = |latest| OtherNumber { what: "attempt", wanted: vec![3, 5], latest };
    counters.other_number(source, &name, number(2));
    counters.other_number(source, &name, number(1));
    assert_eq!(why(&counters), "it is for attempt 3 or 5, and its calls came to attempt 2");
    counters.count_matched(source, &name, &Fault::Drop);
    counters.count_spared(source, &name);
    assert_eq!(why(&counters), "chance decided against it at all of its calls: 1");
    counters.count_overruled(source, &name);
    assert_eq!(why(&counters), "its calls got other faults, which come first");
    let (has, unit, what, place) = (12, PlaceUnit::Bytes, "cut", 4096);
    counters.note_obstacle(source, &name, &FaultObstacle::TooShort { has, unit, what, place });
    assert_eq!(why(&counters), "the answer has 12 bytes; the cut is at 4096");
}

#[test]
fn reasons_of_one_fault_are_bounded() {
    let counters = FaultCounters::default();
    for has in 0..1000 {
        let (unit, what, place) = (PlaceUnit::Bytes, "cut", 4096);
        let why = FaultObstacle::TooShort { has, unit, what, place };
        counters.note_obstacle(FaultSource::Entry, &rule("a"), &why);
    }
    assert_eq!(counters.warnings().len(), MOST_REASONS);
}

#[test]
fn a_session_leaves_the_entries_that_it_does_not_use_to_the_run() {
    let run = Arc::new(FaultCounters::default());
    run.declare(declared(FaultSource::Entry, "a"));
    run.declare(declared(FaultSource::Entry, "b"));
    let session = FaultCounters::with_shared_run(Arc::clone(&run));
    session.declare(declared(FaultSource::Entry, "a"));
    session.declare(declared(FaultSource::Plan, "p"));
    let names = |counters: &FaultCounters| {
        reasons(counters).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!((names(&run), names(&session)), (vec!["a".into(), "b".into()], vec!["p".into()]));
    session.count_matched(FaultSource::Entry, &rule("a"), &Fault::Drop);
    assert_eq!(names(&session), ["a", "p"]);
    session.count_fired(FaultSource::Entry, &rule("a"));
    session.count_fired(FaultSource::Plan, &rule("p"));
    assert_eq!((names(&run), names(&session)), (vec!["b".to_owned()], vec![]));
}
