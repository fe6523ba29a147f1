use serde_json::{Value, json};

use super::journal::{Incident, JournalFaults, Reading};
use super::*;
use loomrec_fault::recovery::score::to_milliseconds;

/// A journal with a bit of everything, including marks that come before the line of their call.
const SAMPLE: &str = include_str!("sample.jsonl");

fn incidents(text: &str) -> Vec<Incident> {
    let mut reading = Reading::default();
    for line in text.lines() {
        reading.add_line(&serde_json::from_str(line).unwrap()).unwrap();
    }
    reading.finish().incidents
}

fn judged(text: &str, budget: Option<&str>) -> ScoredFaults {
    let budget = budget.map(|text| RecoveryBudget::parse(text).unwrap());
    ScoredFaults::from_incidents(incidents(text), budget.as_ref())
}

fn shown(judged: &ScoredFaults, width: Option<usize>) -> String {
    anstream::adapter::strip_str(&judged.to_text(width)).to_string()
}

const BUDGET: &str = "max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout";

#[test]
fn faults_are_listed_with_what_they_missed() {
    insta::assert_snapshot!(shown(&judged(SAMPLE, Some(BUDGET)), None), @r##"
    NO  FAULT         RULE                SOURCE  CALL             NOTICED  BY     RECOVERED  MEANS        HANG  CLEAN  RESULT
     1  http_error    first answer fails  plan    answer            500 ms  again     512 ms  same call  500 ms  yes    ok
     2  hang          rule 2 (hang) <&>   plan    9f86d081884c #3   4.00 s  left      6.00 s  fallback   4.00 s  no     missed
     3  stream_stall  -                   header  summarize              -  -              -  -          3.00 s  no     missed
     4  slow          slow                chaos   plan                   -  -              -  -               -  -      only late

    3 faults · 2 noticed (at most 4.00 s) · 2 recovered from (at most 6.00 s), 1 by fallback · 7.50 s of hang
    budget MISSED by 2 of 3 faults:
      fault 2, hang, "rule 2 (hang) <&>", at 9f86d081884c #3: noticed after 4000 ms, more than 3000 ms; recovered after 6000.5 ms, more than 5000 ms
      fault 3, stream_stall, at summarize: never noticed; not recovered
    "##);
}

#[test]
fn faults_are_listed_without_a_verdict_when_there_is_no_budget() {
    insta::assert_snapshot!(shown(&judged(SAMPLE, None), Some(80)), @r##"
    NO  FAULT         CALL          NOTICED  RECOVERED  MEANS        HANG  RESULT
     1  http_error    answer         500 ms     512 ms  same call  500 ms  -
     2  hang          9f86d081884…   4.00 s     6.00 s  fallback   4.00 s  -
     3  stream_stall  summarize           -          -  -               -  -
     4  slow          plan                -          -  -               -  only late
    no room for SOURCE, RULE, BY, CLEAN; a wider terminal or --json has it

    3 faults · 2 noticed (at most 4.00 s) · 2 recovered from (at most 6.00 s), 1 by fallback · 4.50 s of hang
    "##);
}

#[test]
fn json_has_every_name_for_every_fault() {
    let judged = judged(SAMPLE, Some(BUDGET));
    assert!(!judged.has_passed());
    let json = judged.to_json();
    insta::assert_snapshot!(format!("{:#}", json["faults"][1]), @r##"
    {
      "id": 2,
      "type": "hang",
      "rule": "rule 2 (hang) <&>",
      "source": "plan",
      "key": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "step_id": null,
      "session": null,
      "call": 3,
      "attempt": 1,
      "fired_ms": 1000.0,
      "noticed_by": "left",
      "recovered_by": "fallback",
      "only_delays": false,
      "time_to_detection_ms": 4000.0,
      "time_to_recovery_ms": 6000.5,
      "user_visible_hang_ms": 4000.0,
      "recovered": true,
      "clean_timeout": false,
      "missed": [
        "noticed after 4000 ms, more than 3000 ms",
        "recovered after 6000.5 ms, more than 5000 ms"
      ]
    }
    "##);
    insta::assert_snapshot!(format!("{:#}", json["total"]), @r##"
    {
      "faults": 3,
      "detected": 2,
      "recovered": 2,
      "clean_timeout": 1,
      "time_to_detection_ms": 4000.0,
      "time_to_recovery_ms": 6000.5,
      "user_visible_hang_ms": 7500.0,
      "missed": 2,
      "recovered_by": {
        "same_call": 1,
        "fallback": 1,
        "other_step": 0,
        "other_settings": 0,
        "clean_error": 0,
        "next_call": 0
      }
    }
    "##);
    let names = |fault: &Value| fault.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for fault in json["faults"].as_array().unwrap() {
        assert_eq!(names(fault), names(&json["faults"][0]));
    }
    assert_eq!(json["faults"][3]["user_visible_hang_ms"], Value::Null);
    assert_eq!(json["budget"]["max_recovery_ms"], 5000);
}

#[test]
fn junit_has_a_case_for_every_fault() {
    insta::assert_snapshot!(junit::report(&judged(SAMPLE, Some(BUDGET))), @r##"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="loomrec" tests="4" failures="2" errors="0" skipped="1" time="7.500">
      <testsuite name="recovery" tests="4" failures="2" errors="0" skipped="1" time="7.500">
        <testcase classname="first answer fails" name="fault 1, http_error, &quot;first answer fails&quot;, at answer" time="0.512"/>
        <testcase classname="rule 2 (hang) &lt;&amp;&gt;" name="fault 2, hang, &quot;rule 2 (hang) &lt;&amp;&gt;&quot;, at 9f86d081884c #3" time="6.000">
          <failure message="noticed after 4000 ms, more than 3000 ms; recovered after 6000.5 ms, more than 5000 ms"/>
        </testcase>
        <testcase classname="header" name="fault 3, stream_stall, at summarize" time="3.000">
          <failure message="never noticed; not recovered"/>
        </testcase>
        <testcase classname="slow" name="fault 4, slow, &quot;slow&quot;, at plan" time="0.000">
          <skipped message="the answer was only late"/>
        </testcase>
      </testsuite>
    </testsuites>
    "##);
    insta::assert_snapshot!(junit::report(&judged("", Some(BUDGET))), @r##"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="loomrec" tests="1" failures="0" errors="1" skipped="0" time="0.000">
      <testsuite name="recovery" tests="1" failures="0" errors="1" skipped="0" time="0.000">
        <testcase classname="recovery" name="faults strike" time="0.000">
          <error message="no fault struck: nothing put the budget to the test"/>
        </testcase>
      </testsuite>
    </testsuites>
    "##);
}

#[test]
fn budget_is_kept_when_every_fault_that_counts_keeps_it() {
    let wide = judged(SAMPLE, Some("max_detection_ms=86400000"));
    assert!(!wide.has_passed(), "the third was never noticed");
    let lines: Vec<&str> = SAMPLE.lines().filter(|line| !line.contains("\"id\":3")).collect();
    let judged = judged(&lines.join("\n"), Some("max_detection_ms=86400000"));
    assert!(judged.has_passed());
    assert!(shown(&judged, None).ends_with("budget kept\n"));
}

#[test]
fn nothing_to_judge_is_said() {
    assert_eq!(shown(&judged("", None), None), "no fault struck\n");
    assert_eq!(
        shown(&judged("", Some(BUDGET)), None),
        "no fault struck\nbudget NOT TESTED: no fault put it to the test\n"
    );
    let permitted = judged("", Some(BUDGET)).permitting_none(true);
    assert!(permitted.has_passed() && permitted.is_untested());
    assert_eq!(permitted.to_json()["outcome"], "not_tested");
    let report = junit::report(&permitted);
    assert!(report.contains("errors=\"0\" skipped=\"1\""), "{report}");
    // A budget that is missed stays missed.
    assert!(!judged(SAMPLE, Some(BUDGET)).permitting_none(true).has_passed());
}

#[test]
fn first_mark_after_the_fault_counts() {
    let text = r#"{"outcome":"noticed","fault":1,"by":"again","at_ms":50}
{"outcome":"noticed","fault":1,"by":"left","at_ms":5}
{"outcome":"noticed","fault":1,"by":"left","at_ms":20.5}
{"outcome":"recovered","fault":1,"at_ms":9}
{"outcome":"fault","fault":{"id":1,"type":"hang"}}
{"outcome":"fired","fault":1,"by":null,"at_ms":10}"#;
    let [one] = incidents(text).try_into().unwrap();
    assert_eq!(
        (to_milliseconds(one.marks.detected.unwrap()), one.by.as_deref()),
        (20.5, Some("left"))
    );
    let report = judged(text, None).verdict.scores[0].report;
    assert_eq!(report.time_to_detection.map(to_milliseconds), Some(10.5));
    assert_eq!((report.recovered, report.time_to_recovery), (false, None));
}

#[test]
fn line_that_no_journal_has_is_refused() {
    let told = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        Reading::default().add_line(&value).unwrap_err()
    };
    assert_eq!(told("[]"), "it is not an object");
    assert_eq!(told("{\"a\":1}"), "it has no outcome");
    assert_eq!(told(r#"{"outcome":"fault","fault":3}"#), "its fault is not an object");
    assert_eq!(told(r#"{"outcome":"fault","fault":{"type":"hang"}}"#), "its fault has no number");
    assert_eq!(told(r#"{"outcome":"noticed","fault":{"id":1}}"#), "its fault has no number");
    for time in ["-1", "\"1\"", "1e300", "null"] {
        let line = format!(r#"{{"outcome":"recovered","fault":1,"at_ms":{time}}}"#);
        assert_eq!(told(&line), "at_ms is not a time in milliseconds", "{time}");
    }
    assert_eq!(told(r#"{"outcome":"fault","fault":{"id":1}}"#), "its fault has no type");
    let mut reading = Reading::default();
    for line in [
        json!({ "outcome": "fault", "fault": { "id": 1, "type": "hang" } }),
        json!({ "outcome": "fired", "fault": 1, "at_ms": 0 }),
    ] {
        reading.add_line(&line).unwrap();
        let told = reading.add_line(&line).unwrap_err();
        assert_eq!(told, "fault 1 struck before: these are two journals in one");
    }
}

#[test]
fn marks_of_unknown_faults_are_counted() {
    let mut reading = Reading::default();
    reading.add_line(&json!({ "outcome": "fired", "fault": 9, "at_ms": 1 })).unwrap();
    reading.add_line(&json!({ "outcome": "noticed", "fault": 9, "at_ms": 1 })).unwrap();
    reading.add_line(&json!({ "outcome": "recovered", "fault": 9, "at_ms": 1 })).unwrap();
    assert_eq!(reading.finish(), JournalFaults { strays: 3, ..JournalFaults::default() });
}

#[test]
fn fault_that_did_not_strike_is_left_out() {
    let mut reading = Reading::default();
    reading
        .add_line(&json!({ "outcome": "served", "fault": { "id": 1, "type": "hang" } }))
        .unwrap();
    assert_eq!(reading.finish(), JournalFaults { unfired: 1, ..JournalFaults::default() });
}
