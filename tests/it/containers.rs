//! Tests of what containers need: the public URL, the health path, and the command lines of the
//! documents, which are run as processes.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::loomrec::{Process, command, finish, free_port};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Client, Scene, Server, Upstream};

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The value of a line of a document: what follows `before`.
#[track_caller]
fn value<'a>(text: &'a str, before: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.trim_start().strip_prefix(before));
    found.unwrap_or_else(|| panic!("the document has no line that begins with {before:?}"))
}

/// The arguments of a command line of a document, for another port and another recording.
fn arguments(line: &str, port: u16) -> Vec<String> {
    let line =
        line.replace("4141", &port.to_string()).replace("/recordings/agent.json", "run.json");
    line.split_whitespace().map(str::to_owned).collect()
}

/// The running server of a command line, whose clients call it by a public URL.
struct Service {
    process: Process,
    port: u16,
}

impl Service {
    #[track_caller]
    fn start(scene: &Scene, args: &[String], port: u16, origin: &str) -> Self {
        let mut command = command(scene.dir(), args);
        let mut process = Process::spawn(command.stdin(Stdio::null()));
        process.wait_for(&format!("loomrec listening on {origin}:{port}\n"));
        Self { process, port }
    }

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Runs the program of the document. Returns its output.
    #[track_caller]
    fn ask(&self, document: &str) -> String {
        let program = document.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
        // The name of the container is known only to Docker.
        let url = value(document, "OPENAI_BASE_URL: ");
        let url = url.replace("loomrec:4141", &self.address().to_string());
        let asked = Command::new("python3")
            .args(["-c", program])
            .env("OPENAI_BASE_URL", url)
            .env("OPENAI_API_KEY", value(document, "OPENAI_API_KEY: "))
            .output()
            .unwrap();
        let (out, err) = (asked.stdout, String::from_utf8_lossy(&asked.stderr));
        assert!(asked.status.success(), "{err}");
        String::from_utf8(out).unwrap()
    }

    #[track_caller]
    fn stop(self) -> String {
        self.process.signal("TERM");
        self.process.wait().expect(0).stderr
    }
}

#[test]
fn the_compose_example_records_and_replays() {
    let (scene, text) = (Scene::new(), document("containers.md"));
    let upstream = Upstream::always(Answer::json(200, chat_answer("Take one.")));
    let port = free_port();
    let line = format!("record {}", value(&text, "command: record "));
    let mut args = arguments(&line, port);
    args.extend(["--upstream".to_owned(), format!("openai={}", upstream.url())]);
    let service = Service::start(&scene, &args, port, "http://loomrec");
    assert_eq!(service.ask(&text), "Take one.\n");
    service.stop();
    assert_eq!((upstream.requests(), scene.takes().len()), (1, 1));

    let port = free_port();
    let line = format!("replay {}", value(&text, "command: replay "));
    let service = Service::start(&scene, &arguments(&line, port), port, "http://loomrec");
    assert_eq!(service.ask(&text), "Take one.\n");
    let probed = value(&text, "test: ");
    let path = probed.split("127.0.0.1:4141").nth(1).unwrap().trim_end_matches("\"]");
    let live = Client::call(service.address(), &Call::get(path)).expect(200);
    assert_eq!(live.text(), "{\"status\":\"ok\"}\n");
    // As a container calls it: by the name of the service.
    let call = Call::get("/openai/v1/models").header(&format!("host: loomrec:{port}"));
    Client::call(service.address(), &call).expect(422);
    service.process.signal("TERM");
    service.process.wait().expect(1);
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn printed_variables_are_those_of_the_compose_example() {
    let (scene, text) = (Scene::new(), document("containers.md"));
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let url = value(&text, "OPENAI_BASE_URL: ");
    let line =
        format!("replay {}", value(&text, "loomrec replay -r recordings/agent.json --public"))
            .replace("replay -url", "replay -r run.json --public-url");
    let commands = ["command: replay ", "command: record "]
        .map(|before| format!("{} {}", &before[9..15], value(&text, before)) + " --print-env");
    for line in commands.iter().chain([&line]) {
        let printed = finish(&mut command(scene.dir(), &arguments(line, 4141)), b"").expect(0);
        let expected = format!("export OPENAI_BASE_URL='{url}'\n");
        assert!(printed.stdout.contains(&expected), "{line}: {}", printed.stdout);
        let expected = "export NO_PROXY='127.0.0.1,localhost,loomrec'\n";
        assert!(printed.stdout.contains(expected), "{line}: {}", printed.stdout);
        assert!(!printed.stderr.contains("--public-url"), "{line}: {}", printed.stderr);
    }
}

#[test]
fn without_a_public_url_the_address_of_this_machine_is_printed_with_a_note() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let args = ["replay", "-r", "run.json", "--listen", "0.0.0.0:4141", "--allow-remote"];
    let printed = scene.run(&[&args[..], &["--print-env"]].concat()).expect(0);
    let note = "this URL is for this machine; clients in containers or on other machines use \
                another, which --public-url URL sets\n";
    let printed = printed.says(&[note]).stdout;
    assert!(printed.contains("export LOOMREC_URL='http://127.0.0.1:4141'\n"), "{printed}");
    let args = scene.replay_args(&["--listen", "0.0.0.0:0", "--allow-remote"]);
    let server = Server::spawn(&mut command(scene.dir(), &args));
    server.stop().expect(0).says(&[note]);
    let said = scene.replay(&[]).stop().expect(0).stderr;
    assert!(!said.contains("--public-url"), "{said}");
    scene.run(&["replay", "-r", "run.json", "--listen", "0.0.0.0:0"]).expect(2).says(&[
        "--listen 0.0.0.0:0 can be reached by other machines, which get recorded answers, and with \
         record can have calls sent and recorded; add --allow-remote",
    ]);
}

#[test]
fn a_command_gets_the_public_url_and_a_strict_one_only_if_it_was_typed() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let url = "http://host.test:4141/base";
    let cmd = ["--allow-empty", "--", "sh", "-c", "echo $LOOMREC_URL $OPENAI_BASE_URL"];
    let told = |typed: &[&str], strict: bool| {
        let start = if strict { &["replay", "--strict"][..] } else { &["replay"] };
        let args = [start, &["-r", "run.json", "--listen", "0"], typed, &cmd].concat();
        let mut command = command(scene.dir(), &args);
        finish(command.env("LOOMREC_PUBLIC_URL", "http://host.test:4141/base/"), b"").expect(0)
    };
    let public = format!("{url} {url}/openai/v1\n");
    assert_eq!(told(&[], false).stdout, public);
    assert_eq!(told(&["--public-url", url], true).stdout, public);
    let strict = told(&[], true).says(&["LOOMREC_PUBLIC_URL"]);
    assert!(strict.stdout.starts_with("http://127.0.0.1:"), "{}", strict.stdout);
    for wrong in
        ["loomrec:4141", "http://", "ftp://a", "http://u:secret@a", "http://a/?b", "http://a/#b"]
    {
        let said = scene.run(&["replay", "-r", "run.json", "--public-url", wrong]).expect(2);
        let said =
            said.says(&["--public-url ", "it takes the URL under which clients reach"]).stderr;
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn the_health_path_answers_everyone_and_says_nothing_else() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let server = scene.replay(&["--control-token", "secret"]);
    let live = || Call::get("/__loomrec/live");
    for call in [live(), live().header("host: anyone.test"), live().header("origin: http://a.test")]
    {
        let answer = server.call(&call).expect(200);
        assert_eq!(answer.text(), "{\"status\":\"ok\"}\n");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    server.call(&Call::new("HEAD", "/__loomrec/live")).expect(200);
    server.call(&Call::post("/__loomrec/live", "{}")).expect(403);
    server.call(&Call::get("/__loomrec/live/more")).expect(403);
    server.call(&Call::get("/__loomrec/health")).expect(403);
    server.stop().expect(0);
}

#[test]
fn the_inspector_opens_under_the_public_url_and_its_data_needs_the_token() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let port = free_port();
    let host = format!("loomrec.test:{port}");
    let line = format!("replay -r run.json --listen {port} --public-url http://{host}");
    let get = |path: &str, host: &str| {
        Call::get(&format!("/__loomrec/{path}")).header(&format!("host: {host}"))
    };
    let open =
        |line: &str| Service::start(&scene, &arguments(line, port), port, "http://loomrec.test");
    let service = open(&format!("{line} --control-token secret"));
    let call = |call: Call| Client::call(service.address(), &call);
    let page = call(get("", &host)).expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    call(get("run", &host)).expect(403);
    let own = get("run", &host).header(&format!("origin: http://{host}"));
    call(own.header("authorization: Bearer secret")).expect(200);
    let foreign = call(get("", "evil.test:4141")).expect(403).json();
    let why = "this Host is not one that loomrec serves: use this machine's address, or give a \
               --public-url with the host";
    assert_eq!(foreign["error"], why);
    service.stop();
    // Without a token, only names of this machine are served.
    let service = open(&line);
    Client::call(service.address(), &get("", &host)).expect(403);
    service.stop();
}

#[test]
fn the_recipe_for_prometheus_starts_and_gives_metrics_to_the_token() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let (text, port) = (document("metrics.md"), free_port());
    let line = format!("replay {}", value(&text, "loomrec replay "));
    let args = arguments(&line.replace("agent.json", "run.json"), port);
    let mut command = command(scene.dir(), &args);
    let server = Server::spawn(command.env("LOOMREC_CONTROL_TOKEN", "secret"));
    let host = "host: host.docker.internal:4141";
    let scrape = Call::get("/metrics").header(host).header("authorization: Bearer secret");
    let metrics = server.call(&scrape).expect(200).text();
    assert!(metrics.contains("loomrec_recording_entries 1"), "{metrics}");
    server.call(&Call::get("/metrics").header(host)).expect(403);
    server.stop().expect(0);
}

#[test]
fn a_port_alone_is_one_of_this_machine() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &[chat("hi")]);
    let printed = scene.run(&["replay", "-r", "run.json", "--listen", "4242", "--print-env"]);
    let printed = printed.expect(0).stdout;
    assert!(printed.contains("export LOOMREC_URL='http://127.0.0.1:4242'\n"), "{printed}");
    std::fs::write(scene.path("loomrec.toml"), "listen = 4343\n").unwrap();
    scene.run(&["trust", "--yes"]).expect(0);
    let printed = scene.run(&["replay", "-r", "run.json", "--print-env"]).expect(0).stdout;
    assert!(printed.contains("export LOOMREC_URL='http://127.0.0.1:4343'\n"), "{printed}");
    scene
        .run(&["replay", "-r", "run.json", "--listen", "65536"])
        .expect(2)
        .says(&["give an IP address and a port, such as 127.0.0.1:4141, or only the port"]);
}
