//! Tests of a client's audio over a WebSocket: what counts is its bytes, not how they are cut.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{OTHER, REALTIME, recording};
use crate::interchange::run;
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, open, say};
use crate::support::{Scene, Server};

/// The server says that it hears speech once it has this many bytes.
const NOTICED: usize = 1000;

/// How a client sends audio.
#[derive(Clone, Copy, Debug)]
enum Form {
    Realtime,
    Gemini,
    Binary,
}

const FORMS: [Form; 3] = [Form::Realtime, Form::Gemini, Form::Binary];

impl Form {
    fn path(self) -> &'static str {
        match self {
            Self::Realtime => REALTIME,
            Self::Gemini => "/gemini/ws/google.ai.Live",
            Self::Binary => OTHER,
        }
    }

    fn message(self, audio: &[u8]) -> Message {
        let text = STANDARD.encode(audio);
        let number = format!("event_{}", audio.len());
        match self {
            Self::Realtime => Message::text(
                json!({ "type": "input_audio_buffer.append", "event_id": number, "audio": text })
                    .to_string(),
            ),
            Self::Gemini => Message::text(
                json!({ "realtimeInput": { "audio": { "mimeType": "audio/pcm;rate=16000", "data": text } } })
                    .to_string(),
            ),
            Self::Binary => Message::Binary(audio.to_vec().into()),
        }
    }
}

/// Speech: no two samples next to each other are the same.
fn speech() -> Vec<u8> {
    (0..2400_u32).map(|at| (at * at % 251) as u8).collect()
}

/// Returns how many bytes of audio a message has.
fn audio_length(message: &Message) -> usize {
    match message {
        Message::Binary(bytes) => bytes.len(),
        Message::Text(text) => {
            let value: Value = serde_json::from_str(text).unwrap();
            let places = ["/audio", "/realtimeInput/audio/data"];
            let text = places.iter().find_map(|place| value.pointer(place)?.as_str());
            text.map_or(0, |text| STANDARD.decode(text).unwrap().len())
        }
        _ => 0,
    }
}

/// An upstream that notices speech, and answers each other message.
fn upstream() -> SocketUpstream {
    SocketUpstream::start(|socket| {
        let mut heard = 0;
        while let Ok(message) = socket.read() {
            match audio_length(&message) {
                0 if message.is_text() => say(socket, &json!({ "type": "heard", "bytes": heard })),
                0 => return,
                more => {
                    let is_noticed = heard < NOTICED && heard + more >= NOTICED;
                    heard += more;
                    if is_noticed {
                        say(socket, &json!({ "type": "speech_started" }));
                    }
                }
            }
        }
    })
}

fn commit() -> Value {
    json!({ "type": "input_audio_buffer.commit" })
}

/// Sends audio in packets of these sizes in turn.
fn send(socket: &mut Socket, form: Form, mut audio: &[u8], sizes: &[usize]) {
    for size in sizes.iter().cycle() {
        let part;
        (part, audio) = audio.split_at((*size).min(audio.len()));
        // The other side may have closed already.
        if part.is_empty() || socket.send(form.message(part)).is_err() {
            return;
        }
    }
}

/// Sends a message that asks for an answer. Returns what comes until then.
fn ask(socket: &mut Socket) -> Vec<Value> {
    let mut heard = Vec::new();
    if socket.send(Message::text(commit().to_string())).is_ok() {
        loop {
            heard.push(hear(socket));
            let last = heard.last().unwrap();
            if last["type"] == "heard" || last.get("close").is_some() {
                break;
            }
        }
    }
    if heard.last().is_some_and(|last| last["type"] == "heard") {
        close(socket, 1000, "");
    }
    heard
}

/// Sends speech in packets of these sizes in turn, and asks for an answer. Returns what came.
fn speak(socket: &mut Socket, form: Form, audio: &[u8], sizes: &[usize]) -> Vec<Value> {
    send(socket, form, audio, sizes);
    ask(socket)
}

fn recorded(form: Form, more: &[&str]) -> Scene {
    let (scene, upstream) = (Scene::new(), upstream());
    let gemini = format!("gemini={}", upstream.url());
    let server = recording(&scene, &upstream, &[&["--upstream", &gemini], more].concat());
    let mut socket = open(&server, form.path(), &[]).unwrap().0;
    send(&mut socket, form, &speech()[..1200], &[300]);
    let noticed = hear(&mut socket);
    send(&mut socket, form, &speech()[1200..], &[300]);
    assert_eq!([noticed, ask(&mut socket).remove(0)], whole(), "{form:?}");
    server.stop().expect(0);
    scene
}

/// What a client hears.
fn whole() -> [Value; 2] {
    [json!({ "type": "speech_started" }), json!({ "type": "heard", "bytes": 2400 })]
}

fn spoken(server: &Server, form: Form, audio: &[u8], sizes: &[usize]) -> Vec<Value> {
    speak(&mut open(server, form.path(), &[]).unwrap().0, form, audio, sizes)
}

#[test]
fn speech_in_other_packets_is_the_recorded_one() {
    for form in FORMS {
        for kept in [&[][..], &["--keep-audio"]] {
            let scene = recorded(form, kept);
            for sizes in [&[300][..], &[960, 1, 7], &[2400], &[13]] {
                let server = scene.replay(&["--strict", "--fail-unused"]);
                assert_eq!(spoken(&server, form, &speech(), sizes), whole(), "{form:?} {sizes:?}");
                server.stop().expect(0);
            }
        }
    }
}

#[test]
fn each_other_audio_is_a_miss() {
    let original = speech();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut audio = original.clone();
        change(&mut audio);
        assert_ne!(audio, original);
        audio
    };
    let mut others = vec![
        with(&|audio| audio.truncate(2399)),
        with(&|audio| audio.push(7)),
        with(&|audio| audio.swap(1200, 1201)),
        with(&|audio| audio.rotate_left(300)),
        with(&|audio| drop(audio.drain(300..600))),
        with(&|audio| audio.extend_from_slice(&original)),
    ];
    others.extend((0..2400).step_by(113).map(|at| with(&|audio| audio[at] ^= 1)));
    for form in FORMS {
        for kept in [&[][..], &["--keep-audio"]] {
            let scene = recorded(form, kept);
            let server = scene.replay(&["--strict"]);
            for (at, audio) in others.iter().enumerate() {
                let heard = spoken(&server, form, audio, [&[300], &[480]][at % 2]);
                let is_heard = heard.iter().any(|event| event["type"] == "heard");
                assert!(!is_heard, "{form:?} {kept:?} {at}: {heard:?}");
            }
            server.stop().expect(1).says(&[&format!("{} missed", others.len())]);
        }
    }
}

#[test]
fn server_notices_no_speech_that_is_not_the_recorded_one() {
    let mut audio = speech();
    audio[500] ^= 1;
    for kept in [&[][..], &["--keep-audio"]] {
        let scene = recorded(Form::Realtime, kept);
        let server = scene.replay(&["--strict"]);
        let heard = spoken(&server, Form::Realtime, &audio, &[480]);
        assert!(heard.iter().all(|event| event["type"] != "speech_started"), "{heard:?}");
        let same = if kept.is_empty() { 0 } else { 500 };
        let told = server.stop().expect(1).stderr;
        assert!(told.contains(&format!("the first {same} bytes of the audio")), "{told}");
    }
}

#[test]
fn other_forms_and_other_messages_between_are_misses() {
    let scene = recorded(Form::Gemini, &[]);
    let server = scene.replay(&["--strict"]);
    let audio = speech();
    let packet = |media: &str, audio: &[u8]| {
        let data = STANDARD.encode(audio);
        json!({ "realtimeInput": { "audio": { "mimeType": media, "data": data } } })
    };
    let media = "audio/pcm;rate=16000";
    let noted = packet(media, b"");
    for messages in [
        vec![packet("audio/pcm;rate=24000", &audio), commit()],
        vec![packet(media, &audio[..1200]), packet("audio/wav", &audio[1200..]), commit()],
        vec![packet(media, &audio[..1200]), commit(), packet(media, &audio[1200..]), commit()],
        // The recording's own form of a message without its audio.
        vec![noted.clone(), noted, commit()],
        vec![commit()],
    ] {
        let mut socket = open(&server, Form::Gemini.path(), &[]).unwrap().0;
        for message in &messages {
            if socket.send(Message::text(message.to_string())).is_err() {
                break;
            }
        }
        let end = std::iter::from_fn(|| Some(hear(&mut socket)))
            .find(|heard| heard["type"] == "heard" || heard.get("close").is_some());
        assert_eq!(end.unwrap()["close"], 1008, "{}", messages[0]);
    }
    server.stop().expect(1).says(&["5 missed"]);
}

#[test]
fn bytes_of_an_unknown_api_are_no_audio() {
    let (scene, upstream) = (Scene::new(), upstream());
    let path = "/openai/v1/unknown";
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, path, &[]).unwrap().0;
    assert_eq!(speak(&mut socket, Form::Binary, &speech(), &[300]), whole());
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    let mut socket = open(&server, path, &[]).unwrap().0;
    let heard = speak(&mut socket, Form::Binary, &speech(), &[400]);
    assert_eq!(heard.last().unwrap()["close"], 1008);
    server.stop().expect(1).says(&["1 missed"]);
}

#[test]
fn audio_is_stored_only_if_asked() {
    let audio = STANDARD.encode(&speech()[..300]);
    for (form, kept, messages) in [
        (Form::Realtime, &[][..], 2),
        (Form::Realtime, &["--keep-audio"], 8),
        (Form::Gemini, &[], 2),
        (Form::Binary, &[], 2),
        (Form::Binary, &["--keep-audio"], 8),
    ] {
        let scene = recorded(form, kept);
        let text = std::fs::read_to_string(scene.recording()).unwrap();
        assert_eq!(text.contains(&audio), !kept.is_empty(), "{form:?}");
        let take = scene.only_take();
        let held = take["messages"].as_array().unwrap().iter();
        // Speech before the server noticed it and after, or each packet; then the commit and the close.
        assert_eq!(held.filter(|one| one["from"] == "client").count(), messages + 2, "{form:?}");
        let hash = take["request_hash"].as_str().unwrap();
        let shown = scene.run(&["show", "run.json", hash]).expect(0).stdout;
        assert_eq!(shown.contains("(1200 bytes of audio)"), kept.is_empty(), "{shown}");
    }
}

#[test]
fn notes_on_audio_come_back_from_har() {
    let scene = recorded(Form::Realtime, &[]);
    run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har"]).expect(0);
    std::fs::remove_file(scene.recording()).unwrap();
    run(&scene, &["import", "run.har", "-o", "run.json"]).expect(0);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    assert_eq!(spoken(&server, Form::Realtime, &speech(), &[77]), whole());
    server.stop().expect(0);
}

#[test]
fn speech_that_ends_early_is_unused() {
    let scene = recorded(Form::Binary, &[]);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let mut socket = open(&server, Form::Binary.path(), &[]).unwrap().0;
    socket.send(Form::Binary.message(&speech()[..700])).unwrap();
    close(&mut socket, 1000, "");
    server.stop().expect(1).says(&["sent 0 of 4 recorded messages"]);
}
