use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::test_calls::{ended_well, read, to_complete, to_stream, write as built};
use crate::{ModeError, Operation, ToolCall};

const AUDIO: Operation = Operation::TRANSCRIPTION;

fn body() -> Value {
    json!({
        "text": "Well, hello there.",
        "logprobs": [{"token": "Well", "logprob": -0.5, "bytes": [87]}],
        "usage": {
            "type": "tokens", "input_tokens": 14, "output_tokens": 45, "total_tokens": 59,
            "input_token_details": {"text_tokens": 0, "audio_tokens": 14}
        }
    })
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

#[test]
fn a_transcription_is_read_when_it_is_json() {
    let answer = read(AUDIO, false, body().to_string().as_bytes()).unwrap();
    assert_eq!(answer.content, "Well, hello there.");
    let usage = answer.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (14, 45, 59));
    let timed = json!({"text": "Hi", "usage": {"type": "duration", "seconds": 9}});
    let answer = read(AUDIO, false, timed.to_string().as_bytes()).unwrap();
    assert_eq!((answer.content.as_str(), answer.usage), ("Hi", None));
    for other in [&b"just text"[..], b"\"text\"", b"{\"text\":1}", b"{\"error\":{}}", b"[]"] {
        assert_eq!(read(AUDIO, false, other), None);
    }
}

#[test]
fn a_transcription_survives_when_it_goes_both_ways() {
    let stream = to_stream(AUDIO, body().to_string().as_bytes(), false).unwrap();
    let first = std::str::from_utf8(&stream[0]).unwrap();
    assert_eq!(first, event(&json!({"type": "transcript.text.delta", "delta": "Well, "})));
    let stream = stream.concat();
    let back: Value = serde_json::from_slice(&to_complete(AUDIO, &stream).unwrap()).unwrap();
    assert_eq!(back, body());
    let plain = read(AUDIO, false, body().to_string().as_bytes());
    assert_eq!(read(AUDIO, true, &stream), plain);
}

#[test]
fn what_arrived_is_read_when_a_transcription_was_cut() {
    let delta = |text: &str| event(&json!({"type": "transcript.text.delta", "delta": text}));
    let stream = [delta("Hel"), delta("lo")].concat();
    assert_eq!(read(AUDIO, true, stream.as_bytes()).unwrap().content, "Hello");
    assert_eq!(to_complete(AUDIO, stream.as_bytes()), Err(ModeError::Unended));
    let failed = event(&json!({"type": "error", "error": {"message": "no"}}));
    let done = event(&json!({"type": "transcript.text.done", "text": "Hello"}));
    let stream = [stream, failed, done].concat();
    assert_eq!(to_complete(AUDIO, stream.as_bytes()), Err(ModeError::Unended));
    assert_eq!(read(AUDIO, true, b": ping\n\n"), None);
}

#[test]
fn speakers_and_times_have_no_other_mode() {
    let body = json!({"text": "Hi", "segments": [], "task": "transcribe"});
    let refused = ModeError::Unreadable { operation: "Transcriptions" };
    assert_eq!(to_stream(AUDIO, body.to_string().as_bytes(), false), Err(refused.clone()));
    let segment = event(&json!({"type": "transcript.text.segment", "text": "Hi", "speaker": "A"}));
    let done = event(&json!({"type": "transcript.text.done", "text": "Hi"}));
    let stream = [segment, done].concat();
    assert_eq!(to_complete(AUDIO, stream.as_bytes()), Err(refused));
    assert_eq!(read(AUDIO, true, stream.as_bytes()).unwrap().content, "Hi");
}

#[test]
fn a_transcription_is_refused_when_it_would_lose_tool_calls() {
    let call = ToolCall { id: String::new(), name: "f".to_owned(), arguments: json!({}) };
    let answer = Answer { tool_calls: vec![call], ..Answer::default() };
    let error = built(AUDIO, &answer, "").unwrap_err();
    assert!(error.to_string().contains("no place for the entry's tool calls"), "{error}");
}

proptest! {
    #[test]
    fn any_transcription_reads_back_as_it_was_when_it_is_built(
        content in "(\\PC|\n){0,80}", counts in prop::option::of(any::<[u32; 3]>()),
        cut in 0.0..1.0f64,
    ) {
        let usage = counts.map(|[prompt, completion, cached]| TokenUsage {
            prompt_tokens: prompt.into(), completion_tokens: completion.into(),
            total_tokens: u64::from(prompt) + u64::from(completion),
            cached_tokens: cached.into(), ..TokenUsage::default()
        });
        let answer = Answer { content, usage, ..Answer::default() };
        let body = built(AUDIO, &answer, "").unwrap();
        prop_assert_eq!(read(AUDIO, false, &body), Some(answer.clone()));
        let stream = to_stream(AUDIO, &body, false).unwrap().concat();
        prop_assert_eq!(read(AUDIO, true, &stream), Some(answer));
        let part = &stream[..(stream.len() as f64 * cut) as usize];
        // The last event holds everything: unless it is complete, the stream has not ended.
        let whole = part.trim_ascii_end().len() == stream.trim_ascii_end().len();
        prop_assert_eq!(ended_well(AUDIO, part).unwrap_or(false), whole);
    }
}

#[test]
fn text_and_subtitles_are_read_by_their_media_type() {
    let read = |media, body: &str| crate::read_complete(AUDIO, media, body.as_bytes());
    assert_eq!(read("text/plain", "Well, hello.\n").unwrap().content, "Well, hello.");
    let subtitles = "WEBVTT\n\n00:00.000 --> 00:01.000\nHi\n\n";
    assert_eq!(
        read("text/VTT", subtitles).unwrap().content,
        subtitles.trim_end_matches('\n').to_owned() + "\n"
    );
    assert_eq!(read("application/json", r#"{"text":"Hi"}"#).unwrap().content, "Hi");
    assert_eq!(read("application/json", "Hi"), None);
    assert_eq!(read("text/html", "<p>"), None);
    let other = crate::read_complete(Operation::CHAT_COMPLETIONS, "text/plain", b"Hi");
    assert_eq!(other, None);
}

#[test]
fn text_is_written_where_text_is_asked_for_in_either_mode() {
    use crate::{ResponseFormat, TranscriptFormat, test_calls};
    let format_of =
        |transcript| ResponseFormat { transcript, ..test_calls::format_of(AUDIO, false) };
    let text = format_of(TranscriptFormat::Text);
    assert!(text.media_type().starts_with("text/plain"));
    let answer = Answer { content: "Well, hello there.".to_owned(), ..Answer::default() };
    let body = crate::write_answer(&text, &answer, "").unwrap();
    assert_eq!(body, b"Well, hello there.\n");
    let stream = crate::to_stream(&text, &body).unwrap();
    let again = crate::to_complete(&text, text.framing, &stream.concat());
    assert_eq!(again.unwrap(), body);
    let subtitles = crate::write_answer(&format_of(TranscriptFormat::Subtitles), &answer, "");
    assert!(matches!(subtitles, Err(ModeError::NoPlace { .. })));
}
