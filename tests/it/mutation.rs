//! The proof that binding excuses nothing else: each word, number, date, path and name of a request
//! is changed in turn, and each change is a miss, except within declared holes.
//!
//! The requests have what each preset's rules find, in long texts of people and tools around it. They
//! are compared as a replay compares them.

mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;

use loomrec_identity::{ClientPreset, IdentityRules, NormalizeRule, RunBinding, RunValues};
use loomrec_recording::RecordedRequest;
use loomrec_recording::normalized_request::bound_rules;
use serde_json::{Map, Value, json};

use texts::{AROUND, KINDS, VALUES};

/// One of the two runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Recorded,
    Here,
}

impl Run {
    fn of<'t>(self, (_, old, new): &(&str, &'t str, &'t str)) -> &'t str {
        if self == Self::Recorded { old } else { new }
    }

    fn values(self) -> RunValues {
        VALUES.iter().map(|pair| (pair.0.to_owned(), self.of(pair).to_owned())).collect()
    }

    fn value(self, name: &str) -> &'static str {
        self.of(VALUES.iter().find(|pair| pair.0 == name).unwrap())
    }

    /// The text of a hole.
    fn hole(self, kind: &str) -> String {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        if let Some(known) = KINDS.iter().find(|known| known.0 == kind) {
            return self.of(known).to_owned();
        }
        match kind {
            "folder" => name(self.value("cwd")),
            "git_overview" if self == Self::Recorded => {
                "`main`\n\n````\nM src/a.rs\n?? notes.txt\n````".to_owned()
            }
            "git_overview" => "`ci/7` (clean)".to_owned(),
            "weekday" if self == Self::Recorded => "Monday".to_owned(),
            "weekday" => "Friday".to_owned(),
            kind => self.value(kind).to_owned(),
        }
    }

    /// A text for which a frame holds, and what people write behind it.
    fn text(self, frame: &str) -> String {
        let frame = frame.replace("\\n", "\n").replace("\\t", "\t");
        let mut text = String::new();
        let mut rest = frame.as_str();
        while let Some((literal, after)) = rest.split_once("{{") {
            let (kind, after) = after.split_once("}}").unwrap();
            text.push_str(literal);
            match kind {
                "any" => text.push_str(&format!(" {AROUND} In {} now. ", self.value("cwd"))),
                kind => text.push_str(&self.hole(kind)),
            }
            rest = after;
        }
        text + rest
    }
}

/// A request of an agent, as data. Several texts of a role are several messages.
fn body(run: Run, rules: &[NormalizeRule]) -> Value {
    let message = |role: &str, text: String| json!({"role": role, "content": text});
    let mut messages = vec![
        message("system", format!("Be brief. {AROUND}")),
        message("user", format!("{AROUND} Work in {}/src.", run.value("cwd"))),
    ];
    let mut members = Map::new();
    members.insert("model".to_owned(), json!("model-2026"));
    members.insert("temperature".to_owned(), json!(0.5));
    members.insert("max_tokens".to_owned(), json!(4096));
    members.insert("seed".to_owned(), json!(7));
    for rule in rules {
        let text = rule.to_string();
        let (place, frame) = text.split_once(": ").unwrap();
        if place == "tool-results" {
            messages.extend(parallel_results(run));
            continue;
        }
        let is_kind = KINDS.iter().any(|(kind, ..)| *kind == frame);
        let text = if is_kind { run.hole(frame) } else { run.text(frame) };
        match place.strip_prefix('/') {
            Some(pointer) => put(&mut members, pointer, text, frame == "epoch"),
            None => {
                // A result of a tool has a call.
                if place == "tool" {
                    let arguments = format!("{{\"path\":\"{}/a.rs\",\"n\":12}}", run.value("cwd"));
                    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
                        {"id": "call_1", "type": "function",
                         "function": {"name": "read_file", "arguments": arguments}}]}));
                }
                let mut one = message(place, format!("{text}\nThen: {AROUND}"));
                if place == "tool" {
                    one["tool_call_id"] = json!("call_1");
                }
                messages.push(one);
            }
        }
    }
    members.insert("messages".to_owned(), Value::Array(messages));
    Value::Object(members)
}

/// Three calls of a tool at once, and their results in the order in which they ended in a run.
fn parallel_results(run: Run) -> Vec<Value> {
    let call = |at: usize| {
        json!({"id": format!("parallel_{at}"), "type": "function", "function":
            {"name": "read_file", "arguments": format!("{{\"path\":\"part-{at}.txt\"}}")}})
    };
    let result = |at: usize| {
        json!({"role": "tool", "tool_call_id": format!("parallel_{at}"),
               "content": format!("Part {at} of {}: {AROUND}", run.value("cwd"))})
    };
    let calls = [0, 1, 2].map(call);
    let results = if run == Run::Recorded { [0, 1, 2] } else { [2, 0, 1] }.map(result);
    let asked = json!({"role": "assistant", "content": null, "tool_calls": calls});
    std::iter::once(asked).chain(results).collect()
}

/// Puts a text at a place. A `*` is a new element.
fn put(members: &mut Map<String, Value>, pointer: &str, text: String, is_number: bool) {
    let value = if is_number { json!(text.parse::<u64>().unwrap()) } else { json!(text) };
    let (list, rest) = match pointer.split_once("/*/") {
        Some((list, rest)) => (Some(list), rest),
        None => (None, pointer),
    };
    let below = rest.rsplit('/').fold(value, |value, name| json!({ name: value }));
    match list {
        Some(list) => {
            let items = members.entry(list).or_insert_with(|| json!([]));
            items.as_array_mut().unwrap().push(below);
        }
        None => merge(members, below.as_object().unwrap()),
    }
}

/// Adds members. Of texts at the same place, the last one stays.
fn merge(members: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (members.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            _ => drop(members.insert(name.clone(), value.clone())),
        }
    }
}

fn request(body: &Value) -> RecordedRequest {
    RecordedRequest {
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        body: body.to_string().into(),
        ..RecordedRequest::default()
    }
}

/// Calls `visit` with each variant of a value in which one word, number or name is changed, and says
/// where it is and what was there.
fn each_change(value: &Value, place: &str, visit: &mut dyn FnMut(Value, &str, &str, &str)) {
    match value {
        Value::String(text) => {
            for (start, end) in words(text) {
                let word = &text[start..end];
                let changed = format!("{}{}{}", &text[..start], other(word), &text[end..]);
                // What is around it says whether it is in a hole.
                visit(Value::String(changed), place, word, &marked(text, start, end));
            }
        }
        Value::Number(number) => {
            let digits = number.to_string();
            let changed: Value = serde_json::from_str(&other(&digits)).unwrap();
            visit(changed, place, &digits, &format!("\u{1}{digits}\u{1}"));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                each_change(item, &format!("{place}/{at}"), &mut |new, place, word, around| {
                    let mut items = items.clone();
                    items[at] = new;
                    visit(Value::Array(items), place, word, around);
                });
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                each_change(item, &format!("{place}/{name}"), &mut |new, place, word, around| {
                    let mut members = members.clone();
                    members[name] = new;
                    visit(Value::Object(members), place, word, around);
                });
                let mut renamed = members.clone();
                let item = renamed.shift_remove(name).unwrap();
                renamed.insert(format!("{name}x"), item);
                visit(Value::Object(renamed), place, name, "");
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// A text with marks around a word.
fn marked(text: &str, start: usize, end: usize) -> String {
    format!("{}\u{1}{}\u{1}{}", &text[..start], &text[start..end], &text[end..])
}

/// The words and numbers of a text.
fn words(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut start) = (Vec::new(), None);
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Another word or number of the same form.
fn other(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let last = letters.iter().rposition(char::is_ascii_alphanumeric).unwrap_or(0);
    letters[last] = match letters[last] {
        '9' => '8',
        'z' => 'y',
        'Z' => 'Y',
        'f' => 'e',
        letter => char::from_u32(u32::from(letter) + 1).unwrap(),
    };
    letters.into_iter().collect()
}

/// Whether the marked word is within an id or a measurement of this run, which a hole declares.
fn is_in_hole(around: &str, kinds: &[String]) -> bool {
    let start = around.find('\u{1}').unwrap_or(0);
    let plain = around.replace('\u{1}', "");
    let end = around.rfind('\u{1}').map_or(0, |end| end - 1);
    kinds.iter().filter_map(|kind| KINDS.iter().find(|known| known.0 == kind)).any(|known| {
        let text = Run::Here.of(known);
        !text.is_empty()
            && plain.match_indices(text).any(|(at, _)| at <= start && end <= at + text.len())
    })
}

/// What became of the changes.
#[derive(Debug, Default)]
struct Tally {
    tried: usize,
    in_holes: usize,
    survivors: Vec<String>,
}

/// Changes each part of a request of this run that a recorded one answers.
fn tally(preset: Option<&'static ClientPreset>, rules: &[NormalizeRule]) -> Tally {
    let identity = match preset {
        Some(_) => IdentityRules::default(),
        None => IdentityRules::default().with_normalize(rules.iter().cloned()),
    };
    let name = preset.map_or("rules", |preset| preset.name);
    let binding = RunBinding::new(&Run::Recorded.values(), &Run::Here.values());
    let bound = bound_rules(&identity, preset, Arc::default());
    let (recorded, here) = (body(Run::Recorded, rules), body(Run::Here, rules));
    let old = request(&recorded);
    let old = old.bound_recorded(&old.recognise_call(), &bound, &binding, &identity);
    let old = old.unwrap_or_else(|| panic!("{name}: it is not bound: {recorded}"));
    let answers = |body: &Value| {
        let new = request(body);
        let call = new.recognise_call();
        let new = new.bound_here(&call, &bound, &Run::Here.values(), &identity).unwrap();
        bound.bind_requests(&old, &new).is_some()
    };
    assert!(answers(&here), "{name}: the recorded request does not answer\n{recorded}\n{here}");
    let kinds: Vec<String> = rules
        .iter()
        .filter_map(NormalizeRule::frame)
        .flat_map(|frame| frame.hole_kinds().map(ToString::to_string))
        .collect();
    let mut tally = Tally::default();
    each_change(&here, "", &mut |changed, place, word, around| {
        tally.tried += 1;
        if !answers(&changed) {
            return;
        }
        // A reference to a call is compared up to renaming, and both of its places are one id.
        match is_in_hole(around, &kinds) {
            true => tally.in_holes += 1,
            false => tally.survivors.push(format!("{name} {place}: {word}")),
        }
    });
    tally
}

/// Rules that a user may write.
fn rules_of_a_user() -> Vec<NormalizeRule> {
    [
        "/metadata/session_id: uuid",
        "/metadata/started_at: epoch",
        "system: You are the release agent.{{any}}\\nBuild {{hex12}} took {{duration}}.",
        "system: Kernel {{os_release}} on {{host}}, {{weekday}}, branch {{git_branch}}.",
        "user: <env>PID {{pid}}, port {{port}}, {{count}} files, at {{time}} on {{date}}</env>",
        "user: Today is {{day}}.",
        "tool: Run {{id}} done\\n",
    ]
    .map(|rule| NormalizeRule::parse(rule).unwrap())
    .into()
}

#[test]
fn each_changed_word_number_and_name_is_a_miss_outside_of_holes() {
    let presets = ClientPreset::all().iter();
    let all = presets.map(|preset| (preset.name, Some(preset), preset.rules.clone()));
    let all = all.chain([("rules of a user", None, rules_of_a_user())]);
    let (mut lines, mut survivors) = (BTreeMap::new(), Vec::new());
    let mut totals = [0; 2];
    for (name, preset, rules) in all {
        // Rules for the same string hold one at a time here: each request has one of them.
        for group in apart(&rules) {
            let found = tally(preset, &group);
            let line: &mut [usize; 2] = lines.entry(name).or_default();
            for (at, count) in [found.tried, found.in_holes].into_iter().enumerate() {
                line[at] += count;
                totals[at] += count;
            }
            survivors.extend(found.survivors);
        }
    }
    println!("{lines:?}");
    assert!(survivors.is_empty(), "{} survivors:\n{}", survivors.len(), survivors.join("\n"));
    let [tried, in_holes] = totals;
    let figures = format!(
        "of {tried} changes, {in_holes}, all within holes for ids and measurements, were answered"
    );
    let docs = std::fs::read_to_string("docs/binding.md").unwrap();
    assert!(docs.contains(&figures), "docs/binding.md has other figures: {figures}");
}

/// Groups of rules of which no two are for the same pointer.
fn apart(rules: &[NormalizeRule]) -> Vec<Vec<NormalizeRule>> {
    let mut groups: Vec<Vec<NormalizeRule>> = Vec::new();
    for rule in rules {
        let text = rule.to_string();
        let place = text.split(": ").next().unwrap().to_owned();
        let is_free = |group: &&mut Vec<NormalizeRule>| {
            let is_same =
                |other: &NormalizeRule| other.to_string().starts_with(&format!("{place}: "));
            !place.starts_with('/') || place.contains('*') || !group.iter().any(is_same)
        };
        match groups.iter_mut().find(is_free) {
            Some(group) => group.push(rule.clone()),
            None => groups.push(vec![rule.clone()]),
        }
    }
    groups
}
