//! Tests of servers that end, or write what is no message, and of ends that the client asks for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{
    StdioClient, answers, bridge, call, converse, read_lines, remove_server, said, scene, starts,
};

/// The error in the only answer that a client got.
fn only_error(stdout: &[Value]) -> (i64, String) {
    assert_eq!(stdout.len(), 1, "{stdout:?}");
    let error = &stdout[0]["error"];
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

#[test]
fn server_that_dies_is_an_error_and_the_end_of_stdout() {
    for (tool, argument, code) in [("dies", 3, 3), ("dies", 0, 6), ("killed", 0, 137)] {
        let scene = scene();
        let mut client = StdioClient::start(&mut bridge(&scene, &["record", "--keep-failures"]));
        client.send(&call("a", tool, argument));
        let ended = client.wait().expect(code);
        let heard = answers(&ended);
        let named = if code == 6 { 0 } else { code };
        let why = format!("the MCP server tools ended with exit code {named}");
        assert_eq!((only_error(&heard), &heard[0]["id"]), ((-32000, why), &json!("a")));
        remove_server(&scene);
        let mut client = StdioClient::start(&mut bridge(&scene, &["replay", "--strict"]));
        client.send(&call("a", tool, argument));
        assert_eq!(answers(&client.wait().expect(6)), heard);
        assert_eq!(starts(&scene), 1);
    }
}

#[test]
fn server_that_dies_within_an_answer_is_an_error_after_its_messages() {
    let scene = scene();
    let mut client = StdioClient::start(&mut bridge(&scene, &["record", "--keep-failures"]));
    client.send(&call(1, "half", 4));
    let heard = answers(&client.wait().expect(4));
    assert_eq!(heard[1]["params"]["data"], "half");
    assert_eq!(only_error(&heard[..1]).0, -32000);
}

#[test]
fn server_that_cannot_be_run_is_an_error_that_names_it() {
    let scene = scene();
    remove_server(&scene);
    let mut words: Vec<std::ffi::OsString> =
        ["record", "-r", "run.json", "--"].map(Into::into).into();
    words.push(env!("CARGO_BIN_EXE_loomrec").into());
    words.extend(["mcp", "--name", "tools", "--", "./nowhere"].map(Into::into));
    let mut client = StdioClient::start(&mut crate::support::loomrec::command(scene.dir(), &words));
    client.send(&call(1, "echo", 1));
    let ended = client.wait();
    let (code, message) = only_error(&answers(&ended));
    assert_eq!(code, -32000);
    assert!(message.starts_with("failed to run ./nowhere: No such file"), "{message}");
    ended.expect(6).says(&["mcp tools: failed to run ./nowhere"]);
}

#[test]
fn lines_that_are_no_messages_are_shown_and_left_out() {
    let scene = scene();
    let recorded = converse(&scene, &["record"], &[call(1, "garbage", 1)]).expect(0);
    assert_eq!(answers(&recorded), [said(1, "garbage", 1)]);
    recorded.says(&["no message: Server ready!", "no message: [1, 2]"]);
}

#[test]
fn endless_line_ends_the_server() {
    let scene = scene();
    let mut client = StdioClient::start(&mut bridge(&scene, &["record"]));
    client.send(&call(1, "endless", 1));
    let ended = client.wait();
    let (code, message) = only_error(&answers(&ended));
    assert_eq!((code, message.ends_with("wrote a line of more than 64 MiB")), (-32000, true));
    assert!(ended.code > 0);
    assert_no_server(&scene);
}

#[test]
fn lines_of_a_client_that_are_no_messages_get_errors() {
    let scene = scene();
    let input = format!("no json\n\n{}\n{{}}\n", call(1, "echo", 1));
    let mut command = bridge(&scene, &["record"]);
    let ended = crate::support::loomrec::finish(&mut command, input.as_bytes()).expect(0);
    let heard = answers(&ended);
    assert_eq!(heard[0], said(1, "echo", 1));
    assert_eq!(
        heard[1..].iter().map(|it| it["error"]["code"].clone()).collect::<Vec<_>>(),
        [-32700, -32700]
    );
}

/// Fails unless each process of the server has ended.
fn assert_no_server(scene: &crate::support::Scene) {
    for line in read_lines(scene, "starts") {
        let pid = line.split(' ').next().unwrap();
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.contains("server.py"), "{pid} is left");
    }
}

#[test]
fn signals_and_the_end_of_stdin_leave_no_process() {
    for signal in ["TERM", "INT", "stdin"] {
        for tool in ["echo", "silent", "stubborn"] {
            let scene = scene();
            let mut client = StdioClient::start(&mut bridge(&scene, &["record", "--allow-empty"]));
            client.send(&call(1, "echo", 1));
            client.wait_for("echo");
            client.send(&call(2, tool, 2));
            if tool != "silent" {
                client.wait_for(tool);
            }
            let began = Instant::now();
            let ended = match signal {
                "stdin" => client.close(),
                signal => {
                    client.process().signal(signal);
                    client.wait()
                }
            };
            assert_eq!(ended.code, 0, "{signal} {tool}: {}", ended.stderr);
            let took = began.elapsed();
            assert!(took < Duration::from_secs(10), "{signal} {tool}: {took:?}");
            assert_no_server(&scene);
            if (signal, tool) == ("stdin", "silent") {
                // The server did not answer, and loomrec does not answer for it.
                assert_eq!(answers(&ended), [said(1, "echo", 1)]);
                assert_eq!(scene.takes().len(), 1);
            }
        }
    }
}

#[test]
fn client_that_leaves_ends_its_server() {
    let scene = scene();
    let mut client = StdioClient::start(&mut bridge(&scene, &["record"]));
    client.ask(&call(1, "echo", 1));
    client.process().signal("KILL");
    drop(client);
    let until = Instant::now() + Duration::from_secs(20);
    while read_lines(&scene, "ends").is_empty() {
        assert!(Instant::now() < until, "the server still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}
