//! Tests of the messages of WebSockets: the inspector shows both directions, in their order.

use tokio_tungstenite::tungstenite::Message;

use super::files::Ui;
use super::*;
use crate::support::web_socket::{SocketUpstream, close, hear, open, say};

#[test]
fn messages_of_both_sides_are_told_in_their_order_with_audio_as_length_and_time() {
    let scene = Scene::new();
    let sound = |bytes: usize| STANDARD.encode(vec![7; bytes]);
    let spoken = sound(24_000);
    let upstream = SocketUpstream::start(move |socket| {
        let format = json!({ "type": "audio/pcm", "rate": 24_000 });
        let audio = json!({ "input": { "format": { "type": "audio/pcmu" } }, "output": { "format": format } });
        say(socket, &json!({ "type": "session.created", "session": { "audio": audio } }));
        hear(socket);
        socket.read().unwrap();
        say(socket, &json!({ "type": "response.output_audio.delta", "delta": spoken }));
        socket.send(Message::text("plain <b>words</b>")).unwrap();
    });
    let args = scene.record_args(&upstream.url(), &[]);
    let server = Server::start(scene.dir(), &args);
    let mut socket = open(&server, "/openai/v1/realtime?model=m", &[]).unwrap().0;
    hear(&mut socket);
    say(&mut socket, &json!({ "type": "input_audio_buffer.append", "audio": sound(4_000) }));
    socket.send(Message::Binary(b"\x00\xff".as_slice().into())).unwrap();
    hear(&mut socket);
    hear(&mut socket);
    close(&mut socket, 1000, "bye");
    let of_run = details(&server, 1);
    server.stop().expect(0);
    let ui = Ui::start(&scene, &[scene.name()]);
    let of_file = ui.details(1);
    ui.stop();
    assert_eq!(of_run["exchanged"], of_file["exchanged"]);
    let shown = of_file["exchanged"]["shown"].as_array().unwrap();
    let told: Vec<_> = shown
        .iter()
        .map(|message| {
            (
                message["from"].as_str().unwrap(),
                message["kind"].as_str().unwrap(),
                &message["audio"],
            )
        })
        .collect();
    let audio = |bytes: u32, seconds: f64| json!({ "bytes": bytes, "seconds": seconds });
    assert_eq!(
        told,
        [
            ("server", "text", &Value::Null),
            ("client", "text", &audio(4_000, 0.5)),
            ("client", "binary", &audio(2, 0.0)),
            ("server", "text", &audio(24_000, 0.5)),
            ("server", "text", &Value::Null),
            ("client", "close", &Value::Null),
        ]
    );
    let text = |at: usize| shown[at]["text"].as_str().unwrap();
    assert!(text(1).contains("(audio: 4000 bytes, 0.50 s)") && text(1).len() < 200, "{}", text(1));
    assert!(text(3).contains("(audio: 24000 bytes, 0.50 s)"), "{}", text(3));
    assert_eq!((text(4), text(5), &shown[5]["close"]), ("plain <b>words</b>", "bye", &json!(1000)));
    let times: Vec<f64> = shown.iter().map(|message| message["ms"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
}

#[test]
fn long_messages_are_cut_and_say_so() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        for _ in 0..40 {
            say(socket, &json!({ "long": "x".repeat(100_000) }));
        }
    });
    let server = Server::start(scene.dir(), &scene.record_args(&upstream.url(), &[]));
    let mut socket = open(&server, "/openai/v1/listen", &[]).unwrap().0;
    for _ in 0..40 {
        hear(&mut socket);
    }
    close(&mut socket, 1000, "");
    let told = details(&server, 1);
    server.stop().expect(0);
    let shown = told["exchanged"]["shown"].as_array().unwrap();
    assert_eq!(
        (shown.len(), &shown[0]["cut"], &shown[39]["cut"]),
        (41, &json!(true), &json!(true))
    );
    assert_eq!(shown[39]["bytes"], 100_011);
    assert!(told["exchanged"].to_string().len() < 1_200_000);
}
