//! Tests of bad input, which is refused before the server listens, with place and remedy.

use std::io::Write as _;
use std::net::TcpListener;

use crate::support::shape::{CHAT, chat, chat_answer, message};
use crate::support::{Answer, Call, End, Scene, Upstream, run};

fn good() -> Scene {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    scene.recorded(&upstream, &[chat("a"), chat("b")]);
    scene
}

/// Recordings that cannot be used, one for each reason, and what the message must contain.
fn bad_recordings() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = good().text();
    let newer = text.replace("\"format\": \"1.0\"", "\"format\": \"2.0\"");
    let wrong = text.replacen("\"status\": 200", "\"status\": \"two hundred\"", 1);
    let hash = "ab".repeat(32);
    let list = format!("{{\"{hash}\": [{{\"content\": \"x\"}}]}}");
    vec![
        ("empty", Vec::new(), "empty"),
        ("blank", b" \n".to_vec(), ""),
        ("cut in half", text.as_bytes()[..text.len() / 2].to_vec(), "delete it and record again"),
        ("not JSON", b"hello\n".to_vec(), "it begins with \"hello\""),
        ("not UTF-8", b"{\"a\": {\"content\": \"\xff\"}}".to_vec(), ""),
        ("an array", b"[]".to_vec(), "array"),
        ("a number", b"7".to_vec(), ""),
        ("version 1", b"{\"_version\": 1}".to_vec(), "_version"),
        ("version as text", b"{\"_version\": \"2\"}".to_vec(), "_version"),
        ("version 2.0", b"{\"_version\": 2.0}".to_vec(), "_version"),
        ("a newer format", newer.into_bytes(), "2.0"),
        ("one wrong entry", wrong.into_bytes(), "status"),
        ("an entry that is none", b"{\"_version\": 2, \"plan\": \"text\"}".to_vec(), "plan"),
        ("a list under a hash", list.into_bytes(), &"abababababab"[..8]),
        ("a byte-order mark", b"\xef\xbb\xbf{\"_version\": 2}".to_vec(), ""),
        ("deep nesting", "[".repeat(200_000).into_bytes(), ""),
    ]
}

#[test]
fn a_bad_recording_is_refused_before_listening() {
    for (kind, bytes, named) in bad_recordings() {
        let scene = Scene::new();
        scene.write(&bytes);
        let replay = scene.replay_args(&["--listen", "127.0.0.1:0"]);
        let record = scene.record_args("http://127.0.0.1:9", &["--listen", "127.0.0.1:0"]);
        for args in [replay, record] {
            let ended = run(scene.dir(), &args);
            assert_eq!(ended.code, 4, "{kind}: {}", ended.stderr);
            let said = &ended.stderr;
            assert!(said.contains("run.json") && said.contains(named), "{kind}: {said}");
            assert!(!said.contains("listening") && !said.contains("panicked"), "{kind}: {said}");
        }
        assert_eq!(std::fs::read(scene.recording()).unwrap(), bytes, "{kind} was changed");
        for command in ["ls", "show"] {
            scene.run(&[command, "run.json"]).expect(4);
        }
    }
}

#[test]
fn a_missing_recording_is_refused() {
    let scene = Scene::new();
    for args in
        [&["replay", "-r", "gone.json"][..], &["ls", "gone.json"], &["show", "gone.json", "x"]]
    {
        scene.run(args).expect(4).says(&["gone.json"]);
    }
    assert!(!scene.path("gone.json").exists());
}

#[test]
fn a_recording_that_is_named_by_a_url_is_refused_and_nothing_is_made() {
    let (scene, url) = (Scene::new(), "https://example.org/r.json");
    for args in [
        &["record", "-r", url, "--", "true"][..],
        &["replay", "-r", url, "--", "true"],
        &["verify", url],
        &["merge", "-o", url, "a.json", "b.json"],
    ] {
        let outcome = run(scene.dir(), args).expect(2);
        let why = "recordings are in files and object stores (s3://, gs://, az://), not in ";
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
    for args in [
        &["merge", "-o", "gs://bucket/agent", "a.json", "b.json"][..],
        &["prune", "agent.remote.json"],
        &["verify", "--fix", "az://box/agent"],
        &["record", "-r", "s3://bucket/agent/{session}", "--", "true"],
        &["record", "-r", "s3://bucket/agent@v1", "--", "true"],
        &["replay", "-r", "s3://bucket", "--", "true"],
    ] {
        let outcome = run(scene.dir(), args).expect(2);
        assert!(!outcome.stderr.contains("listening"), "{}", outcome.stderr);
    }
    std::fs::write(scene.path("loomrec.toml"), format!("recording = \"{url}\"")).unwrap();
    let outcome = run(scene.dir(), &["replay", "--", "true"]).expect(2);
    let place = format!("loomrec.toml:1: recording: it does not take \"{url}\": recordings are ");
    assert!(outcome.stderr.contains(&place), "{}", outcome.stderr);
    assert_eq!(scene.names(), ["loomrec.toml"]);
}

#[test]
fn wrong_usage_is_refused_before_listening() {
    let scene = good();
    let cases: &[&[&str]] = &[
        &[],
        &["frobnicate"],
        &["replay", "-r", "run.json", "--no-such-flag"],
        &["record", "-r", "run.json", "--mode", "al"],
        &["replay", "-r", "run.json", "--on-miss", "ignore"],
        &["replay", "-r", "run.json", "--repeat", "always"],
        &["replay", "-r", "run.json", "--latency", "slow"],
        &["replay", "-r", "run.json", "--speed", "0"],
        &["replay", "-r", "run.json", "--strict", "--on-miss", "default"],
        &["replay", "-r", "run.json", "--ignore", "no-slash"],
        &["replay", "-r", "run.json", "--redact", "(unclosed"],
        &["replay", "-r", "run.json", "--listen", "nonsense"],
        &["replay", "-r", "run.json", "--listen", "0.0.0.0:0"],
        &["replay"],
        &["record", "-r", "run.json", "--upstream", "openai=not a url"],
        &["record", "-r", "run.json", "--upstream", "openai=ftp://x"],
    ];
    for args in cases {
        let ended = scene.run(args);
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("loomrec listening"), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn a_misspelt_mode_in_the_environment_is_refused() {
    let scene = good();
    let mut command = crate::support::loomrec::command(scene.dir(), &scene.replay_args(&[]));
    crate::support::loomrec::finish(command.env("LOOMREC_ON_MISS", "ignore"), b"").expect(2);
}

#[test]
fn help_and_version_are_no_errors() {
    let scene = Scene::new();
    let help = scene.run(&["--help"]).expect(0);
    assert!(help.stdout.contains("record") && help.stdout.contains("replay"), "{}", help.stdout);
    assert!(scene.run(&["--version"]).expect(0).stdout.starts_with("loomrec "));
}

#[test]
fn a_port_in_use_is_a_clear_line() {
    let scene = good();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    scene.run(&["replay", "-r", "run.json", "--listen", &address]).expect(6).says(&[&address]);
    scene.run(&["record", "-r", "new.json", "--listen", &address]).expect(6).says(&[&address]);
    let left = scene.files().into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(left, [scene.recording()], "nothing of new.json, no sidecar either");
}

#[test]
fn a_recording_that_cannot_be_read_says_what_the_system_said() {
    let scene = good();
    let below = scene.run(&["replay", "-r", "run.json/below.json", "--", "true"]).expect(4);
    below.says(&["run.json/", "below.json", "Not a directory"]);
}

#[test]
fn an_unreachable_upstream_is_a_502_in_the_providers_shape_and_not_recorded() {
    let scene = Scene::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = crate::support::Server::start(
        scene.dir(),
        &scene.record_args(&format!("http://{closed}"), &[]),
    );
    let openai = server.call(&chat("hi")).expect(502).json();
    assert!(openai["error"]["message"].is_string(), "{openai}");
    let anthropic = server.call(&message("hi")).expect(502).json();
    assert_eq!(anthropic["type"], "error");
    let said = server.stop();
    assert!(said.stderr.contains(&closed.port().to_string()), "{}", said.stderr);
    assert!(!scene.recording().exists() || scene.takes().is_empty());
}

#[test]
fn an_upstream_that_closes_without_an_answer_is_not_recorded_as_one() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::raw("").close()));
    let server = scene.record(&upstream, &[]);
    let answer = server.call(&chat("hi"));
    assert_eq!((answer.status, answer.end), (502, End::Complete));
    server.stop();
    assert!(!scene.recording().exists() || scene.takes().is_empty());
}

#[test]
fn an_upstream_that_speaks_no_tls_or_no_http_is_a_502() {
    let scene = Scene::new();
    // It speaks first, as such servers do.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _is_written = stream.unwrap().write_all(b"SSH-2.0-OpenSSH_9.0\r\n\r\n");
        }
    });
    let upstreams = [format!("openai=https://{place}"), format!("anthropic=http://{place}")];
    let none = Upstream::always(Answer::json(200, "{}"));
    let flags = ["--upstream", &upstreams[0], "--upstream", &upstreams[1]];
    let server = scene.record(&none, &flags);
    server.call(&chat("hi")).expect(502);
    server.call(&message("hi")).expect(502);
    server.stop();
    assert_eq!(none.requests(), 0);
}

#[test]
fn a_body_over_the_limit_is_a_413_and_goes_nowhere() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let server = scene.record(&upstream, &["--max-body", "1000"]);
    let long = chat(&"x".repeat(2_000));
    let error = server.call(&long).expect(413).json();
    assert!(error["error"]["message"].is_string(), "{error}");
    let chunk = format!("3e8\r\n{}\r\n", "y".repeat(1_000));
    let framed = format!("{chunk}{chunk}0\r\n\r\n");
    let chunked = Call::post(CHAT, framed).header("transfer-encoding: chunked");
    assert_eq!(server.call(&chunked).status, 413);
    server.call(&chat("short")).expect(200);
    server.stop();
    assert_eq!((upstream.requests(), scene.takes().len()), (1, 1));
}

#[test]
fn nonsense_on_the_socket_does_no_harm() {
    let scene = good();
    let server = scene.replay(&["--repeat", "last"]);
    let hostile: &[&[u8]] = &[
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nab",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /%zz/%/@/@@/../.. HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /@/x HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ];
    for bytes in hostile {
        let mut client = server.connect();
        client.write(bytes);
        drop(client);
    }
    let many = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x-a: b\r\n".repeat(10_000));
    server.connect().write(many);
    server.call(&chat("a")).expect(200);
    let ended = server.stop();
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_copy_that_fails_does_not_break_the_answer_but_the_run() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    std::fs::create_dir(scene.path("sub")).unwrap();
    let file = scene.path("sub/run.json");
    let openai = format!("openai={}", upstream.url());
    let args = ["record", "-r", file.to_str().unwrap(), "--upstream", &openai];
    let server = crate::support::Server::start(scene.dir(), &args);
    server.call(&chat("a")).expect(200);
    std::fs::rename(scene.path("sub"), scene.path("moved")).unwrap();
    std::fs::write(scene.path("sub"), "a file where the folder was").unwrap();
    assert_eq!(server.call(&chat("b")).expect(200).text(), chat_answer("x"));
    server.stop().expect(5).says(&["run.json"]);
    // The log moved with the folder, and is merged there.
    scene.run(&["verify", "--fix", scene.path("moved/run.json").to_str().unwrap()]).expect(0);
    assert!(std::fs::read_to_string(scene.path("moved/run.json")).unwrap().contains("\"a\""));
}

#[test]
fn a_journal_or_receipt_in_the_place_of_a_recording_is_refused() {
    let scene = good();
    let before = scene.text();
    let file = scene.recording().to_string_lossy().into_owned();
    for command in ["record", "replay"] {
        for flag in ["--journal", "--receipt"] {
            let ended = scene.run(&[command, "-r", &file, flag, &file]).expect(2);
            assert!(ended.stderr.contains("a file of its own"), "{}", ended.stderr);
        }
    }
    assert_eq!(scene.text(), before);
}

#[test]
fn an_answer_that_is_none_is_a_502_and_not_recorded() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::raw("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(502);
    server.stop().expect(6);
    assert!(!scene.recording().exists());
}

#[test]
fn a_body_announced_as_too_large_is_refused_before_it_is_sent() {
    let scene = good();
    let server = scene.replay(&[]);
    let head =
        format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n");
    let mut client = server.connect();
    client.write(head);
    assert!(client.any_head().line.contains(" 413 "));
    server.stop().expect(1);
}

/// The message of a command line that is refused.
#[track_caller]
fn told(scene: &Scene, args: &[&str]) -> String {
    let told = scene.run(args).expect(2).stderr;
    told.strip_prefix("loomrec: ").unwrap_or(&told).trim_end().to_owned()
}

#[test]
fn a_forgotten_separator_or_flag_is_told_with_the_line_that_would_do() {
    let scene = Scene::new();
    let separator = "put -- before the command: loomrec";
    let recording = "name the recording with -r: loomrec";
    let both = "name the recording with -r, and put -- before the command: loomrec";
    for (args, what, line) in [
        (
            &["record", "-r", "a.json", "python", "one.py"][..],
            separator,
            "record -r a.json -- python one.py",
        ),
        (
            &["replay", "--strict", "-r", "a b.json", "sh", "-c", "echo \"it's\" -r $X"],
            separator,
            r#"replay --strict -r 'a b.json' -- sh -c 'echo "it'\''s" -r $X'"#,
        ),
        (&["record", "-r", "python", "python", "-V"], separator, "record -r python -- python -V"),
        (
            &["record", "--control-token", "geheim", "-r", "a.json", "true"],
            separator,
            "record --control-token … -r a.json -- true",
        ),
        (
            &["record", "--upstream", "http://u:geheim@h", "-r", "a.json", "true"],
            separator,
            "record --upstream … -r a.json -- true",
        ),
        (&["record", "pytest", "-q"], both, "record -r recordings/agent.json -- pytest -q"),
        (&["record", "a.json", "true"], both, "record -r a.json -- true"),
        (&["replay", "a.json", "--", "true"], recording, "replay -r a.json -- true"),
        (&["record", "--", "true"], recording, "record -r recordings/agent.json -- true"),
    ] {
        assert_eq!(told(&scene, args), format!("{what} {line}"), "{args:?}");
    }
    // Other mistakes keep their own messages.
    for (args, part) in [
        (&["replay", "-r", "a.json", "stray", "--", "true"][..], "unexpected argument 'stray'"),
        (&["record", "-r", "a.json", "--stirct", "true"], "unexpected argument '--stirct'"),
        (&["ls"], "required arguments were not provided"),
    ] {
        assert!(told(&scene, args).contains(part), "{args:?}: {}", told(&scene, args));
    }
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn a_recording_that_is_not_named_is_proposed() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("recordings")).unwrap();
    for name in ["note.md", "only.json", "only.json.log"] {
        std::fs::write(scene.path("recordings").join(name), "").unwrap();
    }
    let record = &["record", "--", "true"];
    let line = "name the recording with -r: loomrec record -r recordings/only.json -- true";
    assert_eq!(told(&scene, record), line);
    let replay = told(&scene, &["replay", "--", "true"]);
    let line = "with --script FILE: loomrec replay -r recordings/only.json -- true";
    assert!(replay.ends_with(line), "{replay}");
    std::fs::write(scene.path("recordings/other.json"), "").unwrap();
    assert!(told(&scene, record).ends_with("record -r recordings/agent.json -- true"));
    assert!(told(&scene, &["replay", "--", "true"]).ends_with("with --script FILE"));
    std::fs::write(scene.path("loomrec.toml"), "[replay]\nrecording = \"kept/run.json\"\n")
        .unwrap();
    assert!(told(&scene, record).ends_with("record -r kept/run.json -- true"));
}
