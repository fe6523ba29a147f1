//! Tests of the project's settings, of the settings in force, and of the doctor.

use std::fs;

use serde_json::Value;

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Server, Upstream};

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("live")))
}

fn configured(scene: &Scene, words: &[&str]) -> Value {
    let done = finish(&mut command(scene.dir(), words), b"").expect(0);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn the_file_is_found_upward_and_its_paths_are_its_own() {
    let (scene, upstream) = (Scene::new(), upstream());
    let text = format!(
        "recording = \"kept/run.json\"\nignore = [\"/user\"]\n[upstreams]\nopenai = \"{}\"\n",
        upstream.url()
    );
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    let below = scene.path("a/b");
    fs::create_dir_all(&below).unwrap();
    let server =
        Server::spawn(command(&below, &["record", "--listen", "127.0.0.1:0"]).env("X", "1"));
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    assert!(scene.path("kept/run.json").exists());
    let server = Server::spawn(&mut command(&below, &["replay", "--listen", "127.0.0.1:0"]));
    let mut other = chat_body("hi");
    other["user"] = "someone else".into();
    server.call(&Call::post("/openai/v1/chat/completions", other.to_string())).expect(200);
    server.stop().expect(0);
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let scene = Scene::new();
    fs::write(
        scene.path("loomrec.toml"),
        "seed = 1\nspeed = 2.5\n[replay]\nseed = 2\nredact = [\"a+\"]\n[record]\nmode = \"once\"\n",
    )
    .unwrap();
    let all = configured(&scene, &["config", "--json"]);
    let of = |command: &str, name: &str| all["commands"][command][name].clone();
    assert_eq!(of("replay", "seed")["value"][0], "2");
    assert!(of("replay", "seed")["from"].as_str().unwrap().ends_with("loomrec.toml:4"));
    assert_eq!(of("record", "mode")["value"][0], "once");
    assert_eq!(of("replay", "latency")["source"], "default");
    let mut line = command(scene.dir(), &["config", "replay", "--json"]);
    let done = finish(line.env("LOOMREC_SEED", "9").env("LOOMREC_REDACT", "b+"), b"").expect(0);
    let all: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(all["commands"]["replay"]["seed"]["from"], "LOOMREC_SEED");
    let redact = &all["commands"]["replay"]["redact"];
    assert_eq!(redact["value"], serde_json::json!(["b+", "a+"]));
    assert!(all["commands"].get("record").is_none());
}

#[test]
fn each_upstream_of_the_file_has_its_own_line() {
    let scene = Scene::new();
    let text = "ignore = [\"/a\", \"/b\"]\n[upstreams]\n# the gateway\nopenai = \"http://a.test\"\n\n\
                groq = \"http://b.test\"\n[record]\nredact = []\n[record.upstreams]\n\
                ollama = \"http://c.test\"\n";
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    let text = finish(&mut command(scene.dir(), &["config", "replay"]), b"").expect(0).stdout;
    let expected = "replay\n  upstream  openai=http://a.test  loomrec.toml:4\n            \
                    groq=http://b.test    loomrec.toml:6\n";
    let text = text.replace("  ignore    /a /b                 loomrec.toml:1\n", "");
    assert!(text.contains(expected), "{text}");
    let all = configured(&scene, &["config", "--json"]);
    let of = |command: &str, name: &str| all["commands"][command][name]["from"].clone();
    assert_eq!(of("replay", "upstream"), "loomrec.toml:4, loomrec.toml:6");
    assert_eq!(of("replay", "ignore"), "loomrec.toml:1");
    assert_eq!(of("record", "upstream"), "loomrec.toml:10");
    assert_eq!(of("record", "redact"), "loomrec.toml:8");
    let mut line = command(scene.dir(), &["config", "replay", "--json"]);
    let done = finish(line.env("LOOMREC_UPSTREAM", "cohere=http://d.test"), b"").expect(0);
    let all: Value = serde_json::from_str(&done.stdout).unwrap();
    let upstream = &all["commands"]["replay"]["upstream"];
    assert_eq!(upstream["from"], "LOOMREC_UPSTREAM, loomrec.toml:4, loomrec.toml:6");
    assert_eq!(upstream["source"], "environment and file");
}

#[test]
fn a_setting_that_does_not_exist_names_the_nearest() {
    let scene = Scene::new();
    for (text, line, hint) in [
        ("recordng = \"a\"\n", 1, "did you mean \"recording\"?"),
        ("\n[replay]\nend_order = 3\n", 3, "did you mean \"end-order\"?"),
        ("[repaly]\n", 1, "did you mean \"replay\"?"),
        ("control-token = \"x\"\n", 1, "control-token is a secret, and belongs in no file"),
        ("strict = true\n", 1, "strict is a flag only: nothing but the command line decides"),
        ("[replay]\nstrict = true\n", 2, "run loomrec replay --strict"),
        ("seed = [1]\n", 1, "seed: expected one text or number"),
        ("[replay]\nfail-unused = \"yes\"\n", 2, "expected true or false"),
        ("[upstreams]\nopenai = 3\n", 2, "expected an address"),
        ("seed = \n", 1, "this is not TOML"),
        ("recording = 3\n", 1, "recording: expected a text"),
        ("\n[replay]\nspeed = \"fast\"\n", 3, "speed: it does not take \"fast\""),
        ("listen = \"nope\"\n", 1, "listen: it does not take \"nope\""),
        ("seed = -1\n", 1, "seed: it does not take \"-1\""),
        ("latency = \"normale\"\n", 1, "did you mean \"normal\"?"),
    ] {
        fs::write(scene.path("loomrec.toml"), text).unwrap();
        let done = finish(&mut command(scene.dir(), &["config"]), b"").expect(2);
        let place = format!("loomrec.toml:{line}: ");
        assert!(
            done.stderr.contains(&place) && done.stderr.contains(hint),
            "{text}: {}",
            done.stderr
        );
    }
    let done = finish(&mut command(scene.dir(), &["config", "--config", "no.toml"]), b"").expect(2);
    assert!(done.stderr.contains("no.toml"), "{}", done.stderr);
}

#[test]
fn a_value_that_cannot_be_points_to_the_file() {
    let scene = Scene::new();
    for (text, wrong) in [
        ("[replay]\nlatency = \"sometimes\"\n", "sometimes"),
        ("speed = 0\n", "--speed 0"),
        ("[upstreams]\nopenai = \"gw.test\"\n", "openai=gw.test"),
        ("ignore = \"user\"\n", "--ignore user"),
    ] {
        fs::write(scene.path("loomrec.toml"), text).unwrap();
        let done = finish(&mut command(scene.dir(), &["replay", "-r", "x.json"]), b"").expect(2);
        let named = done.stderr.contains(wrong) && done.stderr.contains("loomrec.toml");
        assert!(named, "{}", done.stderr);
    }
}

#[test]
fn passwords_in_addresses_are_told_by_no_message() {
    let scene = Scene::new();
    let say = |words: &[&str], code: i32| {
        let mut line = command(scene.dir(), words);
        let variable =
            "anthropic=https://me:hunter2@gw.test groq=https://me:hunter3@gw.test/?q=hunter4";
        finish(line.env("LOOMREC_UPSTREAM", variable), b"").expect(code)
    };
    let file = "[upstreams]\nopenai = \"https://me:hunter1@gw.test/\"\n";
    fs::write(scene.path("loomrec.toml"), file).unwrap();
    for (words, code) in [
        (&["config"][..], 0),
        (&["config", "--json"], 0),
        (&["record", "--help"], 0),
        (&["replay", "-r", "x.json"], 2),
        (&["replay", "-r", "x.json", "--upstream", "ftp://me:hunter5@gw.test"], 2),
        (
            &[
                "record",
                "-r",
                "x.json",
                "--upstream",
                "http://u:hunter6@a",
                "--upstream",
                "http://b",
            ],
            2,
        ),
    ] {
        let done = say(words, code);
        let told = format!("{}{}", done.stdout, done.stderr);
        assert!(!told.contains("hunter"), "{words:?}: {told}");
    }
}

#[test]
fn the_doctor_says_what_is_wrong_with_a_recording() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let file = scene.recording();
    let file = file.to_str().unwrap();
    let fine = finish(&mut command(scene.dir(), &["doctor", file]), b"").expect(0);
    assert!(fine.stdout.contains("readable: 1 call"), "{}", fine.stdout);
    let missing = finish(&mut command(scene.dir(), &["doctor", "nowhere.json"]), b"").expect(0);
    assert!(missing.stdout.contains("loomrec record -r nowhere.json"), "{}", missing.stdout);
    fs::write(scene.path("bad.json"), "{\"a\": ").unwrap();
    let wrong = finish(&mut command(scene.dir(), &["doctor", "bad.json", "--json"]), b"").expect(1);
    let document: Value = serde_json::from_str(&wrong.stdout).unwrap();
    let levels: Vec<_> = document["findings"].as_array().unwrap().iter().collect();
    assert!(levels.iter().any(|f| f["level"] == "wrong" && f["about"] == "bad.json"), "{document}");
}

#[test]
fn the_doctor_names_misspelled_upstreams() {
    let scene = Scene::new();
    let text = "[upstreams]\nopenai = \"http://a.test\"\nantropic = \"http://b.test\"\n\
                [record.upstreams]\nopnai = \"http://me:hunter2@c.test\"\n";
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    let findings = |variables: &[(&str, &str)], code: i32| {
        let mut line = command(scene.dir(), &["doctor", "--json"]);
        let done = finish(line.envs(variables.iter().copied()), b"").expect(code);
        assert!(!done.stdout.contains("hunter"), "{}", done.stdout);
        let all: Value = serde_json::from_str(&done.stdout).unwrap();
        let wrong = all["findings"].as_array().unwrap().iter().filter(|f| f["level"] == "wrong");
        wrong.map(|f| (f["about"].clone(), f["remedy"].clone())).collect::<Vec<_>>()
    };
    let of = |place: &str, name: &str, meant: &str| {
        let remedy = format!(
            "did you mean {meant}? If {name} is an upstream of its own, give it another name"
        );
        (Value::from(place), Value::from(remedy))
    };
    let mut expected = vec![of("loomrec.toml:3", "antropic", "anthropic")];
    expected.push(of("loomrec.toml:5", "opnai", "openai"));
    assert_eq!(findings(&[], 1), expected);
    expected.insert(0, of("LOOMREC_UPSTREAM", "groqq", "groq"));
    let variable = ("LOOMREC_UPSTREAM", "groqq=http://d.test gw=http://e.test");
    assert_eq!(findings(&[variable], 1), expected);
}

#[test]
fn the_doctor_asks_upstreams_only_when_told_to() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(401, "{}"));
    let text = format!("[upstreams]\nopenai = \"{}\"\n", upstream.url());
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    let doctor = |words: &[&str]| {
        let mut line = command(scene.dir(), words);
        finish(line.env("OPENAI_API_KEY", "sk-canary"), b"")
    };
    doctor(&["doctor"]).expect(0);
    assert_eq!(upstream.requests(), 0);
    let done = doctor(&["doctor", "--online"]).expect(1);
    assert_eq!(upstream.requests(), 1);
    assert!(done.stdout.contains("does not take the key in OPENAI_API_KEY"), "{}", done.stdout);
    assert!(!done.stdout.contains("sk-canary"));
}

#[test]
fn the_doctor_sends_a_key_only_to_where_its_sdk_is_pointed() {
    let scene = Scene::new();
    let (gateway, filed) = (
        Upstream::always(Answer::json(200, "{}")),
        Upstream::always(Answer::json(400, "{\"error\": \"API key not valid\"}")),
    );
    let text = format!("[upstreams]\ngemini = \"{}\"\n", filed.url());
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    let mut line = command(scene.dir(), &["doctor", "--online"]);
    line.env("OPENAI_API_KEY", "sk-canary").env("OPENAI_BASE_URL", format!("{}/v1", gateway.url()));
    line.env("GEMINI_API_KEY", "canary");
    line.env("AZURE_OPENAI_API_KEY", "canary").env("AZURE_OPENAI_ENDPOINT", gateway.url());
    let done = finish(&mut line, b"").expect(1);
    assert_eq!(gateway.received()[0].target, "/v1/models");
    assert_eq!(gateway.received()[0].header("authorization"), Some("Bearer sk-canary"));
    assert!(done.stdout.contains("takes the key in OPENAI_API_KEY"), "{}", done.stdout);
    // Azure has nothing that shows whether a key is valid, so the key is not sent.
    assert_eq!(gateway.received()[1].header("api-key"), None);
    assert!(!done.stdout.contains("the key in AZURE_OPENAI_API_KEY"), "{}", done.stdout);
    // Gemini reports that with a 400.
    assert_eq!(filed.requests(), 1);
    assert!(done.stdout.contains("does not take the key in GEMINI_API_KEY"), "{}", done.stdout);
}

#[test]
fn addresses_add_up_when_they_are_given_in_both_ways() {
    let scene = Scene::new();
    let text = "upstream = [\"one=http://a.test\"]\n[upstreams]\ntwo = \"http://b.test\"\n";
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    let all = configured(&scene, &["config", "--json"]);
    let told = &all["commands"]["record"]["upstream"]["value"];
    assert_eq!(*told, serde_json::json!(["one=http://a.test", "two=http://b.test"]));
}

#[test]
fn what_is_in_force_cannot_harm_the_terminal() {
    let scene = Scene::new();
    fs::write(scene.path("loomrec.toml"), "run = \"a\\u001b[2Jb\"\n").unwrap();
    let done = finish(&mut command(scene.dir(), &["config"]), b"").expect(0);
    assert!(done.stdout.contains("2Jb") && !done.stdout.contains('\u{1b}'), "{}", done.stdout);
}

#[test]
fn the_file_holds_where_a_variable_is_set_to_nothing() {
    let scene = Scene::new();
    fs::write(scene.path("loomrec.toml"), "seed = 3\n").unwrap();
    let mut line = command(scene.dir(), &["config", "replay", "--json"]);
    let done = finish(line.env("LOOMREC_SEED", "").env("LOOMREC_SPEED", ""), b"").expect(0);
    let all: Value = serde_json::from_str(&done.stdout).unwrap();
    let told = &all["commands"]["replay"];
    assert_eq!((&told["seed"]["value"][0], &told["seed"]["source"]), (&"3".into(), &"file".into()));
    assert_eq!(told["speed"]["source"], "default");
}

#[test]
fn help_and_the_version_are_told_whatever_the_file_says() {
    let scene = Scene::new();
    fs::write(scene.path("loomrec.toml"), "no TOML").unwrap();
    for words in [&["--version"][..], &["--help"], &["replay", "--help"]] {
        let done = finish(&mut command(scene.dir(), words), b"").expect(0);
        assert!(done.stdout.contains("loomrec"), "{words:?}: {}", done.stdout);
    }
    finish(&mut command(scene.dir(), &["replay"]), b"").expect(2);
}

#[test]
fn the_doctor_asks_where_an_sdks_variable_points() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, "{}"));
    for (variable, tail, path) in [
        ("OPENAI_BASE_URL", "/v1", "/v1/models"),
        ("ANTHROPIC_BASE_URL", "", "/v1/models"),
        ("ANTHROPIC_BASE_URL", "/v1", "/v1/models"),
    ] {
        let before = upstream.requests();
        let mut line = command(scene.dir(), &["doctor", "--online"]);
        let address = format!("{}{tail}", upstream.url());
        let done = finish(line.env(variable, address), b"").expect(0);
        assert_eq!(upstream.requests(), before + 1, "{}", done.stdout);
        let asked = upstream.received();
        assert_eq!(asked.last().unwrap().target, path, "{variable}{tail}");
    }
}

#[test]
fn config_shows_what_is_set_and_the_rest_when_asked() {
    let scene = Scene::new();
    let text = |words: &[&str]| scene.run(words).expect(0).stdout;
    let none = text(&["config"]);
    assert_eq!(
        none,
        "settings  no loomrec.toml here or above\nnothing is set: all flags have their defaults; \
         loomrec config --all lists them\n"
    );
    fs::write(scene.path("loomrec.toml"), "seed = 1\n[replay]\nspeed = 2.0\n").unwrap();
    let told = text(&["config"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines,
        [
            "settings  loomrec.toml",
            "",
            "record",
            "  seed  1  loomrec.toml:1",
            "",
            "replay",
            "  speed  2.0  loomrec.toml:3",
            "  seed   1    loomrec.toml:1",
            "",
            "all other flags have their defaults: loomrec config --all lists them",
        ]
    );
    let all = text(&["config", "--all"]);
    assert!(all.lines().count() > 40 && !all.contains("--all"), "{all}");
    assert!(all.contains("latency") && all.contains("  default\n"), "{all}");
}
