use super::*;
use loomrec_engine::LONGEST;

#[test]
fn models_without_a_price_are_bounded_in_number_and_length() {
    let counters = RunCounters::default();
    for number in 0..1000 {
        counters.add_unpriced(&format!("m{number}-{}", "x".repeat(10_000)));
    }
    counters.add_unpriced("m");
    let unpriced = counters.to_detail().unpriced;
    assert_eq!(unpriced.len(), MAX_UNPRICED + 1);
    assert_eq!(unpriced[ALL_OTHERS], 901);
    assert!(unpriced.keys().all(|name| name.len() <= LONGEST));
}

#[test]
fn same_failure_of_an_upstream_is_new_once_and_their_number_is_bounded() {
    let counters = RunCounters::default();
    let is_new = |message: &str| counters.is_new_upstream_failure(message);
    assert!(is_new("expired at 10:00 (now it is 10:01)"));
    assert!(!is_new("expired at 10:00 (now it is 10:02)"));
    assert!(is_new("refused"));
    let failures = counters.to_detail().upstream_failures;
    let failures: Vec<_> = failures.values().map(|it| (it.message.as_str(), it.calls)).collect();
    assert_eq!(failures, [("expired at 10:00 (now it is 10:01)", 2), ("refused", 1)]);
    for number in 0..200 {
        is_new(&format!("x{}", "y".repeat(number)));
    }
    assert_eq!(counters.to_detail().upstream_failures.len(), MAX_FAILURES);
}

#[test]
fn sums_are_whole_when_several_threads_add_to_them() {
    let counters = RunCounters::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| counters.add_tokens(2, 3, Some(0.5))));
        }
    });
    let more = counters.to_detail();
    assert_eq!((more.input_tokens, more.output_tokens), (8000, 12000));
    assert!((more.cost_usd - 2000.0).abs() < f64::EPSILON);
}

#[test]
fn unknown_cost_is_counted_with_and_without_tokens() {
    let counters = RunCounters::default();
    counters.add_tokens(0, 0, Some(0.0));
    counters.add_tokens(2, 3, Some(0.0));
    assert_eq!(counters.to_detail().unknown_costs, 0);
    counters.add_tokens(0, 0, None);
    counters.add_tokens(2, 3, None);
    counters.add_tokens(2, 3, Some(0.5));
    let more = counters.to_detail();
    assert_eq!((more.unknown_costs, more.cost_usd), (2, 0.5));
}
