//! Multipart bodies, as the SDKs of two languages send them.

use proptest::prelude::*;

use super::key::headers;
use crate::multipart::{MultipartPart, field_text, parse};
use crate::{IdentityRules, KeyForm, RequestKey, RequestParts};

const AUDIO: &[u8] = b"RIFF\x00\xff--\r\n--almost\r\n\r\n";

fn body(boundary: &str, end: &str, audio: &[u8]) -> Vec<u8> {
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(audio);
    body.extend_from_slice(format!("\r\n--{boundary}--{end}").as_bytes());
    body
}

fn key(content_type: &str, body: &[u8]) -> RequestKey {
    let list = headers(&[("content-type", content_type)]);
    let form = KeyForm::Tagged { target: "/audio/transcriptions", delivery: true, known: false };
    let parts = RequestParts { form, method: "POST", query: "", headers: &list, body };
    RequestKey::from_parts(&parts, &IdentityRules::default())
}

const PYTHON: &str = "aa0fec0a66c0b3a3b2bd58c1c4bdbd2e";
const NODE: &str = "----formdata-undici-071226373214";

#[test]
fn parts_are_read_when_a_body_is_well_formed() {
    let parts =
        parse(&format!("multipart/form-data; boundary={PYTHON}"), &body(PYTHON, "\r\n", AUDIO))
            .unwrap();
    let [model, file] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(
        (model.name.as_deref(), model.filename.as_deref(), model.length),
        (Some("model"), None, 9)
    );
    assert_eq!(model.sha256, "c6047764ba07c9c5a32d8226025afbce8a828bcefd300a85cdd19bc64cdd472f");
    assert_eq!(file.name.as_deref(), Some("file"));
    assert_eq!(file.filename.as_deref(), Some("a.wav"));
    assert_eq!(file.content_type.as_deref(), Some("audio/wav"));
    assert_eq!(file.length, AUDIO.len());
    assert!(file.headers.is_empty());
}

#[test]
fn field_of_a_form_is_found_if_it_is_text() {
    let media = format!("multipart/form-data; boundary={PYTHON}");
    let form = body(PYTHON, "\r\n", AUDIO);
    assert_eq!(field_text(&media, &form, "model"), Some("whisper-1"));
    assert_eq!(field_text(&media, &form, "file"), None);
    assert_eq!(field_text(&media, &form, "prompt"), None);
    assert_eq!(field_text("application/json", &form, "model"), None);
    assert_eq!(field_text(&media, &form[..form.len() - 8], "model"), None);
}

#[test]
fn keys_agree_when_only_the_boundary_differs() {
    let python =
        key(&format!("multipart/form-data; boundary={PYTHON}"), &body(PYTHON, "\r\n", AUDIO));
    let node = key(&format!("multipart/form-data; boundary={NODE}"), &body(NODE, "", AUDIO));
    let quoted = key(
        &format!("Multipart/Form-Data; charset=utf-8; BOUNDARY=\"{NODE}\""),
        &body(NODE, "\r\n", AUDIO),
    );
    assert_eq!(python, node);
    assert_eq!(python, quoted);
}

#[test]
fn keys_differ_when_a_part_differs() {
    let media = format!("multipart/form-data; boundary={PYTHON}");
    let true_body = body(PYTHON, "", AUDIO);
    let text = String::from_utf8_lossy(&body(PYTHON, "", b"ascii")).into_owned();
    let mut bodies = vec![true_body, text.clone().into_bytes()];
    for (from, to) in [
        ("whisper-1", "whisper-2"),
        ("\"model\"", "\"model2\""),
        ("a.wav", "b.wav"),
        ("audio/wav", "audio/mpeg"),
        ("; filename=\"a.wav\"", ""),
        ("; filename=\"a.wav\"", "; filename=\"a.wav\"; filename*=UTF-8''b.wav"),
        ("audio/wav", "audio/wav\r\nContent-Transfer-Encoding: base64"),
        ("form-data; name=\"model\"", "attachment; name=\"model\""),
        ("ascii", ""),
    ] {
        assert!(text.contains(from));
        bodies.push(text.replacen(from, to, 1).into_bytes());
    }
    for body in &bodies {
        assert!(parse(&media, body).is_some(), "{:?}", String::from_utf8_lossy(body));
    }
    let keys: std::collections::BTreeSet<_> = bodies.iter().map(|body| key(&media, body)).collect();
    assert_eq!(keys.len(), bodies.len());
    // A length adds nothing to the bytes, so it does not count.
    let sized = text.replacen("audio/wav", "audio/wav\r\ncontent-length: 5", 1);
    assert_eq!(key(&media, sized.as_bytes()), key(&media, text.as_bytes()));
}

#[test]
fn parts_may_be_bare_when_they_need_no_headers() {
    let parts = parse(
        "multipart/related; boundary=b",
        b"--b\r\n\r\n\r\n--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--",
    )
    .unwrap();
    assert_eq!(parts.iter().map(|part| part.length).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(parts[0].name, None);
    assert_eq!(
        parse("multipart/form-data; boundary=b", b"--b--\r\n"),
        Some(Vec::<MultipartPart>::new())
    );
}

#[test]
fn boundary_does_not_count_when_a_body_has_a_preamble_an_epilogue_or_a_name_of_any_bytes() {
    let spelled = |boundary: &str, [before, after]: [&str; 2], name: &[u8]| {
        let text = body(boundary, "\r\n", AUDIO);
        let at = memchr::memmem::find(&text, b"a.wav").unwrap();
        [before.as_bytes(), &text[..at], name, &text[at + 5..], after.as_bytes()].concat()
    };
    let media = |boundary: &str| format!("multipart/form-data; boundary={boundary}");
    let mut keys = std::collections::BTreeSet::new();
    let all = [
        (["", ""], &b"a.wav"[..]),
        (["", "\r\n"], b"a.wav"),
        (["", "text"], b"a.wav"),
        (["x\r\n", ""], b"a.wav"),
        (["\r\n", ""], b"a.wav"),
        (["", ""], b"caf\xe9.wav"),
        (["", ""], "caf\u{e9}.wav".as_bytes()),
    ];
    for (around, name) in all {
        let [one, other] = [PYTHON, NODE].map(|it| key(&media(it), &spelled(it, around, name)));
        assert_eq!(one, other, "{around:?} {name:?}");
        keys.insert(one);
    }
    assert_eq!(keys.len(), all.len());
    // Earlier versions hashed such a body by its bytes.
    let form = KeyForm::Tagged { target: "/a", delivery: false, known: false };
    let list = headers(&[("content-type", &media(PYTHON))]);
    let parts = |body| RequestParts { form, method: "POST", query: "", headers: &list, body };
    let (plain, odd) = (body(PYTHON, "", AUDIO), spelled(PYTHON, ["x\r\n", ""], b"a.wav"));
    let rules = IdentityRules::default();
    let was = |body| RequestKey::of_earlier_versions(&parts(body), &rules)[1].clone();
    assert_eq!(was(&plain), RequestKey::from_parts(&parts(&plain), &rules));
    assert_ne!(was(&odd), RequestKey::from_parts(&parts(&odd), &rules));
}

#[test]
fn body_is_no_multipart_when_it_is_not_well_formed() {
    let media = "multipart/form-data; boundary=b";
    let good = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nv\r\n--b--\r\n";
    assert!(parse(media, good.as_bytes()).is_some());
    for bad in [
        String::new(),
        good.replace("--b--\r\n", ""),
        good.replace("--b--\r\n", "--b--epilogue"),
        format!("preamble{good}"),
        good.replace("\r\n", "\n"),
        good.replace("\r\n\r\nv", ""),
        good.replace("\r\n\r\nv", "\r\nv: w"),
        good.replace("\"n\"", "\"n"),
        good.replace("\"n\"", "\"n\" x"),
        good.replace("; name", "; name=\"m\"; name"),
        good.replace("Content-Disposition:", "Content-Disposition"),
        good.replace("\r\n--b--", "\r\n--bx\r\n--b--"),
        good.replace("Content-Disposition", "X: 1\r\nx: 2\r\nContent-Disposition"),
    ] {
        assert_eq!(parse(media, bad.as_bytes()), None, "{bad:?}");
    }
    for media in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"b",
        "text/plain; boundary=b",
        "",
    ] {
        assert_eq!(parse(media, good.as_bytes()), None, "{media}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reader_returns_when_a_body_is_hostile(pieces in prop::collection::vec(prop::sample::select(vec![
        &b"--b"[..], b"\r\n", b"--", b":", b";", b"=", b"\"", b"\\", b"Content-Disposition", b"form-data", b"name", b"\xff", b" ", b"x",
    ]), 0..24)) {
        let mut body = b"--b\r\n".to_vec();
        body.extend(pieces.concat());
        if let Some(parts) = parse("multipart/form-data; boundary=b", &body) {
            prop_assert!(parts.iter().map(|part| part.length).sum::<usize>() < body.len());
        }
    }
}
