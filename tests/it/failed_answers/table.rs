//! What each command says of each failure, as docs/failed-answers.md shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use serde_json::Value;

use super::call_form::{self, CallForm};
use super::failure_form::FailureForm;
use crate::support::client::{Call, End};
use crate::support::loomrec::{command, finish};
use crate::support::{Scene, Server, Upstream};

/// The upstreams that the calls need.
const UPSTREAMS: [&str; 8] =
    ["openai", "anthropic", "gemini", "bedrock", "ollama", "cohere", "perplexity", "voyage"];

/// The variables of their keys.
const KEYS: [&str; 8] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "OLLAMA_API_KEY",
    "CO_API_KEY",
    "PERPLEXITY_API_KEY",
    "VOYAGE_API_KEY",
];

/// What the commands say of one failure.
#[derive(Debug, Default)]
struct Verdicts {
    record: String,
    exit_code: i32,
    rerecord: String,
    stats: String,
    ls: String,
    verify: String,
}

/// The forms in which a call can fail, each with the call that fails so.
fn failures(form: &CallForm) -> Vec<(FailureForm, Call)> {
    let can = |failure: &FailureForm| failure.answer(form).is_some();
    let named = |failure: FailureForm| (failure, form.call(failure.name()));
    FailureForm::ALL.into_iter().filter(can).map(named).collect()
}

/// An upstream that fails each call in the form that its prompt names, with these headers.
fn failing(form: CallForm, headers: &'static [&str]) -> Upstream {
    Upstream::start(move |request| {
        let text = request.text();
        let failure =
            FailureForm::ALL.into_iter().find(|it| text.contains(&format!("\"{}\"", it.name())));
        let answer = failure.and_then(|it| it.answer(&form)).unwrap();
        headers.iter().fold(answer, |answer, line| answer.header(line))
    })
}

fn record(scene: &Scene, upstream: &Upstream, more: &[&str]) -> Server {
    let mut args = scene.record_args(&upstream.url(), more);
    for name in &UPSTREAMS[5..] {
        args.extend(["--upstream".into(), format!("{name}={}", upstream.url()).into()]);
    }
    Server::start(scene.dir(), &args)
}

/// Records good answers, then each failure alone. The good takes stay.
fn recorded_over_good(form: &CallForm, scene: &Scene, found: &mut [Verdicts]) {
    let good = Upstream::always(form.good());
    let server = record(scene, &good, &[]);
    for (_, call) in failures(form) {
        server.call(&call).expect(200);
    }
    server.stop().expect(0);
    let before = scene.text();
    let upstream = failing(*form, &[]);
    for ((failure, call), verdicts) in failures(form).into_iter().zip(found) {
        let server = record(scene, &upstream, &["--receipt", "receipt.json"]);
        server.call(&call);
        let ended = server.stop();
        let name = format!("{} {} {failure:?}", form.provider, form.operation.name());
        assert_eq!(scene.text(), before, "{name}: the good take stays");
        let text = std::fs::read(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_slice(&text).unwrap();
        let failed = receipt["failed_calls"].as_object().unwrap();
        assert_eq!(failed.len(), 1, "{name}: {failed:?} {}", ended.stderr);
        assert!(ended.stderr.contains("every call failed"), "{name}: {}", ended.stderr);
        verdicts.record = failed.keys().next().unwrap().clone();
        verdicts.exit_code = ended.code;
    }
}

/// Sends the good takes again while the upstream fails. None of the answers is kept.
fn sent_again(form: &CallForm, scene: &Scene, found: &mut [Verdicts]) {
    let upstream = failing(*form, &["retry-after: 1000"]);
    let args = ["rerecord", "run.json", "--yes", "--json"];
    let mut command = command(scene.dir(), &args);
    for name in UPSTREAMS {
        command.args(["--upstream".to_owned(), format!("{name}={}", upstream.url())]);
    }
    command.envs(KEYS.map(|key| (key, "a-key-0123456789abcdef")));
    let ended = finish(&mut command, b"").expect(1);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["kept"], 0, "{told}");
    let failed = told["failed"].as_array().unwrap();
    assert_eq!(failed.len(), found.len(), "{told}");
    found.iter_mut().for_each(|verdicts| verdicts.rerecord = "not kept".to_owned());
}

/// Records the failures alone, reads them with every command, and replays them.
fn read_and_replayed(form: &CallForm, found: &mut [Verdicts]) {
    let scene = Scene::new();
    let upstream = failing(*form, &[]);
    let server = record(&scene, &upstream, &["--keep-failures"]);
    let came: Vec<_> = failures(form).iter().map(|(_, call)| server.call(call)).collect();
    server.stop().expect(0);
    let json = |args: &[&str]| -> Value {
        let ended = scene.run(args);
        assert_eq!(ended.code, 0, "{args:?}: {}{}", ended.stdout, ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let rows = json(&["ls", "run.json", "--json"]);
    let stats = json(&["stats", "run.json", "--json"]);
    let verified = json(&["verify", "run.json", "--json"]);
    assert_eq!(stats["all"]["failed"], found.len(), "{stats}");
    let problems = verified["files"][0]["problems"].as_array().unwrap();
    for (at, verdicts) in found.iter_mut().enumerate() {
        let row = &rows[at];
        verdicts.ls = row["answer"].as_str().unwrap().to_owned();
        assert!(row["answer_reason"].is_string(), "{row}");
        verdicts.stats = "failed".to_owned();
        let key = row["key"].as_str().unwrap();
        let of_answer = |problem: &&Value| {
            problem["key"] == key && matches!(problem["kind"].as_str(), Some("end" | "failed"))
        };
        let told: Vec<&Value> = problems.iter().filter(of_answer).collect();
        assert!(told.len() <= 1, "{told:?}");
        let severity = told.first().and_then(|problem| problem["severity"].as_str());
        verdicts.verify = severity.unwrap_or("–").to_owned();
    }
    let server = scene.replay(&["--strict"]);
    for ((failure, call), came) in failures(form).iter().zip(came) {
        let again = server.call(call);
        let name = format!("{} {} {failure:?}", form.provider, form.operation.name());
        assert_eq!((again.status, again.end), (came.status, came.end), "{name}");
        assert_eq!(again.body(), came.body(), "{name}");
        let is_cut = matches!(failure, FailureForm::Reset | FailureForm::EarlyClose);
        assert_eq!(again.end != End::Complete, is_cut, "{name}");
    }
    server.stop().expect(0);
}

fn verdicts(form: &CallForm) -> Vec<Verdicts> {
    let mut found: Vec<Verdicts> = failures(form).iter().map(|_| Verdicts::default()).collect();
    let scene = Scene::new();
    recorded_over_good(form, &scene, &mut found);
    sent_again(form, &scene, &mut found);
    read_and_replayed(form, &mut found);
    found
}

impl Verdicts {
    /// Its cells in the table.
    fn cells(&self) -> String {
        let Self { record, rerecord, stats, ls, verify, exit_code } = self;
        format!("`{record}` | {rerecord} | {stats} | `{ls}` | {verify} | {exit_code}")
    }
}

/// The verdicts of all calls, made on several threads, in the order of the calls.
fn verdicts_of_all(forms: &[CallForm]) -> Vec<Vec<Verdicts>> {
    let (next, rows) = (Mutex::new(0..forms.len()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let taken = next.lock().unwrap().next();
                let Some(at) = taken else { return };
                let found = verdicts(&forms[at]);
                rows.lock().unwrap().insert(at, found);
            }
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    rows.into_inner().unwrap().into_values().collect()
}

/// The calls that can fail in a form, by the cells of their verdicts.
fn calls_by_cells<'f>(
    failure: FailureForm,
    forms: &'f [CallForm],
    found: &[Vec<Verdicts>],
) -> Vec<(String, Vec<&'f CallForm>)> {
    let mut groups: Vec<(String, Vec<&CallForm>)> = Vec::new();
    for (form, verdicts) in forms.iter().zip(found) {
        let place = failures(form).iter().position(|(it, _)| *it == failure);
        let Some(place) = place else { continue };
        let cells = verdicts[place].cells();
        match groups.iter_mut().find(|(other, _)| *other == cells) {
            Some((_, calls)) => calls.push(form),
            None => groups.push((cells, vec![form])),
        }
    }
    groups
}

/// Two tables: what is said of each failure, with a row for the calls of which the same is said,
/// and the calls.
fn table() -> String {
    let forms = call_form::all();
    let found = verdicts_of_all(&forms);
    let mut text =
        "| failure | of | record | rerecord | stats | ls | verify | exit code of record |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for failure in FailureForm::ALL {
        let groups = calls_by_cells(failure, &forms, &found);
        let is_whole = groups.len() == 1;
        for (cells, calls) in groups {
            let name = |form: &&CallForm| match (is_whole, form.framing.is_some()) {
                (true, true) => "streams".to_owned(),
                (true, false) => "complete answers".to_owned(),
                (false, _) => {
                    format!("{} {} ({})", form.provider, form.operation.name(), form.form_name())
                }
            };
            let names: BTreeSet<String> = calls.iter().map(name).collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            text += &format!("| {} | {names} | {cells} |\n", failure.name());
        }
    }
    text += "\n| provider | operation | forms |\n|---|---|---|\n";
    let same = |a: &CallForm, b: &CallForm| (a.provider, a.operation) == (b.provider, b.operation);
    for calls in forms.chunk_by(same) {
        let names: Vec<&str> = calls.iter().map(CallForm::form_name).collect();
        let (provider, operation) = (calls[0].provider, calls[0].operation.name());
        text += &format!("| {provider} | {operation} | {} |\n", names.join(", "));
    }
    text
}

#[test]
fn failed_answers_are_told_as_the_table_in_the_documents_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/failed-answers.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- table:begin -->\n\n").unwrap();
    let (there, after) = rest.split_once("\n<!-- table:end -->").unwrap();
    let table = table();
    if std::env::var_os("LOOMREC_WRITE_DOCS").is_some() {
        let page = format!("{before}<!-- table:begin -->\n\n{table}\n<!-- table:end -->{after}");
        return std::fs::write(path, page).unwrap();
    }
    let how = "to write it anew: LOOMREC_WRITE_DOCS=1 cargo test-all --test it failed_answers";
    assert!(there == table, "{how}\n{table}");
}
