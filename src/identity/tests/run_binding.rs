use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::request_parts::KeyForm;
use crate::{
    BoundRules, IdentityRules, NormalizeRule, PlacePattern, RequestParts, RequestTexts, TextRole,
};

fn values(all: &[(&str, &str)]) -> RunValues {
    all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The text of an answer with this run's paths; `None` if it cannot be bound.
fn rewritten(binding: &RunBinding, text: &str) -> Option<String> {
    let (mut new, mut at) = (String::new(), 0);
    for path in binding.find_paths(text).ok()? {
        new.push_str(&text[at..path.range.start]);
        new.push_str(path.text.unwrap_or(&text[path.range.clone()]));
        at = path.range.end;
    }
    Some(new + &text[at..])
}

/// What is bound if the body `recorded` answers the body `here` under these rules.
fn bound_bodies(
    rules: &BoundRules,
    binding: &RunBinding,
    recorded: &Value,
    here: &Value,
) -> Option<Vec<(String, usize)>> {
    let texts = RequestTexts {
        tool_results: Vec::new(),
        roles: [("/messages/0/content", TextRole::System), ("/messages/1/content", TextRole::User)]
            .into_iter()
            .map(|(place, role)| (role, crate::JsonPointer::parse(place).unwrap()))
            .collect(),
    };
    let [recorded, here] = [recorded, here].map(Value::to_string);
    let json = |body: &str| -> Vec<u8> { body.as_bytes().to_vec() };
    let (recorded, here) = (json(&recorded), json(&here));
    let parts = |body: &'static [u8]| RequestParts {
        form: KeyForm::Chat,
        method: "POST",
        query: "",
        headers: &[],
        body,
    };
    let (recorded, here): (&'static [u8], &'static [u8]) = (recorded.leak(), here.leak());
    let identity = IdentityRules::default();
    let old = rules.recorded_request(
        binding,
        &parts(recorded),
        &crate::parse(recorded).unwrap(),
        &identity,
        &texts,
    )?;
    let new = rules.current_request(
        binding.current_values(),
        &parts(here),
        &crate::parse(here).unwrap(),
        &identity,
        &texts,
    );
    let bound = rules.bind_requests(&old, &new)?;
    Some(bound.values.into_iter().chain(bound.ids).collect())
}

fn of(rules: &[&str]) -> BoundRules {
    let rules = rules.iter().map(|rule| NormalizeRule::parse(rule).unwrap());
    BoundRules::new(rules.collect(), Arc::default())
}

fn asks(system: &str, user: &str) -> Value {
    json!({"model": "m", "messages": [
        {"role": "system", "content": system}, {"role": "user", "content": user}]})
}

/// What is bound if a user's text answers another.
fn bound(binding: &RunBinding, recorded: &str, here: &str) -> Option<Vec<(String, usize)>> {
    bound_bodies(&BoundRules::default(), binding, &asks("s", recorded), &asks("s", here))
}

fn counts(all: &[(&str, usize)]) -> Option<Vec<(String, usize)>> {
    Some(all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect())
}

fn two_runs() -> RunBinding {
    let recorded = [
        ("cwd", "/home/ann/src/app"),
        ("home", "/home/ann"),
        ("tmpdir", "/tmp"),
        ("day", "2026-11-23"),
        ("user", "root"),
        ("host", "prod"),
        ("timezone", "UTC"),
    ];
    let here = [
        ("cwd", "/build/7/out"),
        ("home", "/ci"),
        ("tmpdir", "/tmp"),
        ("day", "2026-11-26"),
        ("user", "runner"),
        ("host", "dev"),
        ("timezone", "Asia/Tokyo"),
    ];
    RunBinding::new(&values(&recorded), &values(&here))
}

#[test]
fn paths_of_this_run_answer_for_those_of_the_recorded_one() {
    let binding = two_runs();
    assert_eq!(
        bound(
            &binding,
            "In /home/ann/src/app, /home/ann/.x, /tmp/x and /p/-home-ann-src-app/y",
            "In /build/7/out, /ci/.x, /tmp/x and /p/-build-7-out/y",
        ),
        counts(&[("cwd", 2), ("home", 1)])
    );
    assert_eq!(rewritten(&binding, "rm /home/ann/src/app/a").unwrap(), "rm /build/7/out/a");
}

#[test]
fn words_and_dates_are_compared() {
    let binding = two_runs();
    for (recorded, here) in [
        ("What is 2026-11-23 minus 3 days?", "What is 2026-11-26 minus 3 days?"),
        ("find the root of it", "find the runner of it"),
        ("is prod up?", "is dev up?"),
        ("Convert 10:00 UTC", "Convert 10:00 Asia/Tokyo"),
        ("Monday, November 23, 2026", "Thursday, November 26, 2026"),
    ] {
        assert_eq!(bound(&binding, recorded, here), None, "{recorded}");
        let with_path = |text: &str, path: &str| format!("{path} {text}");
        let (recorded, here) = (with_path(recorded, "/home/ann"), with_path(here, "/ci"));
        assert_eq!(bound(&binding, &recorded, &here), None, "{recorded}");
    }
}

#[test]
fn request_is_bound_everywhere_or_nowhere() {
    let binding = two_runs();
    assert_eq!(bound(&binding, "/home/ann/x /home/ann/y", "/ci/x /ci/y"), counts(&[("home", 2)]));
    for here in ["/ci/x /home/ann/y", "/home/ann/x /ci/y", "/ci/x /build/7/out/y", "/ci/x /ci/z"] {
        assert_eq!(bound(&binding, "/home/ann/x /home/ann/y", here), None, "{here}");
    }
    // The recorded run had no such path: nothing says what it means.
    assert_eq!(bound(&binding, "copy /home/ann to /ci", "copy /ci to /ci"), None);
    assert_eq!(rewritten(&binding, "copy /home/ann to /ci"), None);
}

#[test]
fn unchanged_path_protects_itself_and_equal_ones_are_not_bound() {
    let old = [("cwd", "/home/ann/proj"), ("home", "/home/ann")];
    let new = [("cwd", "/home/ann/proj"), ("home", "/tmp/h")];
    let binding = RunBinding::new(&values(&old), &values(&new));
    assert_eq!(
        rewritten(&binding, "rm -rf /home/ann/proj/build ~ /home/ann/.x").unwrap(),
        "rm -rf /home/ann/proj/build ~ /tmp/h/.x"
    );
    let equal = values(&[("cwd", "/home/ann"), ("home", "/home/ann")]);
    let apart = values(&[("cwd", "/srv"), ("home", "/hh")]);
    let binding = RunBinding::new(&equal, &apart);
    assert_eq!(rewritten(&binding, "cat /home/ann/.bashrc"), None);
    assert_eq!(bound(&binding, "cat /home/ann/.bashrc", "cat /srv/.bashrc"), None);
    let both = values(&[("cwd", "/srv"), ("home", "/srv")]);
    let binding = RunBinding::new(&equal, &both);
    assert_eq!(rewritten(&binding, "cat /home/ann/.bashrc").unwrap(), "cat /srv/.bashrc");
}

#[test]
fn forms_that_were_one_text_in_the_recorded_run_may_be_two_in_this_one() {
    let recorded =
        values(&[("git_status", "?? a"), ("system_timezone", "Etc/UTC"), ("timezone", "Etc/UTC")]);
    let here = values(&[
        ("git_status", "(clean)"),
        ("system_timezone", "Etc/UTC"),
        ("timezone", "Asia/Tokyo"),
    ]);
    let binding = RunBinding::new(&recorded, &here);
    let rules = of(&["system: Zone {{timezone}}, tree:\\n{{git_status}}\\n---\\n"]);
    let system = |zone: &str, tree: &str| asks(&format!("Zone {zone}, tree:\n{tree}\n---\n"), "hi");
    for (zone, tree, is_bound) in [
        ("Asia/Tokyo", "(clean)", true),
        ("Etc/UTC", "Working tree clean", true),
        ("Europe/Rome", "(clean)", false),
        ("Etc/UTC", "?? a", false),
        ("Etc/UTC", "git: (clean)", false),
    ] {
        let was = system("Etc/UTC", "?? a");
        let bound = bound_bodies(&rules, &binding, &was, &system(zone, tree));
        assert_eq!(bound.is_some(), is_bound, "{zone}, {tree}");
    }
}

#[test]
fn value_in_a_frame_is_bound_and_the_same_text_elsewhere_is_not() {
    let binding = two_runs();
    let rules = of(&["system: <env>{{any}}\\nDate: {{day}}\\nUser: {{user}}\\n</env>"]);
    let system = |day: &str, user: &str, more: &str| {
        format!("<env>\n{more}\nDate: {day}\nUser: {user}\n</env> {more}")
    };
    let ask = |recorded: (&str, &str, &str), here: (&str, &str, &str), user: [&str; 2]| {
        bound_bodies(
            &rules,
            &binding,
            &asks(&system(recorded.0, recorded.1, recorded.2), user[0]),
            &asks(&system(here.0, here.1, here.2), user[1]),
        )
    };
    let (old, new) = (("2026-11-23", "root", "a"), ("2026-11-26", "runner", "a"));
    assert_eq!(ask(old, new, ["hi", "hi"]), counts(&[("day", 1), ("user", 1)]));
    assert_eq!(
        ask(("Mon Nov 23 2026", "root", "a"), ("Thu Nov 26 2026", "runner", "a"), ["x", "x"]),
        counts(&[("day", 1), ("user", 1)])
    );
    // Another form, another day, the recorded day, another user, another word.
    for here in [
        ("Thu Nov 26 2026", "runner", "a"),
        ("2026-11-27", "runner", "a"),
        ("2026-11-23", "runner", "a"),
        ("2026-11-26", "root", "a"),
        ("2026-11-26", "runner", "b"),
    ] {
        assert_eq!(ask(old, here, ["hi", "hi"]), None, "{here:?}");
    }
    // A person's text that looks the same is compared.
    let copy = [system("2026-11-23", "root", "a"), system("2026-11-26", "runner", "a")];
    assert_eq!(ask(old, new, [&copy[0], &copy[1]]), None);
}

#[test]
fn ids_are_compared_up_to_renaming_and_measurements_are_not() {
    let binding = RunBinding::new(&RunValues::default(), &RunValues::default());
    let rules = of(&["system: Took {{duration}}, then {{duration}} in {{hex6}} and {{hex6}}."]);
    let ask = |recorded: &str, here: &str| {
        bound_bodies(&rules, &binding, &asks(recorded, "x"), &asks(here, "x")).is_some()
    };
    let recorded = "Took 0.1, then 0.1 in aaaaaa and aaaaaa.";
    assert!(ask(recorded, "Took 0.1, then 0.2 in bbbbbb and bbbbbb."));
    assert!(!ask(recorded, "Took 0.1, then 0.2 in bbbbbb and cccccc."));
    assert!(!ask(recorded, "Took 0.1, then soon in bbbbbb and bbbbbb."));
    assert!(!ask(recorded, "Took 0.1, then 0.2 in bbbbbb and bbbbbb!"));
}

#[test]
fn references_are_compared_up_to_renaming_unless_an_answer_gave_them() {
    let binding = RunBinding::new(&RunValues::default(), &RunValues::default());
    let places = ["/messages/*/tool_calls/*/id", "/messages/*/tool_call_id"];
    let rules =
        places.map(|place| NormalizeRule::for_references(PlacePattern::parse(place).unwrap()));
    let given = HashSet::from(["call_1".to_owned()]);
    let rules = BoundRules::new(rules.to_vec(), Arc::new(given));
    let body = |one: &str, two: &str, three: &str| {
        json!({"messages": [
            {"role": "assistant", "tool_calls": [{"id": one}, {"id": two}]},
            {"role": "tool", "tool_call_id": three, "content": one}]})
    };
    let ask = |here: &Value| bound_bodies(&rules, &binding, &body("a", "b", "b"), here).is_some();
    let mut renamed = body("c", "d", "d");
    renamed["messages"][1]["content"] = "a".into();
    assert!(ask(&renamed));
    for (one, two, three) in [("c", "d", "c"), ("c", "c", "c"), ("call_1", "d", "d")] {
        let mut other = body(one, two, three);
        other["messages"][1]["content"] = "a".into();
        assert!(!ask(&other), "{one} {two} {three}");
    }
    // The result of a tool is compared, though it is the same text.
    assert!(!ask(&body("c", "d", "d")));
}

#[test]
fn reference_answers_for_one_of_its_form_and_a_text_that_is_no_id_for_itself_alone() {
    let binding = RunBinding::new(&RunValues::default(), &RunValues::default());
    let place = PlacePattern::parse("/messages/*/tool_call_id").unwrap();
    let rules = BoundRules::new(vec![NormalizeRule::for_references(place)], Arc::default());
    let body = |id: &str| json!({"messages": [{"role": "tool", "tool_call_id": id}]});
    let ask = |recorded: &str, here: &str| {
        bound_bodies(&rules, &binding, &body(recorded), &body(here)).is_some()
    };
    let long = "x".repeat(5000);
    assert!(ask("toolu_01A", "call-2_b") && ask("functions.weather:0", "functions.news:12"));
    assert!(ask("call_1|fc_2", "call_3|fc_4") && ask(&long, &"y".repeat(5000)));
    for here in ["", "\n", "call 2", "é", "call.x|fc", &long] {
        assert!(!ask("toolu_01A", here) && !ask(here, "toolu_01A"), "{here:?}");
    }
}

/// Paths that are nested, equal or overlap.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["aa", "bb", "aa-b", "aa.b"]), 1..4)
        .prop_map(|names| format!("/{}", names.join("/")))
}

fn run() -> impl Strategy<Value = RunValues> {
    prop::collection::btree_map(
        prop::sample::select(vec!["cwd", "home", "pwd", "tmpdir", "workspace"]),
        path(),
        0..5,
    )
    .prop_map(|all| all.into_iter().map(|(name, text)| (name.to_owned(), text)).collect())
}

/// Puts this run's paths in the place of recorded ones, written as a definition: a path of the
/// text, cut at its names, has the longest recorded path at its beginning replaced.
fn defined(recorded: &RunValues, here: &RunValues, text: &str) -> Option<String> {
    let mut words = Vec::new();
    for word in text.split(' ') {
        if !word.starts_with('/') {
            words.push(word.to_owned());
            continue;
        }
        let begins = |path: &str| {
            word.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let all = recorded.iter().chain(here.iter()).map(|(_, text)| text);
        let longest = all.filter(|path| path.len() >= 3 && begins(path)).max_by_key(|it| it.len());
        let Some(longest) = longest else {
            words.push(word.to_owned());
            continue;
        };
        let new: HashSet<&str> = recorded
            .iter()
            .filter(|(_, text)| *text == longest)
            .map(|(name, text)| here.get(name).unwrap_or(text))
            .collect();
        let changes =
            recorded.iter().any(|(name, text)| here.get(name).is_some_and(|it| it != text));
        match new.len() {
            1 => words.push(word.replacen(longest, new.iter().next()?, 1)),
            0 if !changes => words.push(word.to_owned()),
            _ => return None,
        }
    }
    Some(words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn texts_have_exactly_the_whole_paths_replaced(
        recorded in run(),
        here in run(),
        words in prop::collection::vec(prop_oneof![path(), Just("aa".to_owned()), Just("x/aa".to_owned())], 0..6),
    ) {
        let text = words.join(" ");
        let binding = RunBinding::new(&recorded, &here);
        prop_assert_eq!(rewritten(&binding, &text), defined(&recorded, &here, &text));
    }
}
