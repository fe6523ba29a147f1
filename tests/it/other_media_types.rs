//! Tests of streams that gateways send under another media type, or under none.

use crate::support::shape::{chat, chat_events, chat_streamed};
use crate::support::{Answer, Scene, Upstream};

const MEDIA: [&[&str]; 5] = [
    &["content-type: application/json", "transfer-encoding: chunked"],
    &["content-type: text/plain; charset=utf-8", "transfer-encoding: chunked"],
    &["content-type: application/octet-stream", "transfer-encoding: chunked"],
    &["content-type: text/html", "transfer-encoding: chunked"],
    &["transfer-encoding: chunked"],
];

#[test]
fn stream_under_another_media_type_is_read_and_served_whole() {
    for head in MEDIA {
        let scene = Scene::new();
        let events = chat_events(&["Hel", "lo"]);
        let answer = events.iter().fold(Answer::head(200, head), |it, event| it.chunk(event)).end();
        scene.recorded(&Upstream::always(answer), &[chat_streamed("hi")]);
        let take = scene.takes().remove(0).1;
        assert_eq!(
            (&take["content"], &take["finish_reason"]),
            (&"Hello".into(), &"stop".into()),
            "{head:?}"
        );
        // A caller that asks for a whole answer gets one.
        let whole = scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0);
        let whole = whole.expect(200).json();
        assert_eq!(whole["choices"][0]["message"]["content"], "Hello", "{head:?}");
        // A caller that asks for the stream gets its bytes.
        let stream = scene.replayed(&["--strict"], &[chat_streamed("hi")], 0).remove(0);
        assert_eq!(stream.expect(200).text(), events.concat(), "{head:?}");
    }
}

#[test]
fn document_under_the_media_type_of_a_stream_is_read_as_one() {
    let scene = Scene::new();
    let body = crate::support::shape::chat_answer("Hello");
    let answer = Answer::whole(200, &["content-type: text/event-stream"], &body);
    scene.recorded(&Upstream::always(answer), &[chat("hi")]);
    let take = scene.takes().remove(0).1;
    assert_eq!((&take["content"], &take["usage"]["total_tokens"]), (&"Hello".into(), &21.into()));
}
