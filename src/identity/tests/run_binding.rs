use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::RunValueFinder;
use crate::request_parts::KeyForm;

fn values(all: &[(&str, &str)]) -> RunValues {
    all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn parts(body: &[u8]) -> RequestParts<'_> {
    RequestParts { form: KeyForm::Chat, method: "POST", query: "", headers: &[], body }
}

fn looked_up(binding: &RunBinding, body: &str) -> Option<BoundRequest> {
    let json = crate::parse(body.as_bytes()).unwrap();
    binding.request(&parts(body.as_bytes()), &json, &IdentityRules::default(), &[])
}

/// What is bound if the text `recorded` answers the text `here`.
fn bound(binding: &RunBinding, recorded: &str, here: &str) -> Option<Vec<(String, usize)>> {
    let [recorded, here] = [recorded, here].map(|text| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
        looked_up(binding, &body.to_string())
    });
    let bound = binding.bind(&recorded?, &here?)?;
    Some(bound.values.into_iter().chain(bound.ids).collect())
}

fn of(counts: &[(&str, usize)]) -> Option<Vec<(String, usize)>> {
    Some(counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect())
}

fn two_runs() -> RunBinding {
    let recorded = values(&[
        ("cwd", "/home/ann/src/app"),
        ("home", "/home/ann"),
        ("day", "2026-11-23"),
        ("user", "root"),
    ]);
    let here = values(&[
        ("cwd", "/build/7/out"),
        ("home", "/ci"),
        ("day", "2026-11-26"),
        ("user", "runner"),
    ]);
    RunBinding::new(&recorded, &here, &[]).unwrap()
}

#[test]
fn values_of_this_run_answer_for_those_of_the_recorded_one() {
    let binding = two_runs();
    assert_eq!(
        bound(
            &binding,
            "In /home/ann/src/app, /home/ann/.x and -home-ann-src-app on Monday, November 23, 2026",
            "In /build/7/out, /ci/.x and -build-7-out on Thursday, November 26, 2026",
        ),
        of(&[("cwd", 2), ("day", 1), ("home", 1)])
    );
    // Another form, another day, another directory.
    for (recorded, here) in [
        ("on 2026-11-23", "on 11/26/2026"),
        ("on 2026-11-23", "on 2026-11-25"),
        ("on 2026-11-22", "on 2026-11-26"),
        ("on 2026-11-26", "on 2026-11-23"),
        ("in /home/ann/src/app", "in /ci"),
        ("in /home/ann/src/apple", "in /build/7/outle"),
        ("in /home/ann/src/app", "in /build/7/out/x"),
    ] {
        assert_eq!(bound(&binding, recorded, here), None, "{recorded} | {here}");
    }
}

#[test]
fn text_that_only_looks_like_a_value_stays_what_it_is() {
    let binding = two_runs();
    assert_eq!(
        bound(
            &binding,
            "root finds the root of /home/ann until 2026-11-23",
            "runner finds the root of /ci until 2026-11-23"
        ),
        of(&[("home", 1), ("user", 1)])
    );
    assert_eq!(
        bound(&binding, "by 2026-11-26, in /home/ann", "by 2026-11-26, in /ci"),
        of(&[("home", 1)])
    );
    assert_eq!(bound(&binding, "the root", "the tree"), None);
}

#[test]
fn value_of_one_run_may_be_another_value_of_the_other() {
    let recorded = values(&[("cwd", "/srv"), ("home", "/root")]);
    let here = values(&[("cwd", "/root"), ("home", "/srv")]);
    let binding = RunBinding::new(&recorded, &here, &[]).unwrap();
    assert_eq!(bound(&binding, "/srv /root", "/root /srv"), of(&[("cwd", 1), ("home", 1)]));
    assert_eq!(bound(&binding, "/srv /root", "/srv /root"), of(&[]));
}

#[test]
fn escapes_do_not_hide_a_value() {
    let binding = two_runs();
    let plain = looked_up(&binding, r#"{"x":"/home/ann/src/app"}"#).unwrap();
    assert_eq!(looked_up(&binding, r#"{"x":"\/home\/ann/src/\u0061pp"}"#).unwrap(), plain);
    assert_eq!(looked_up(&binding, r#"{"/home/ann/src/app":"x"}"#), None);
    let run = values(&[("cwd", "/home/ann/src/app"), ("day", "2026-11-23"), ("user", "ann")]);
    let finder = RunValueFinder::new(run);
    let found = |body: &str| finder.in_body(body.as_bytes());
    assert_eq!(found(r#"{"x":"\/home\/ann/src/app/y"}"#), values(&[("cwd", "/home/ann/src/app")]));
    assert_eq!(found(r#"{"x":["Mon Nov 23 2026"]}"#), values(&[("day", "2026-11-23")]));
    assert_eq!(found(r#"{"x":"annex"}"#), RunValues::default());
}

#[test]
fn nothing_is_bound_between_equal_runs() {
    let run = values(&[("cwd", "/srv"), ("day", "2026-11-23")]);
    assert!(RunBinding::new(&run, &run, &[]).is_none());
    assert!(RunBinding::new(&run, &values(&[("user", "ann")]), &[]).is_none());
}

#[test]
fn value_with_the_name_of_a_kind_of_id_is_not_counted_with_the_ids() {
    let (recorded, here) = (values(&[("port", "8080")]), values(&[("port", "9090")]));
    let rules = [NormalizeRule::parse("/messages: port").unwrap()];
    let binding = RunBinding::new(&recorded, &here, &rules).unwrap();
    let looked_up = |text: &str| {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        looked_up(&binding, &body.to_string()).unwrap()
    };
    let bound = binding.bind(&looked_up("on port 4000"), &looked_up("on port 5000")).unwrap();
    assert_eq!((bound.values.len(), bound.ids.get("port")), (0, Some(&1)));
    assert!(binding.replacer(&bound).is_none());
    let bound = binding.bind(&looked_up("on port 8080"), &looked_up("on port 9090")).unwrap();
    assert_eq!((bound.values.get("port"), bound.ids.len()), (Some(&1), 0));
    assert!(binding.replacer(&bound).is_some());
}

#[test]
fn replacements_are_those_of_the_values_that_were_bound() {
    let binding = two_runs();
    let mut bound = BoundValues::default();
    bound.values.insert("cwd".to_owned(), 1);
    let replacer = binding.replacer(&bound).unwrap();
    let text = "cd /home/ann/src/app/x; ls /home/ann -home-ann-src-app";
    let found: Vec<_> = replacer.find(text).collect();
    assert_eq!(found, [(3..20, "/build/7/out"), (37..54, "-build-7-out")]);
    assert!(binding.replacer(&BoundValues::default()).is_none());
}

fn ids(rules: &[&str]) -> RunBinding {
    let rules: Vec<_> = rules.iter().map(|rule| NormalizeRule::parse(rule).unwrap()).collect();
    RunBinding::new(&RunValues::default(), &RunValues::default(), &rules).unwrap()
}

/// Whether one body answers the other.
fn is_answered(binding: &RunBinding, recorded: &str, here: &str) -> bool {
    let found = [recorded, here].map(|body| looked_up(binding, body));
    let [Some(recorded), Some(here)] = found else { return false };
    binding.bind(&recorded, &here).is_some()
}

const A: &str = "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b";
const B: &str = "1190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b";

#[test]
fn ids_are_renamed_by_first_appearance() {
    let binding = ids(&["/x: uuid", "/y/*/id: uuid"]);
    let body =
        |x: &str, y: &str, z: &str| json!({"x": {"a": x}, "y": [{"id": y}], "z": z}).to_string();
    assert!(is_answered(&binding, &body(A, A, "w"), &body(B, B, "w")));
    assert!(is_answered(&binding, &body(A, B, "w"), &body(B, A, "w")));
    // Ids that are equal in one request and not in the other; an id where no rule holds.
    assert!(!is_answered(&binding, &body(A, A, "w"), &body(A, B, "w")));
    assert!(!is_answered(&binding, &body(A, B, "w"), &body(A, A, "w")));
    assert!(!is_answered(&binding, &body(A, A, A), &body(B, B, B)));
    assert!(!is_answered(&binding, &body(A, A, "w"), &body(B, B, "v")));
    assert!(!is_answered(&binding, &body(A, A, "w"), &body("no id", "no id", "w")));
    let bound = [body(A, A, "w"), body(B, B, "w")].map(|body| looked_up(&binding, &body).unwrap());
    let bound = binding.bind(&bound[0], &bound[1]).unwrap();
    assert_eq!(bound.to_string(), "uuid=2");
    assert_eq!(bound.rules.into_iter().collect::<Vec<_>>(), ["/x: uuid", "/y/*/id: uuid"]);
}

#[test]
fn numbers_are_renamed_where_their_kind_is_declared() {
    let binding = ids(&["/t: epoch", "/d: duration"]);
    let body = |t: &str, d: &str| format!(r#"{{"t":{t},"d":{d}}}"#);
    assert!(is_answered(&binding, &body("1795392426.3857236", "0.5"), &body("1795392499.1", "7")));
    assert!(!is_answered(&binding, &body("1795392426", "1"), &body("5", "1")));
    assert!(!is_answered(&binding, r#"{"d":1,"n":1}"#, r#"{"d":2,"n":2}"#));
}

#[test]
fn what_is_between_anchors_stays_within_its_string() {
    let binding = ids(&["/x: id=(…);"]);
    let body = |one: &str, other: &str| json!({"x": [one, other]}).to_string();
    assert!(is_answered(&binding, &body("id=1; a", "b;"), &body("id=22; a", "b;")));
    assert!(!is_answered(&binding, &body("id=1", "; b"), &body("id=2", "; b")));
    assert!(!is_answered(&binding, &body("id=1; a", "b;"), &body("id=1; b", "b;")));
}

/// Texts of values and of other things, and what is between them.
fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..RECORDED.len() + 4, 1..6)
}

const RECORDED: [&str; 3] = ["/a/rec", "2026-01-02", "ann"];
const HERE: [&str; 3] = ["/b/here", "2026-03-04", "bob"];
const OTHER: [&str; 4] = ["/c/else", "2026-05-06", "eve", "word"];

fn text(pieces: &[usize], values: [&str; 3]) -> String {
    let word = |piece: &usize| values.get(*piece).copied().unwrap_or_else(|| OTHER[piece - 3]);
    pieces.iter().map(word).collect::<Vec<_>>().join(" ")
}

proptest! {
    /// Two requests are the same under a binding exactly if replacing some values of the recorded
    /// run in one gives the other.
    #[test]
    fn requests_are_bound_exactly_if_they_are_equal_after_replacing(
        one in pieces(),
        other in pieces(),
        own in prop::collection::vec(any::<bool>(), 6),
    ) {
        let named = |texts: [&str; 3]| values(&[("cwd", texts[0]), ("day", texts[1]), ("user", texts[2])]);
        let binding = RunBinding::new(&named(RECORDED), &named(HERE), &[]).unwrap();
        let recorded = text(&one, RECORDED);
        // Some words are this run's values, others stay.
        let mixed: Vec<String> = other.iter().zip(own.iter().cycle()).map(|(piece, own)| {
            text(&[*piece], if *own { HERE } else { RECORDED })
        }).collect();
        let here = mixed.join(" ");
        let answers = |(recorded, here): (&str, &str)| {
            recorded == here
                || RECORDED.iter().zip(HERE).any(|pair| pair == (&recorded, here))
        };
        let pairs: Vec<_> = recorded.split(' ').zip(here.split(' ')).collect();
        let expected = one.len() == other.len() && pairs.iter().copied().all(answers);
        let is_plain = !pairs.iter().any(|(one, other)| {
            [one, other].into_iter().any(|text| RECORDED.contains(text) || HERE.contains(text))
        });
        let bound = bound(&binding, &recorded, &here);
        if is_plain {
            prop_assert_eq!(bound, None);
        } else {
            prop_assert_eq!(bound.is_some(), expected, "{} | {}", recorded, here);
        }
    }

    /// Two requests are the same under a rule for ids exactly if renaming the ids of one, each to
    /// another one, gives the other.
    #[test]
    fn requests_with_ids_are_bound_exactly_if_they_are_equal_after_renaming(
        one in prop::collection::vec(0..3_usize, 1..5),
        other in prop::collection::vec(0..3_usize, 1..5),
    ) {
        let body = |ids: &[usize], base: usize| {
            let id = |id: &usize| format!("{:08x}-0000-0000-0000-000000000000", base + id);
            json!({"x": ids.iter().map(id).collect::<Vec<_>>()}).to_string()
        };
        let appearance = |ids: &[usize]| -> Vec<usize> {
            ids.iter().map(|id| ids.iter().position(|other| other == id).unwrap()).collect()
        };
        let is_same = appearance(&one) == appearance(&other);
        let binding = ids(&["/x/*: uuid"]);
        prop_assert_eq!(is_answered(&binding, &body(&one, 1), &body(&other, 2)), is_same);
    }
}
