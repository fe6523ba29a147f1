//! What needs trust: refused and named before, in force and named afterwards.

use serde_json::{Value, json};

use super::{Project, calling};
use crate::support::loomrec::free_port;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Server, Upstream};

/// The settings that send calls to the stranger.
fn upstreams(project: &Project) -> String {
    format!("[upstreams]\nopenai = \"{}\"\n", project.address())
}

#[test]
fn calls_go_to_a_strangers_host_only_from_a_trusted_file() {
    let project = Project::new();
    project.settings(&upstreams(&project));
    let forward = ["replay", "--on-miss", "forward", "-r", "run.json"];
    let record = [&["record", "-r", "new.json"][..], &calling()].concat();
    let lines = [
        &record[..],
        &[&forward[..], &calling()].concat(),
        &["rerecord", "run.json", "--yes"],
        &["doctor", "--online"],
    ];
    for line in lines {
        project.refuses(line, "loomrec.toml:2: upstream = \"openai=http://0.0.0.0:");
    }
    assert!(!project.scene.path("new.json").exists());
    project.trust();
    let ended = project.run(&record).expect(0);
    ended.says(&["upstreams: openai → http://0.0.0.0:", "settings of a trusted file: upstream"]);
    assert_eq!(project.stranger.requests(), 1);
    project.run(&["rerecord", "run.json", "--yes"]).expect(0).says(&["settings of a trusted file"]);
    project.run(&[&forward[..], &calling()].concat()).expect(0);
    project.run(&["doctor", "--online"]).expect(0);
    assert_eq!(project.stranger.requests(), 4);
}

#[test]
fn changed_file_asks_again_and_the_former_content_does_not() {
    let project = Project::new();
    let text = upstreams(&project);
    project.settings(&text);
    project.trust();
    project.settings(&format!("{text}\n"));
    let record = [&["record", "-r", "new.json"][..], &calling()].concat();
    project.refuses(&record, "it has changed since you trusted it");
    project.settings(&text);
    project.run(&record).expect(0);
    // The same content at another place is another file.
    let other = Project::new();
    other.settings(&text);
    other.refuses(&record, "nobody has trusted it on this machine");
}

#[test]
fn addresses_of_providers_and_of_this_machine_need_no_trust() {
    let project = Project::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
    project.settings(&format!(
        "[upstreams]\nopenai = \"{}\"\ngroq = \"https://api.groq.com/openai\"\n",
        upstream.url()
    ));
    project.run(&[&["record", "-r", "new.json"][..], &calling()].concat()).expect(0);
    assert_eq!(upstream.requests(), 1);
    project.run(&["trust"]).expect(0);
    // An address that is typed replaces that of the file.
    project.settings(&upstreams(&project));
    let typed = format!("openai={}", upstream.url());
    let line = [&["record", "-r", "new.json", "--upstream", &typed][..], &calling()].concat();
    project.run(&line).expect(0);
    let other = [&["record", "-r", "new.json", "--upstream", "groq=http://x.test"][..], &calling()];
    project.refuses(&other.concat(), "upstream");
}

#[test]
fn settings_without_reach_keep_working_beside_untrusted_ones() {
    let project = Project::new();
    project.settings(&format!("recording = \"run.json\"\n{}", upstreams(&project)));
    // A replay that forwards nothing calls no upstream.
    project.run(&["replay", "--allow-empty", "--", "true"]).expect(0);
    project.run(&["replay", "--strict", "--allow-empty", "--", "true"]).expect(0);
    for command in ["ls", "verify", "stats", "config", "show", "trust --list", "doctor"] {
        let words: Vec<&str> = command.split(' ').collect();
        project.run(&words).expect(0);
    }
    let elsewhere = ["record", "-r", "new.json", "--allow-empty", "--mode", "none", "--", "true"];
    project.run(&elsewhere).expect(4);
    assert_eq!(project.stranger.connections(), 0);
}

#[test]
fn typed_flags_and_variables_need_no_trust() {
    let project = Project::new();
    project.settings("on-miss = \"default\"\nlisten = \"0.0.0.0:0\"\nallow-remote = true\n");
    let typed = ["--on-miss", "error", "--listen", "127.0.0.1:0", "--allow-empty"];
    let line = [&["replay", "-r", "run.json"][..], &typed, &["--", "true"]].concat();
    project.refuses(&line, "loomrec.toml:3: allow-remote");
    let mut command = project.command(&line);
    let ended = crate::support::loomrec::finish(command.env("LOOMREC_ALLOW_REMOTE", "0"), b"");
    ended.expect(0);
}

#[test]
fn each_setting_of_who_may_call_is_refused_and_then_named_under_strict_too() {
    let project = Project::new();
    for (text, shown) in [
        ("listen = \"127.0.0.2:0\"", "listen"),
        ("listen = \"0.0.0.0:0\"\nallow-remote = true", "allow-remote"),
        ("allow-origin = \"http://page.test\"", "allow-origin"),
        ("redact = \"secret-[0-9]+\"", "redact"),
    ] {
        project.settings(&format!("[replay]\n{text}\n"));
        let strict = ["replay", "--strict", "--receipt", "r.json", "-r", "run.json"];
        let line = [&strict[..], &["--allow-empty", "--", "true"]].concat();
        project.refuses(&line, &format!("{shown} = "));
        project.trust();
        let ended = project.run(&line).expect(0);
        let named = ended.stderr.matches(&format!("trusted file: {}", text_of(text))).count();
        assert_eq!(named, 2, "in the line and in the verdict: {}", ended.stderr);
        let receipt = std::fs::read(project.scene.path("r.json")).unwrap();
        let receipt: Value = serde_json::from_slice(&receipt).unwrap();
        let trusted = receipt["in_force"]["trusted_settings"].as_array().unwrap();
        let names: Vec<_> = trusted.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert!(names.contains(&shown), "{receipt}");
    }
}

/// The beginning of the name of the first setting in a text.
fn text_of(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

#[test]
fn redaction_of_a_file_needs_no_trust_where_it_only_removes() {
    let project = Project::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
    project.settings("redact = \"secret-[0-9]+\"\n");
    let record = ["record", "-r", "new.json", "--upstream", &format!("openai={}", upstream.url())];
    project.run(&[&record[..], &calling()].concat()).expect(0);
    project.run(&["replay", "-r", "run.json", "--allow-empty", "--", "true"]).expect(0);
}

#[test]
fn what_lets_calls_leave_a_replay_needs_trust() {
    let project = Project::new();
    for text in [
        "on-miss = \"forward\"",
        "on-miss = \"default\"",
        "no-guard = true",
        "no-env = \"OPENAI_BASE_URL\"",
        "public-url = \"http://page.test\"",
        "otel = true",
    ] {
        project.settings(&format!("{text}\n"));
        let line = [&["replay", "-r", "run.json"][..], &calling()].concat();
        project.refuses(&line, text_of(text));
        // The value that a flag has anyway needs none.
        let off = text.replace("true", "false");
        if off != text {
            project.settings(&format!("{off}\n"));
            project.run(&["replay", "-r", "run.json", "--allow-empty", "--", "true"]).expect(0);
        }
    }
    project.settings("on-miss = \"error\"\n");
    project.run(&["replay", "-r", "run.json", "--allow-empty", "--", "true"]).expect(0);
    project.settings("[rerecord]\nyes = true\n");
    project.refuses(&["rerecord", "run.json"], "yes");
}

#[test]
fn recordings_in_object_stores_need_trust_however_the_file_names_them() {
    let project = Project::new();
    let pointer = json!({
        "format": "loomrec-pointer/1", "url": "s3://stranger/agent", "takes": 1, "bytes": 1,
        "manifest": format!("sha256:{}", "0".repeat(64)),
    });
    std::fs::write(project.scene.path("agent.remote.json"), pointer.to_string()).unwrap();
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        command.env("AWS_ENDPOINT_URL", project.address()).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "0123456789abcdef");
        crate::support::loomrec::finish(command.env("AWS_REGION", "us-east-1"), b"")
    };
    for name in ["s3://stranger/agent", "agent.remote.json"] {
        project.settings(&format!("recording = \"{name}\"\n"));
        let said = format!("recording = \"{name}");
        for line in [
            &[&["record"][..], &calling()].concat()[..],
            &["replay", "--", "true"],
            &["replay", "--strict", "--", "true"],
            &["ls"],
            &["show"],
            &["show", "79c0"],
            &["stats"],
            &["verify"],
            &["ui"],
            &["export", "--to", "har"],
        ] {
            run(line).expect(2).says(&["loomrec.toml:1", &said, "loomrec trust"]);
        }
        assert_eq!(project.stranger.connections(), 0);
        // A recording that is named is used, and the setting is not.
        run(&["ls", "run.json"]).expect(0);
        run(&["show", "run.json"]).expect(0);
    }
    // Where a pointer file points belongs to what is trusted, and its state does not.
    let pointer = |url: &str, manifest: &str| {
        let text = pointer.to_string().replace("s3://stranger/agent", url).replace("000", manifest);
        std::fs::write(project.scene.path("agent.remote.json"), text).unwrap();
        run(&["ls"])
    };
    project.trust();
    let before = project.stranger.connections();
    assert_ne!(pointer("s3://stranger/agent", "111").code, 2);
    assert!(project.stranger.connections() > before);
    let before = project.stranger.connections();
    pointer("s3://elsewhere/agent", "000").expect(2).says(&["(points to s3://elsewhere/agent)"]);
    assert_eq!(project.stranger.connections(), before);
    project.settings("recording = \"s3://stranger/agent\"\n");
    project.trust();
    assert_ne!(run(&["ls"]).code, 2);
    assert!(project.stranger.connections() > before);
}

#[test]
fn quiet_of_a_file_does_not_hide_where_calls_go_and_what_is_in_force() {
    let project = Project::new();
    project.settings(&format!("quiet = true\n{}", upstreams(&project)));
    project.trust();
    let record = [&["record", "-r", "new.json"][..], &calling()].concat();
    let ended = project.run(&record).expect(0);
    assert!(!ended.stderr.contains("loomrec listening on"), "{}", ended.stderr);
    ended.says(&["upstreams: openai → http://0.0.0.0:", "in force: settings of a trusted file"]);
    let typed = [&["record", "-q", "-r", "new.json"][..], &calling()].concat();
    assert_eq!(project.run(&typed).expect(0).stderr, "");
    let plan = project.run(&["rerecord", "run.json", "--yes"]).expect(0);
    plan.says(&["openai → http://0.0.0.0:"]);
    project.settings("quiet = true\nignore = [\"/user\"]\n");
    let replay = ["replay", "-r", "run.json", "--allow-empty", "--", "true"];
    project.run(&replay).expect(0).says(&["in force: ignored: /user"]);
}

#[test]
fn server_of_a_trusted_file_listens_where_it_says() {
    let project = Project::new();
    let port = free_port().to_string();
    project.settings(&format!(
        "[replay]\npublic-url = [\"http://127.0.0.1:{port}\", \"http://gateway.test\"]\n"
    ));
    project.trust();
    let args = ["replay", "--listen", &port, "-r", "run.json"];
    let server = Server::spawn(&mut project.command(&args));
    server.call(&chat("hi").header("host: gateway.test")).expect(200);
    server.stop().expect(0);
}
