//! The format of the answer that a request asks for.

use super::answer_form::{TranscriptFormat, VectorTypes};
use super::operation::ResponseFormat;
use super::provider_row::RecognisedCall;

impl<'a> ResponseFormat<'a> {
    /// The format that a request with this raw query and body asks for.
    pub fn from_call(
        call: &'a RecognisedCall,
        upstream: &'a str,
        query: &str,
        body: &[u8],
    ) -> Self {
        let json = loomrec_identity::parse(body).ok();
        let field = |name: &str| json.as_ref().and_then(|json| json.get(name));
        let usage = field("stream_options")
            .and_then(|options| options.get("include_usage")?.as_bool())
            .unwrap_or(false);
        let base64 = field("encoding_format")
            .and_then(|format| format.as_str().map(|format| format == "base64"))
            .unwrap_or(false);
        let vectors = match field("embedding_types").and_then(|types| types.as_array()) {
            None | Some([]) => VectorTypes::Unspecified,
            Some([only]) if only.as_str().as_deref() == Some("float") => VectorTypes::Float,
            Some(_) => VectorTypes::Other,
        };
        let target = call.target.as_deref();
        let row = call.operation.row();
        Self {
            operation: call.operation,
            upstream,
            model: call.model.as_deref(),
            framing: (row.framing)(query, target),
            usage,
            base64,
            vectors,
            inputs: json.as_ref().and_then(row.inputs.unwrap_or(|_| None)),
            choices: json.as_ref().and_then(row.choices).unwrap_or(1).max(1),
            transcript: (row.transcript)(body),
            target,
        }
    }

    /// The media type of a complete answer.
    pub fn media_type(&self) -> &'static str {
        match self.transcript {
            TranscriptFormat::Json => "application/json",
            TranscriptFormat::Text | TranscriptFormat::Subtitles => "text/plain; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ModeError, Operation};

    fn choices(operation: Operation, body: &str) -> usize {
        let body = loomrec_identity::parse(body.as_bytes()).ok();
        body.as_ref().and_then(operation.row().choices).unwrap_or(1).max(1)
    }

    #[test]
    fn choices_are_counted_as_each_request_asks_for_them() {
        let chat = |body| choices(Operation::CHAT_COMPLETIONS, body);
        let (three, prompts) = (r#"{"n":3}"#, r#"{"n":2,"prompt":["a","b"]}"#);
        assert_eq!([chat("{}"), chat(three), chat(r#"{"n":0}"#), chat("no")], [1, 3, 1, 1]);
        let text = |body| choices(Operation::COMPLETIONS, body);
        assert_eq!([text(three), text(prompts)], [3, 4]);
        assert_eq!([text(r#"{"prompt":[1,2,3]}"#), text(r#"{"prompt":[[1,2],[3]]}"#)], [1, 2]);
        let gemini = |body| choices(Operation::GENERATE_CONTENT, body);
        let two = r#"{"generationConfig":{"candidateCount":2}}"#;
        assert_eq!([gemini(two), gemini("{}")], [2, 1]);
        assert_eq!(choices(Operation::EMBEDDINGS, three), 1);
    }

    #[test]
    fn a_transcription_says_its_form_in_a_field() {
        let part = |name: &str, value: &str| {
            format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let form = |value: &str| {
            let body = part("model", "whisper-1") + &part("response_format", value) + "--B--\r\n";
            (Operation::TRANSCRIPTION.row().transcript)(body.as_bytes())
        };
        assert_eq!(form("text"), TranscriptFormat::Text);
        assert_eq!([form("srt"), form("vtt")], [TranscriptFormat::Subtitles; 2]);
        assert_eq!(
            [form("json"), form("verbose_json"), form("textual")],
            [TranscriptFormat::Json; 3]
        );
        let transcript = Operation::TRANSCRIPTION.row().transcript;
        let none = part("prompt", "text") + "--B--\r\n";
        assert_eq!([transcript(none.as_bytes()), transcript(b"")], [TranscriptFormat::Json; 2]);
    }

    #[test]
    fn the_texts_that_vectors_are_asked_of_are_counted_where_they_can_be_told() {
        for (operation, body, count) in [
            (Operation::EMBEDDINGS, json!({"input": "a"}), Some(1)),
            (Operation::EMBEDDINGS, json!({"input": ["a", "b"]}), Some(2)),
            (Operation::EMBEDDINGS, json!({"input": [1, 2, 3]}), Some(1)),
            (Operation::EMBEDDINGS, json!({"input": [[1, 2], [3]]}), Some(2)),
            (Operation::EMBEDDINGS, json!({}), None),
            (Operation::OLLAMA_EMBED, json!({"input": ["a", "b"]}), Some(2)),
            (Operation::OLLAMA_EMBED, json!({"prompt": "a"}), None),
            (Operation::EMBED_CONTENT, json!({"requests": [{}, {}]}), Some(2)),
            (Operation::EMBED_CONTENT, json!({"content": {}}), None),
            (Operation::COHERE_EMBED, json!({"texts": ["a"], "images": ["b"]}), Some(2)),
            (Operation::COHERE_EMBED, json!({}), None),
            (Operation::CHAT_COMPLETIONS, json!({"input": ["a"]}), None),
        ] {
            let text = body.to_string();
            let read = loomrec_identity::parse(text.as_bytes()).unwrap();
            assert_eq!(
                operation.row().inputs.and_then(|inputs| inputs(&read)),
                count,
                "{operation:?} {text}"
            );
        }
    }

    #[test]
    fn vectors_of_another_number_of_texts_are_no_answer() {
        let answer =
            crate::Answer { embeddings: vec![vec![0.5], vec![1.0]], ..crate::Answer::default() };
        for operation in [Operation::EMBEDDINGS, Operation::COHERE_EMBED, Operation::OLLAMA_EMBED] {
            let written = |inputs| {
                let format =
                    ResponseFormat { inputs, ..crate::test_calls::format_of(operation, false) };
                crate::write_answer(&format, &answer, "seed")
            };
            assert!(written(Some(2)).is_ok() && written(None).is_ok());
            let other = Err(ModeError::OtherCount { requested: 3, kept: 2 });
            assert_eq!(written(Some(3)), other, "{operation:?}");
        }
    }
}
