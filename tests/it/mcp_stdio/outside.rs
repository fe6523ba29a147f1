//! Tests of `loomrec mcp` outside of a run: it is the server.

use super::scene::{StdioClient, answers, bridge_words, call, read_lines, said, scene};
use crate::support::loomrec::{command, finish};

#[test]
fn bridge_outside_a_run_is_the_server() {
    let scene = scene();
    let words = &bridge_words()[1..];
    let mut client = StdioClient::start(&mut command(scene.dir(), words));
    assert_eq!(client.ask(&call(1, "echo", 1)), said(1, "echo", 1));
    let own = client.process().pid().to_string();
    assert_eq!(read_lines(&scene, "starts")[0].split(' ').next(), Some(own.as_str()));
    client.close().expect(0);
    let mut client = StdioClient::start(&mut command(scene.dir(), words));
    client.send(&call(1, "dies", 5));
    client.wait().expect(5);
}

#[test]
fn client_that_hides_its_environment_is_found_by_its_ancestors() {
    let scene = scene();
    let line = |bridge: &str| format!("env -i PATH=\"$PATH\" {bridge}");
    let words: Vec<String> =
        bridge_words().iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let run = |mode: &[&str]| {
        let mut args: Vec<&str> = mode.to_vec();
        let line = line(&words.join(" "));
        args.extend(["-r", "run.json", "--", "sh", "-c", &line]);
        let input = format!("{}\n", call(1, "echo", 1));
        answers(&finish(&mut command(scene.dir(), &args), input.as_bytes()).expect(0))
    };
    assert_eq!(run(&["record"]), [said(1, "echo", 1)]);
    super::scene::remove_server(&scene);
    assert_eq!(run(&["replay", "--strict", "--fail-unused"]), [said(1, "echo", 1)]);
}

#[test]
fn what_is_wrong_with_the_command_line_is_said() {
    let scene = scene();
    for (words, said) in [
        (&["mcp", "--", "true"][..], "--name <NAME>"),
        (&["mcp", "--name", "openai", "--", "true"], "the name of a provider"),
        (&["mcp", "--name", "a/b", "--", "true"], "it takes letters, digits"),
        (&["mcp", "--name", "a"], "SERVER"),
        (&["mcp", "--fault", "explode", "--", "true"], "--fault explode"),
    ] {
        let ended = scene.run(words).expect(2);
        assert!(ended.stderr.contains(said), "{words:?}: {}", ended.stderr);
    }
    scene.run(&["mcp", "--name", "a", "--", "./nowhere"]).expect(127).says(&["./nowhere"]);
    let bridge = env!("CARGO_BIN_EXE_loomrec");
    let within = [
        "replay",
        "--allow-empty",
        "-r",
        "x.json",
        "--",
        bridge,
        "mcp",
        "--fault",
        "hang",
        "--",
        "true",
    ];
    scene.write("{}");
    std::fs::rename(scene.recording(), scene.path("x.json")).unwrap();
    scene.run(&within).expect(2).says(&["give them to `loomrec record` or `loomrec replay`"]);
}
