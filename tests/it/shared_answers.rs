//! Large answers in another form than the recorded one: they are in memory once, not once for each
//! caller.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::gate::PATIENCE;
use crate::support::memory::peak_of;
use crate::support::shape::{CHAT, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

const CALLERS: usize = 16;
const LENGTH: usize = 24 << 20;

#[test]
fn callers_of_one_time_share_a_large_answer_with_their_paths() {
    let scene = Scene::new();
    let text = chat_answer(&format!("in /srv/a {}", "x".repeat(LENGTH)));
    let upstream = Upstream::always(Answer::json(200, &text));
    let call = |place: &str| Call::post(CHAT, chat_body(place).to_string());
    let server = scene.record(&upstream, &["--var", "place=/srv/a"]);
    server.call(&call("/srv/a")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--repeat", "last", "--var", "place=/srv/longer"]);
    // They have the head, and read no further yet.
    let mut callers: Vec<(TcpStream, Vec<u8>)> = (0..CALLERS)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let call = call("/srv/longer").header("connection: close");
            stream.write_all(call.head().as_bytes()).unwrap();
            stream.write_all(call.body_bytes()).unwrap();
            (stream, Vec::new())
        })
        .collect();
    for (stream, read) in &mut callers {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).unwrap();
        read.extend(&buffer[..count]);
    }
    let expected = text.replace("/srv/a", "/srv/longer");
    for (mut stream, mut read) in callers {
        stream.read_to_end(&mut read).unwrap();
        let body = read.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        assert!(read[body..] == *expected.as_bytes(), "{} bytes", read.len() - body);
    }
    let peak = peak_of(server.process.pid()) * 1024;
    // The recording, the answer while it is changed, and the changed one, whatever the number of callers.
    assert!(peak < 10 * LENGTH as u64, "{} MB for {CALLERS} callers", peak >> 20);
    server.stop().expect(0);
}
