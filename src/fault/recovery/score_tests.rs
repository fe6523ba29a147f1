use proptest::option::of;
use proptest::prelude::*;

use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn report(
    start: u64,
    detected: Option<u64>,
    recovered: Option<u64>,
    budget: u64,
) -> RecoveryReport {
    FaultObservation {
        start: ms(start),
        detected: detected.map(ms),
        recovered: recovered.map(ms),
        timeout_budget: ms(budget),
    }
    .to_report()
}

#[test]
fn times_count_from_the_start() {
    assert_eq!(
        report(1000, Some(3500), Some(4000), 3000),
        RecoveryReport {
            time_to_detection: Some(ms(2500)),
            time_to_recovery: Some(ms(3000)),
            user_visible_hang: ms(2500),
            recovered: true,
            clean_timeout: true,
        }
    );
}

#[test]
fn hang_is_the_earlier_mark_the_only_one_or_the_budget() {
    assert_eq!(report(10, Some(40), Some(20), 99).user_visible_hang, ms(10));
    assert_eq!(report(10, Some(40), None, 99).user_visible_hang, ms(30));
    assert_eq!(report(10, None, Some(500), 99).user_visible_hang, ms(490));
    assert_eq!(report(10, None, None, 99).user_visible_hang, ms(99));
}

#[test]
fn timeout_is_clean_when_it_was_noticed_within_the_budget_both_ends_included() {
    for (detected, clean) in [(99, false), (100, true), (400, true), (401, false)] {
        assert_eq!(report(100, Some(detected), None, 300).clean_timeout, clean, "{detected}");
    }
    assert!(!report(100, None, Some(200), 300).clean_timeout);
}

#[test]
fn mark_before_the_start_did_not_happen() {
    assert_eq!(report(100, Some(99), Some(0), 300), report(100, None, None, 300));
    assert_eq!(report(100, Some(99), Some(150), 300), report(100, None, Some(150), 300));
}

#[test]
fn end_of_the_budget_saturates() {
    let observation = FaultObservation {
        start: Duration::from_secs(1),
        detected: Some(Duration::MAX),
        recovered: None,
        timeout_budget: Duration::MAX,
    };
    assert!(observation.to_report().clean_timeout);
}

fn budget(detection: u64, recovery: Option<u64>, clean: bool) -> RecoveryBudget {
    RecoveryBudget {
        max_detection: Some(ms(detection)),
        max_recovery: recovery.map(ms),
        require_clean_timeout: clean,
    }
}

fn marks(start: u64, detected: Option<u64>, recovered: Option<u64>) -> FaultTimeline {
    FaultTimeline {
        start: ms(start),
        detected: detected.map(ms),
        recovered: recovered.map(ms),
        timeout_budget: None,
        only_delays: false,
    }
}

#[test]
fn budget_is_kept_up_to_and_at_its_limits() {
    let judged = |detected, recovered| {
        let budget = budget(3000, Some(5000), true);
        judge_faults([marks(100, detected, recovered)], Some(&budget)).scores[0].missed.clone()
    };
    assert_eq!(judged(Some(3100), Some(5100)), []);
    let late = BudgetMiss::NoticedLate(ms(3001), ms(3000));
    assert_eq!(judged(Some(3101), Some(5100)), [late]);
    assert_eq!(judged(Some(200), Some(5101)), [BudgetMiss::RecoveredLate(ms(5001), ms(5000))]);
    assert_eq!(judged(Some(200), None), [BudgetMiss::NotRecovered]);
    assert_eq!(judged(None, Some(200)), [BudgetMiss::Unnoticed]);
    let told = judged(Some(3101), None).iter().map(ToString::to_string).collect::<Vec<_>>();
    let late = "noticed after 3001 ms, more than 3000 ms";
    assert_eq!(told, [late, "not recovered"]);
}

#[test]
fn what_a_budget_does_not_ask_for_is_not_missed() {
    let loose = budget(3000, None, false);
    assert!(judge_faults([marks(0, None, None)], None).has_passed());
    // Without a clean timeout, neither a late notice nor none is a miss.
    assert!(judge_faults([marks(0, Some(9000), Some(9200))], Some(&loose)).has_passed());
    assert!(judge_faults([marks(0, None, Some(9200))], Some(&loose)).has_passed());
}

#[test]
fn fault_that_is_never_recovered_from_misses_every_budget() {
    for most in [None, Some(10_000)] {
        for clean in [false, true] {
            let judged = judge_faults([marks(0, Some(1), None)], Some(&budget(3000, most, clean)));
            assert_eq!(judged.scores[0].missed, [BudgetMiss::NotRecovered], "{most:?} {clean}");
            assert!(!judged.has_passed());
        }
    }
}

#[test]
fn budget_is_not_kept_when_there_was_nothing_to_keep_it_with() {
    let budget = budget(3000, None, false);
    assert!(!judge_faults([], Some(&budget)).has_passed());
    assert_eq!(judge_faults([], Some(&budget)).budget_outcome(), Some(RecoveryOutcome::NotTested));
    assert!(judge_faults([], None).has_passed());
    assert_eq!(judge_faults([], None).budget_outcome(), None);
    let late = FaultTimeline { only_delays: true, ..FaultTimeline::default() };
    assert!(!judge_faults([late], Some(&budget)).has_passed());
    let verdict = judge_faults([late, marks(0, Some(1), Some(2))], Some(&budget));
    assert!(verdict.has_passed());
    assert_eq!((verdict.scores.len(), verdict.total.faults), (2, 1));
}

#[test]
fn total_has_the_longest_times_and_all_hangs() {
    let faults = [marks(0, Some(30), Some(40)), marks(5, Some(10), None), marks(0, None, None)];
    let total = judge_faults(faults, Some(&budget(20, Some(99), false))).total;
    assert_eq!(
        total,
        ScoreTotal {
            faults: 3,
            detected: 2,
            recovered: 1,
            clean_timeouts: 1,
            time_to_detection: Some(ms(30)),
            time_to_recovery: Some(ms(40)),
            user_visible_hang: ms(30 + 5 + 20),
            missed: 2,
        }
    );
    let json = total.to_json();
    assert_eq!((&json["time_to_recovery_ms"], &json["missed"]), (&json!(40.0), &json!(2)));
}

#[test]
fn hang_that_nothing_ended_is_not_known_without_a_budget() {
    let hangs = |budget: Option<&RecoveryBudget>| {
        let faults = [marks(0, None, None), marks(0, Some(7), None)];
        let verdict = judge_faults(faults, budget);
        let hangs: Vec<_> = verdict.scores.iter().map(|score| score.hang).collect();
        (hangs, verdict.total.user_visible_hang)
    };
    assert_eq!(hangs(None), (vec![None, Some(ms(7))], ms(7)));
    let budget = budget(20, None, false);
    assert_eq!(hangs(Some(&budget)), (vec![Some(ms(20)), Some(ms(7))], ms(27)));
}

/// Times near each other, near the largest, and any.
fn times() -> impl Strategy<Value = Duration> {
    let near = (0..50_u64).prop_map(ms);
    let end = (0..50_u64).prop_map(|back| Duration::MAX - ms(back));
    prop_oneof![4 => near, 1 => end, 1 => any::<Duration>()]
}

fn observations() -> impl Strategy<Value = FaultObservation> {
    (times(), of(times()), of(times()), times()).prop_map(
        |(start, detected, recovered, timeout_budget)| FaultObservation {
            start,
            detected,
            recovered,
            timeout_budget,
        },
    )
}

proptest! {
    #[test]
    fn any_marks_give_a_report_by_the_rules(seen in observations()) {
        let report = seen.to_report();
        let happened = |mark: Option<Duration>| mark.filter(|mark| *mark >= seen.start);
        let (detected, recovered) = (happened(seen.detected), happened(seen.recovered));
        prop_assert_eq!(report.time_to_detection, detected.map(|at| at - seen.start));
        prop_assert_eq!(report.time_to_recovery, recovered.map(|at| at - seen.start));
        prop_assert_eq!(report.recovered, recovered.is_some());
        let hang = match (detected, recovered) {
            (Some(one), Some(other)) => one.min(other) - seen.start,
            (Some(one), None) | (None, Some(one)) => one - seen.start,
            (None, None) => seen.timeout_budget,
        };
        prop_assert_eq!(report.user_visible_hang, hang);
        let end = seen.start.checked_add(seen.timeout_budget).unwrap_or(Duration::MAX);
        prop_assert_eq!(report.clean_timeout, detected.is_some_and(|at| at <= end));
    }

    /// mcptest's gate: recovered, within its limit if there is one, and noticed within the budget
    /// if a clean timeout is required.
    #[test]
    fn verdict_is_that_of_the_gate(
        seen in prop::collection::vec((times(), of(times()), of(times())), 1..5),
        (detection, recovery, clean) in (times(), of(times()), any::<bool>()),
    ) {
        let (max_detection, max_recovery) = (Some(detection), recovery);
        let budget = RecoveryBudget { max_detection, max_recovery, require_clean_timeout: clean };
        let faults = seen.iter().map(|(start, detected, recovered)| FaultTimeline {
            start: *start,
            detected: *detected,
            recovered: *recovered,
            timeout_budget: None,
            only_delays: false,
        });
        let passes = seen.iter().all(|(start, detected, recovered)| {
            let recovered = recovered.filter(|at| at >= start);
            let in_time = recovered.is_some_and(|at| recovery.is_none_or(|most| at - *start <= most));
            let noticed = detected.filter(|at| at >= start);
            let is_clean = noticed.is_some_and(|at| at - *start <= detection);
            in_time && (is_clean || !clean)
        });
        let expected = if passes { RecoveryOutcome::Kept } else { RecoveryOutcome::Missed };
        prop_assert_eq!(judge_faults(faults, Some(&budget)).budget_outcome(), Some(expected));
    }

    #[test]
    fn more_time_never_turns_a_pass_into_a_miss(
        seen in prop::collection::vec((times(), of(times()), of(times())), 0..5),
        (detection, recovery, more) in (times(), times(), times()),
        clean in any::<bool>(),
    ) {
        let marks = || seen.iter().map(|(start, detected, recovered)| FaultTimeline {
            start: *start,
            detected: *detected,
            recovered: *recovered,
            timeout_budget: None,
            only_delays: false,
        });
        let budget = |more: Duration| RecoveryBudget {
            max_detection: Some(detection.saturating_add(more)),
            max_recovery: Some(recovery.saturating_add(more)),
            require_clean_timeout: clean,
        };
        let tight = judge_faults(marks(), Some(&budget(Duration::ZERO)));
        let wide = judge_faults(marks(), Some(&budget(more)));
        prop_assert!(wide.total.missed <= tight.total.missed);
        prop_assert!(!tight.has_passed() || wide.has_passed());
        prop_assert_eq!(tight.total.faults, seen.len());
        prop_assert!(tight.total.recovered <= seen.len());
    }
}
