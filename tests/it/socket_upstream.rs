//! Tests of upstreams that listen at a socket in the file system.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use crate::support::loomrec::Server;
use crate::support::shape::{chat_answer, chat_body};
use crate::support::{Call, Scene};

/// Serves a chat answer to each request at a socket. Returns the heads of the requests.
fn serve(path: &Path) -> Receiver<String> {
    let listener = UnixListener::bind(path).unwrap();
    let (heads, received) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let heads = heads.clone();
            std::thread::spawn(move || {
                let (mut text, mut buffer) = (String::new(), [0; 4096]);
                while let Ok(read @ 1..) = stream.read(&mut buffer) {
                    text.push_str(&String::from_utf8_lossy(&buffer[..read]));
                    if !text.ends_with('}') {
                        continue;
                    }
                    let body = chat_answer("From a socket");
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: \
                         {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(answer.as_bytes()).unwrap();
                    heads.send(std::mem::take(&mut text)).unwrap();
                }
            });
        }
    });
    received
}

fn call() -> Call {
    Call::post("/docker/engines/v1/chat/completions", chat_body("hi").to_string())
}

fn record(scene: &Scene, address: &str) -> Server {
    let upstream = format!("docker={address}");
    Server::start(scene.dir(), &["record", "-r", "run.json", "--upstream", &upstream])
}

#[test]
fn calls_to_a_socket_are_recorded_and_replayed_without_it() {
    let scene = Scene::new();
    let path = scene.path("model runner.sock");
    let heads = serve(&path);
    // In a list of addresses, a blank is between two of them.
    let address = path.display().to_string().replace(' ', "%20");
    let server = record(&scene, &format!("unix:{address}"));
    for _ in 0..2 {
        assert!(server.call(&call()).expect(200).text().contains("From a socket"));
        let head = heads.recv().unwrap().to_lowercase();
        assert!(head.starts_with("post /engines/v1/chat/completions http/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nhost: localhost\r\n"), "{head}");
    }
    let stderr = server.stop().expect(0).stderr;
    assert!(stderr.contains(&format!("docker → unix:{}", path.display())), "{stderr}");
    std::fs::remove_file(&path).unwrap();
    let answers = scene.replayed(&["--strict"], &[call(), call()], 0);
    assert!(answers[1].text().contains("From a socket"));
}

#[test]
fn a_socket_that_is_not_there_is_named_as_it_was_given() {
    let scene = Scene::new();
    let path = scene.path("gone.sock");
    let server = record(&scene, &format!("unix://{}", path.display()));
    let refused = server.call(&call()).expect(502);
    assert!(refused.text().contains(&format!("at unix:{}", path.display())), "{}", refused.text());
    server.stop().expect(6);
    let ended =
        scene.run(&["record", "-r", "x.json", "--upstream", "docker=unix:x.sock"]).expect(2);
    assert!(ended.stderr.contains("a socket has an absolute path"), "{}", ended.stderr);
}
