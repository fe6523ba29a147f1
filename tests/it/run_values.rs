//! Tests of values that vary from run to run: a recording made in one directory, home and day
//! answers a run in another, if that was asked for.

mod unbound;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, chat_answer, chat_body, chat_events};
use crate::support::{Answer, Call, Finished, Scene, Upstream};

/// An agent: it says where it works, and does what the answer says, streamed or not.
const AGENT: &str = r#"
import datetime, json, os, sys, urllib.error, urllib.request
def post(body):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"content-type": "application/json", "authorization": "Bearer none"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        sys.exit("status %d" % error.code)
    print("bound", answer.headers.get("x-loomrec-bound"))
    return answer.read().decode()
home, day = os.environ["HOME"], datetime.datetime.now()
words = {"cwd": os.getcwd(), "home": home, "iso": day.strftime("%Y-%m-%d"),
         "long": day.strftime("%A, %B ") + str(day.day) + day.strftime(", %Y"),
         "slug": os.getcwd().replace("/", "-"), "env": os.environ.get("TENANT", "")}
body = {"model": "m", "messages": [{"role": "user", "content": sys.argv[1].format(**words)}]}
print(json.loads(post(body))["choices"][0]["message"]["content"])
body["stream"] = True
events = [line[6:] for line in post(body).splitlines() if line.startswith("data: {")]
deltas = [json.loads(event)["choices"] for event in events]
print("".join(c[0]["delta"].get("content") or "" for c in deltas if c))
"#;

const PROMPT: &str = "You work in {cwd} (notes: {home}/notes/{slug}). Today is {long}.";

/// The frame of the day in it.
const FRAME: &str = "user: You work in {{any}}. Today is {{day}}.";

/// Has the paths bound, and the day in its frame.
const BIND: [&str; 3] = ["--bind", "--normalize", FRAME];

/// Answers with a command in the directory that the prompt names.
fn upstream() -> Upstream {
    Upstream::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let prompt = body["messages"][0]["content"].as_str().unwrap().to_owned();
        let cwd = prompt.split(" in ").nth(1).unwrap_or("/nowhere ").split(' ').next().unwrap();
        let words = format!("cat {cwd}/hello.txt");
        if body["stream"] == json!(true) {
            let pieces: Vec<String> = words
                .as_bytes()
                .chunks(7)
                .map(|piece| String::from_utf8_lossy(piece).into())
                .collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            return Answer::events(&chat_events(&pieces));
        }
        Answer::json(200, chat_answer(&words))
    })
}

/// A working directory and a home directory.
struct Place {
    cwd: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new(scene: &Scene, cwd: &str, home: &str) -> Self {
        let place = Self { cwd: scene.path(cwd), home: scene.path(home) };
        fs::create_dir_all(&place.cwd).unwrap();
        fs::create_dir_all(&place.home).unwrap();
        place
    }

    fn command(&self, args: &[&str], prompt: &str) -> Command {
        let program = ["--", "python3", "-c", AGENT, prompt];
        let args: Vec<&str> = args.iter().chain(&program).copied().collect();
        let mut command = command(&self.cwd, &args);
        command.env("HOME", &self.home).env_remove("PWD").env("TZ", "UTC");
        command
    }

    fn path(&self) -> &str {
        self.cwd.to_str().unwrap()
    }
}

/// Records the agent in one place. Returns the other place.
fn recorded(scene: &Scene, more: &[&str], prompt: &str) -> (Place, Place) {
    let (here, there) =
        (Place::new(scene, "ann/src/app", "ann"), Place::new(scene, "b/7/out", "ci"));
    record(scene, &here, more, prompt);
    (here, there)
}

fn record(scene: &Scene, place: &Place, more: &[&str], prompt: &str) {
    let upstream = upstream();
    let (file, to) = (file(scene), format!("openai={}", upstream.url()));
    let args = [&["record", "-r", &file, "--upstream", &to], more].concat();
    let ended = finish(&mut place.command(&args, prompt), b"").expect(0);
    assert!(!ended.stdout.contains("bound c"), "{}", ended.stdout);
}

fn file(scene: &Scene) -> String {
    scene.recording().to_str().unwrap().to_owned()
}

/// Replays the agent, three days later in UTC.
fn replayed(scene: &Scene, place: &Place, more: &[&str], prompt: &str) -> Finished {
    let file = file(scene);
    let args = [&["replay", "--strict", "-r", &file], more].concat();
    finish(place.command(&args, prompt).env("TZ", "UTC-72"), b"")
}

fn receipt(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn recording_answers_in_another_directory_home_and_day() {
    let scene = Scene::new();
    let (here, there) = recorded(&scene, &BIND, PROMPT);
    let values = scene.takes()[0].1["run_values"].clone();
    assert_eq!(values["cwd"], here.path());
    assert_eq!(values.as_object().unwrap().len(), 4, "{values}");
    let (to, journal) = (scene.path("receipt.json"), scene.path("run.jsonl"));
    let (to_text, journal_text) = (to.to_str().unwrap(), journal.to_str().unwrap());
    let flags = ["--fail-unused", "--receipt", to_text, "--journal", journal_text];
    let ended = replayed(&scene, &there, &flags, PROMPT).expect(0);
    let bound = "bound cwd=2, day=1, home=1\n";
    let said = format!("cat {}/hello.txt\n", there.path());
    assert_eq!(ended.stdout, format!("{bound}{said}{bound}{said}"));
    let bound = format!("this run's values: cwd {} for {}, ", there.path(), here.path());
    ended.says(&["2 served, 2 of them with this run's cwd, day, home", &bound]);
    let home = |place: &Place| place.home.to_str().unwrap().to_owned();
    let (was, is) = (&receipt(&to)["in_force"]["bound"], &receipt(&to)["bound"]["values"]);
    let day = [&is[1]["recorded"], &is[1]["now"]];
    assert_ne!(day[0], day[1]);
    let value = |name: &str, texts: [&str; 2], places: u64| json!({"name": name, "recorded": texts[0], "now": texts[1], "calls": 2, "places": places});
    let day = day.map(|day| day.as_str().unwrap());
    assert_eq!((&was[0]["name"], &was[0]["recorded"]), (&json!("cwd"), &json!(here.path())));
    assert_eq!(
        receipt(&to)["bound"],
        json!({
            "calls": 2,
            "values": [
                value("cwd", [here.path(), there.path()], 4),
                value("day", day, 2),
                value("home", [&home(&here), &home(&there)], 2),
            ],
            "rules": [{"rule": FRAME, "calls": 2}],
            "tool_results": 0,
        })
    );
    let line: Value =
        serde_json::from_str(fs::read_to_string(&journal).unwrap().lines().next().unwrap())
            .unwrap();
    assert_eq!(
        (&line["matched_by"], &line["bound"]),
        (&json!("bound"), &json!("cwd=2, day=1, home=1"))
    );
    // Where it was recorded, the bytes are the recorded ones.
    let file = file(&scene);
    let mut same = here.command(&["replay", "--strict", "-r", &file], PROMPT);
    let ended = finish(&mut same, b"").expect(0);
    let said = format!("bound None\ncat {}/hello.txt\n", here.path());
    assert_eq!(ended.stdout, said.repeat(2));
}

#[test]
fn anything_else_that_differs_is_a_miss() {
    let scene = Scene::new();
    let (_, there) = recorded(&scene, &BIND, PROMPT);
    for prompt in [
        "You work in {cwd} (notes: {home}/notes/{slug}). Today was {long}.",
        "You work in {cwd} (notes: {home}/notes/{slug}). Today is {iso}.",
        "You work in {home} (notes: {cwd}/notes/{slug}). Today is {long}.",
        "You work in {cwd}/x (notes: {home}/notes/{slug}). Today is {long}.",
        "You work in {cwd} (notes: {home}/notes/{slug}). Today is Tuesday, January 6, 2015.",
        "You work in {cwd} (notes: {home}/notes/{slug}) . Today is {long}.",
    ] {
        let ended = replayed(&scene, &there, &[], prompt);
        assert!(ended.stderr.contains("status 422"), "{prompt}: {}", ended.stderr);
        // What is bound is no difference.
        let shown = ended.stderr.lines().filter(|line| !line.contains("in force: "));
        let shown = shown.collect::<String>();
        assert!(!shown.contains("ann/src/app"), "{prompt}: {}", ended.stderr);
        assert_eq!(ended.code, 1, "{prompt}");
    }
}

#[test]
fn value_of_ones_own_is_bound_by_its_name() {
    let prompt = "Work in {cwd} for {env}";
    let scene = Scene::new();
    let here = Place::new(&scene, "one", "home");
    let upstream = upstream();
    let (file, to) = (file(&scene), format!("openai={}", upstream.url()));
    let rule = "user: Work in {{any}} for {{var:tenant}}";
    let args = ["record", "-r", &file, "--upstream", &to, "--var", "tenant=acme"];
    let args = [&args[..], &["--normalize", rule]].concat();
    finish(here.command(&args, prompt).env("TENANT", "acme"), b"").expect(0);
    let replay = |more: &[&str], tenant: &str| {
        let args = [&["replay", "--strict", "-r", &file], more].concat();
        finish(here.command(&args, prompt).env("TENANT", tenant), b"")
    };
    let ended = replay(&["--var", "tenant=globex"], "globex").expect(0);
    assert!(ended.stdout.starts_with("bound tenant=1\n"), "{}", ended.stdout);
    assert_eq!(replay(&[], "globex").code, 1);
    assert_eq!(replay(&["--var", "customer=globex"], "globex").code, 1);
    assert_eq!(replay(&["--var", "tenant="], "ab").code, 2);
}

#[test]
fn nothing_is_bound_unless_it_is_asked_for() {
    let scene = Scene::new();
    let (here, there) = recorded(&scene, &[], PROMPT);
    assert_eq!(scene.takes()[0].1.get("run_values"), None);
    replayed(&scene, &there, &[], PROMPT).says(&["status 422"]);
    // Where only the replay asks for it, nothing says what a recorded path was.
    replayed(&scene, &there, &["--bind"], PROMPT).says(&["status 422"]);
    let file = file(&scene);
    finish(&mut here.command(&["replay", "--strict", "-r", &file], PROMPT), b"").expect(0);
}

#[test]
fn requests_that_would_become_one_are_not_bound() {
    let scene = Scene::new();
    let answers = ["1", "2"].map(|text| Answer::json(200, chat_answer(text)));
    let upstream = Upstream::script(answers.into());
    for place in ["/srv/a", "/srv/b"] {
        let server = scene.record(&upstream, &["--var", &format!("place={place}")]);
        server.call(&chat(&format!("in {place}"))).expect(200);
        server.stop().expect(0);
    }
    // The same requests get their answers. What could be either gets none.
    let server = scene.replay(&["--strict", "--var", "place=/srv/c"]);
    for place in ["/srv/a", "/srv/b"] {
        server.call(&chat(&format!("in {place}"))).expect(200);
    }
    server.call(&chat("in /srv/c")).expect(422);
    server.stop().expect(1).says(&["entries that answer only exactly the same call"]);
}

#[test]
fn path_of_this_run_that_the_recorded_run_did_not_have_is_not_bound() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    let server = scene.record(&upstream, &["--var", "place=/srv/a"]);
    server.call(&chat("copy from /srv/a to /srv/b")).expect(200);
    server.stop().expect(0);
    for (place, status) in [("/srv/b", 422), ("/srv/c", 200)] {
        let server = scene.replay(&["--strict", "--var", &format!("place={place}")]);
        server.call(&chat(&format!("copy from {place} to /srv/b"))).expect(status);
        server.stop().expect(i32::from(status != 200));
    }
}

#[test]
fn call_that_a_known_agent_records_again_elsewhere_replaces_its_earlier_take() {
    let scene = Scene::new();
    let at =
        |place: &str| ["--preset", "aider", "--var", &format!("place={place}")].map(str::to_owned);
    let record = |upstream: &Upstream, place: &str, more: &[&str]| {
        let flags = at(place);
        let flags: Vec<&str> =
            flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        scene.record(upstream, &flags)
    };
    let answers = ["1", "2", "3", "4"].map(|text| Answer::json(200, chat_answer(text)));
    let upstream = Upstream::script(answers.into());
    let server = record(&upstream, "/srv/a", &[]);
    for prompt in ["in /srv/a", "in /srv/a", "only in /srv/a"] {
        server.call(&chat(prompt)).expect(200);
    }
    server.stop().expect(0);
    let server = record(&upstream, "/srv/b", &[]);
    server.call(&chat("in /srv/b")).expect(200);
    server.stop().expect(0).says(&["1 earlier take replaced: the same calls, recorded in"]);
    let server = scene.replay(&["--strict", "--fail-unused", "--var", "place=/srv/c"]);
    let answer = server.call(&chat("only in /srv/c")).expect(200);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "3");
    server.stop().expect(1).says(&["2 of 3 takes unused"]);
    // A failed call replaces nothing.
    let failing = Upstream::always(Answer::json(500, "{}"));
    let server = record(&failing, "/srv/d", &["--keep-failures"]);
    server.call(&chat("only in /srv/d")).expect(500);
    server.stop();
    let server = scene.replay(&["--var", "place=/srv/a"]);
    server.call(&chat("only in /srv/a")).expect(200);
    server.stop();
}

#[test]
fn take_of_another_question_is_never_replaced() {
    let scene = Scene::new();
    let answers = ["yes", "no"].map(|text| Answer::json(200, chat_answer(text)));
    let upstream = Upstream::script(answers.into());
    for day in ["2026-11-26", "2026-11-27"] {
        let flags = ["--bind", "--var", &format!("day={day}"), "--var", "place=/srv/a"];
        let server = scene.record(&upstream, &flags);
        server.call(&chat(&format!("Is {day} a holiday in /srv/a?"))).expect(200);
        let ended = server.stop().expect(0);
        assert!(!ended.stderr.contains("replaced"), "{}", ended.stderr);
    }
    assert_eq!(scene.takes().len(), 2);
    let server = scene.replay(&["--strict", "--var", "day=2026-11-28", "--var", "place=/srv/a"]);
    server.call(&chat("Is 2026-11-28 a holiday in /srv/a?")).expect(422);
    server.stop().expect(1);
}

#[test]
fn missed_call_keeps_its_values_until_it_is_accepted() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("in /srv/b/x")));
    scene.recorded(&upstream, &[chat("other")]);
    let server = scene.replay(&["--pending", "missed.json", "--var", "place=/srv/b"]);
    server.call(&chat("in /srv/b")).expect(422);
    server.stop();
    let url = format!("openai={}", upstream.url());
    let send = ["rerecord", "--pending", "missed.json", scene.name(), "--upstream", &url, "--yes"];
    finish(command(scene.dir(), &send).env("OPENAI_API_KEY", "sk-none"), b"").expect(0);
    scene.run(&["review", scene.name(), "--accept"]).expect(0);
    let server = scene.replay(&["--strict", "--var", "place=/srv/c"]);
    let answer = server.call(&chat("in /srv/c")).expect(200);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "in /srv/c/x");
    assert_eq!(answer.header("x-loomrec-bound"), Some("place=1"));
    server.stop().expect(0);
}

#[test]
fn new_episodes_are_those_that_no_binding_answers() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    let server = scene.record(&upstream, &["--var", "place=/srv/a"]);
    server.call(&chat("in /srv/a")).expect(200);
    server.stop().expect(0);
    let server = scene.record(&upstream, &["--mode", "new_episodes", "--var", "place=/srv/b"]);
    server.call(&chat("in /srv/b")).expect(200);
    server.call(&chat("new in /srv/b")).expect(200);
    server.stop().expect(0);
    assert_eq!(upstream.requests(), 2);
    assert_eq!(scene.takes().len(), 2);
}

#[test]
fn length_and_coding_of_a_bound_answer_are_right() {
    use std::io::Write as _;
    let scene = Scene::new();
    let text = chat_answer("in /srv/a");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let upstream = Upstream::always(Answer::whole(
        200,
        &["content-type: application/json", "content-encoding: gzip"],
        &packed,
    ));
    let server = scene.record(&upstream, &["--var", "place=/srv/a"]);
    let call = |place: &str| {
        Call::post("/openai/v1/chat/completions", chat_body(place).to_string())
            .header("accept-encoding: gzip")
    };
    server.call(&call("/srv/a")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--var", "place=/srv/longer"]);
    let answer = server.call(&call("/srv/longer")).expect(200);
    let expected = text.replace("/srv/a", "/srv/longer");
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.header("content-length"), Some(expected.len().to_string().as_str()));
    assert_eq!(answer.text(), expected);
    server.stop().expect(0);
}
