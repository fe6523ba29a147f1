//! Tests of the presets for coding agents, with a program of their names.

use std::collections::BTreeMap;
use std::fs;

use loomrec_identity::ClientPreset;
use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{MESSAGES, message_answer, message_body};
use crate::support::{Answer, Call, Finished, Scene, Upstream};

/// An agent's program: it says what it was given, and calls with the header of its SDK and an id of
/// its own.
const FAKE: &str = r#"#!/usr/bin/env python3
import json, os, sys, urllib.request, uuid
print(sys.argv[1:], os.environ.get("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"))
settings = os.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
print(settings and json.load(open(settings))["security"]["auth"]["selectedType"])
ignored = os.environ.get("AIDER_AIDERIGNORE")
if ignored: print(open(ignored).read().split())
body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
device, agent = "a" * 64, {"claude": "claude-cli/2.1", "our-agent": "ours/1"}
body["metadata"] = {"user_id": "user_%s_account__session_%s" % (device, uuid.uuid4())}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"content-type": "application/json", "x-api-key": "none",
           "user-agent": agent.get(os.path.basename(sys.argv[0]), "python/3")}
print(json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))["type"])
"#;

/// Runs loomrec with a program of this name as CMD.
fn agent(scene: &Scene, name: &str, args: &[&str]) -> Finished {
    use std::os::unix::fs::PermissionsExt as _;
    let program = scene.path(name);
    fs::write(&program, FAKE).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let line = [args, &["--", program, "exec", "do it"]].concat();
    finish(&mut command(scene.dir(), &line), b"")
}

#[test]
fn preset_of_a_known_program_is_applied_and_said() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let record = ["record", "-r", scene.name(), "--upstream", &to];
    let ended = agent(&scene, "claude", &record).expect(0);
    assert_eq!(ended.stdout, "['exec', 'do it'] 1\nNone\nmessage\n");
    ended.says(&[
        "loomrec: preset claude-code 5: 20 rules, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
         (--preset none)",
    ]);
    // The entry keeps the preset. Its rules are loomrec's, and not written into the recording.
    assert_eq!(scene.takes()[0].1["preset"], "claude-code 5");
    assert_eq!(scene.json()["_loomrec"]["identity"].get("normalize"), None);
    let replay = ["replay", "--strict", "-r", scene.name()];
    agent(&scene, "claude", &replay).expect(0).says(&["1 of them with this run's ids"]);
    let plain = [&replay[..], &["--preset", "none"]].concat();
    let ended = agent(&scene, "claude", &plain);
    assert_eq!((ended.code, &*ended.stdout), (1, "['exec', 'do it'] None\nNone\n"));
    // Without the preset, a new id is a new request.
    fs::remove_file(scene.recording()).unwrap();
    agent(&scene, "claude", &[&record[..], &["--preset", "none"]].concat()).expect(0);
    assert_ne!(agent(&scene, "claude", &plain).code, 0);
    // An entry that was recorded without the preset has no rules of it.
    assert_ne!(agent(&scene, "claude", &replay).code, 0);
}

#[test]
fn preset_gives_arguments_and_settings_that_the_program_needs() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let record = ["record", "-r", scene.name(), "--upstream", &to];
    let ended = agent(&scene, "codex", &record).expect(0);
    let start = "['-c', 'model_provider=loomrec', '-c', 'model_providers.loomrec.name=OpenAI', \
                 '-c', 'model_providers.loomrec.base_url=http://127.0.0.1:";
    assert!(ended.stdout.starts_with(start), "{}", ended.stdout);
    assert!(ended.stdout.contains("=false', 'exec', 'do it'] 1\n"), "{}", ended.stdout);
    let ended = agent(&scene, "gemini", &record).expect(0);
    assert_eq!(ended.stdout, "['exec', 'do it'] 1\ngemini-api-key\nmessage\n");
    agent(&scene, "cline", &record).expect(0).says(&["run cline auth -p openai"]);
    let ended = agent(&scene, "other", &record).expect(0);
    assert!(!ended.stderr.contains("preset"), "{}", ended.stderr);
}

#[test]
fn variables_of_known_agents_are_set_whatever_starts_them() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let record = ["record", "-r", scene.name(), "--upstream", &to];
    let replay = ["replay", "--strict", "-r", scene.name()];
    let said = |ended: &Finished| ended.stdout.lines().next().map(str::to_owned).unwrap();
    for line in [&record[..], &replay] {
        let name = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC";
        let ended = agent(&scene, "script", line);
        assert_eq!(said(&ended), "['exec', 'do it'] 1", "{}", ended.stderr);
        for flags in [&["--preset", "none"][..], &["--no-env", name]] {
            let ended = agent(&scene, "script", &[line, flags].concat());
            assert_eq!(said(&ended), "['exec', 'do it'] None", "{}", ended.stderr);
        }
    }
    // They are printed for a shell, too.
    let text = scene.run(&[&replay[..], &["--print-env"]].concat()).expect(0).stdout;
    assert!(text.contains("export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC='1'\n"), "{text}");
}

#[test]
fn preset_hides_the_recording_beside_what_the_user_ignores() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let record = ["record", "-r", scene.name(), "--upstream", &to];
    let said = |args: &[&str]| {
        let ended = agent(&scene, "aider", args);
        (ended.stdout, ended.stderr)
    };
    // Outside of a repository, it lists no files.
    assert_eq!(said(&record).0, "['exec', 'do it'] 1\nNone\nmessage\n");
    fs::create_dir(scene.path(".git")).unwrap();
    fs::write(scene.path(".aiderignore"), "secret.txt").unwrap();
    let both = format!("['secret.txt', '/{}']", scene.name());
    // The id that this program makes anew is a miss in a replay.
    for args in [&record[..], &["replay", "--strict", "-r", scene.name()]] {
        let (stdout, stderr) = said(args);
        assert!(stdout.contains(&both), "{stdout}");
        assert!(
            stderr.contains("AIDER_CHECK_UPDATE=false, AIDER_AIDERIGNORE (--preset none"),
            "{stderr}"
        );
    }
    assert_eq!(fs::read_to_string(scene.path(".aiderignore")).unwrap(), "secret.txt");
    // A list that the settings name is not replaced.
    fs::write(scene.path(".aider.conf.yml"), "aiderignore: other.txt\n").unwrap();
    let (stdout, stderr) = said(&record);
    assert!(!stdout.contains("secret.txt"), "{stdout}");
    assert!(!stderr.contains("AIDER_AIDERIGNORE"), "{stderr}");
}

#[test]
fn presets_are_listed_and_shown() {
    let scene = Scene::new();
    let list = scene.run(&["config", "--preset"]).expect(0).stdout;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let all = [
        "aider",
        "cecli",
        "claude-code",
        "cline",
        "codex",
        "continue",
        "copilot",
        "gemini-cli",
        "gptme",
        "grok-cli",
        "kilo",
        "mini-swe-agent",
        "mistral-vibe",
        "open-interpreter",
        "opencode",
        "openhands",
        "pi",
        "qwen-code",
    ];
    assert_eq!(names, all);
    let page = scene.run(&["config", "--preset", "claude-code"]).expect(0).stdout;
    for part in [
        "claude-code 5, for claude\n\nTested with:\n  2.1.332, 2.1.197\n\nRules, as --normalize takes \
         them:\n",
        "\n  /metadata/user_id: user_{{hex64}}_account_{{any}}_session_{{uuid}}\n",
        "\nVariables:\n  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n",
    ] {
        assert!(page.contains(part), "{page}");
    }
    let page = scene.run(&["config", "--preset", "aider"]).expect(0).stdout;
    assert!(
        page.ends_with("\nA file:\n  AIDER_AIDERIGNORE: .aiderignore, and the recording\n"),
        "{page}"
    );
    let json = scene.run(&["config", "--preset", "codex", "--json"]).expect(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["user_agents"][0], "codex_exec/");
    scene.run(&["config", "--preset", "claude"]).expect(2).says(&["there is no preset claude: "]);
    let ended = scene.run(&["replay", "-r", "run.json", "--preset", "claude"]).expect(2);
    ended.says(&["--preset: there is no preset claude: did you mean claude-code?"]);
}

#[test]
fn presets_name_the_versions_that_they_were_tested_with() {
    let programs = include_str!("../agents/programs.txt");
    let mut tested: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in programs.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split(' ');
        let name = words.next().unwrap().split('@').next().unwrap();
        let package = words.nth(1).unwrap();
        let (_, version) = package.rsplit_once("==").or_else(|| package.rsplit_once('@')).unwrap();
        tested.entry(name).or_default().push(version);
    }
    for preset in ClientPreset::all() {
        assert_eq!(preset.tested_with(), tested[preset.name], "{}", preset.name);
    }
}

#[test]
fn miss_of_a_known_agent_names_its_preset() {
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let ask = |prompt: &str, agent: &str| {
        let call = Call::post(MESSAGES, message_body(prompt).to_string());
        call.header("anthropic-version: 2023-06-01").header(&format!("user-agent: {agent}"))
    };
    let agents = ["claude-cli/2.1.332 (external, cli)", "ours/1"];
    for (agent, has_note) in agents.into_iter().zip([true, false]) {
        let scene = Scene::new();
        scene.recorded(&upstream, &[ask("Count the files in the folder.", agent)]);
        let server = scene.replay(&["--strict", "--receipt", "receipt.json"]);
        let missed = server.call(&ask("Count the lines in the folder.", agent)).expect(422).text();
        server.stop().expect(1);
        let note = "compared under the preset claude-code 5, which was tested with claude-code \
                    2.1.332 and 2.1.197";
        assert_eq!(missed.contains(note), has_note, "{missed}");
        let receipt = fs::read(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_slice(&receipt).unwrap();
        let preset = &receipt["mismatches"][0]["nearest"]["preset"];
        let expected = json!({"name": "claude-code", "version": 5,
                              "tested_with": ["2.1.332", "2.1.197"]});
        assert_eq!(*preset, if has_note { expected } else { Value::Null });
    }
}

#[test]
fn preset_of_the_project_has_rules_for_a_program_of_its_own() {
    let scene = Scene::new();
    let settings = "[presets.ours]\nprograms = [\"our-agent\"]\n\
                    rules = [\"/metadata/user_id: {{any}}_session_{{uuid}}\"]\nnote = \"log in first\"\n";
    fs::write(scene.path("loomrec.toml"), settings).unwrap();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let record = ["record", "-r", scene.name(), "--upstream", &to];
    agent(&scene, "our-agent", &record)
        .expect(0)
        .says(&["loomrec: preset ours of loomrec.toml: 1 rule (--preset none); log in first"]);
    assert_eq!(
        scene.json()["_loomrec"]["identity"]["normalize"],
        json!(["/metadata/user_id: {{any}}_session_{{uuid}}"])
    );
    let replay = ["replay", "--strict", "-r", scene.name()];
    agent(&scene, "our-agent", &replay).expect(0).says(&["1 of them with this run's ids"]);
    let listed = scene.run(&["config", "--preset"]).expect(0).stdout;
    assert!(listed.contains("of loomrec.toml  for our-agent  rules: 1"), "{listed}");
    // A strict replay takes the rules of the recording alone.
    fs::remove_file(scene.recording()).unwrap();
    agent(&scene, "our-agent", &[&record[..], &["--preset", "none"]].concat()).expect(0);
    let ended = agent(&scene, "our-agent", &replay);
    assert_ne!(ended.code, 0);
    ended.says(&["set aside by --strict: normalize /metadata/user_id: {{any}}_session_{{uuid}} (presets.ours)"]);
    agent(&scene, "our-agent", &["replay", "-r", scene.name()]).expect(0);
}

#[test]
fn preset_of_the_project_that_cannot_be_read_is_refused() {
    let scene = Scene::new();
    for (text, why) in [
        ("[presets]\nours = 1\n", "loomrec.toml:2: presets.ours: expected a table"),
        (
            "[presets.ours]\nrules = [\"/x: guid\"]\n",
            "loomrec.toml:2: presets.ours.rules: failed to read",
        ),
        ("[presets.ours]\nrules = \"/x: uuid\"\n", "expected a list of texts"),
        ("[presets.ours]\nrule = []\n", "did you mean \"rules\"?"),
        ("[presets.ours]\nvariables = {A = \"b\"}\n", "presets.ours has no \"variables\""),
    ] {
        fs::write(scene.path("loomrec.toml"), text).unwrap();
        let ended = scene.run(&["config", "--preset"]).expect(2);
        assert!(ended.stderr.contains(why), "{why}: {}", ended.stderr);
    }
}
