//! What is asked of the form of an answer, and why it cannot be had.

use super::framing::Framing;
use super::{Operation, RecognisedCall};
use crate::identity::{self, Json};

/// What a request asks of the form of its answer.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFormat<'a> {
    /// The operation.
    pub operation: Operation,
    /// The upstream's name: it tells apart those that share a shape.
    pub upstream: &'a str,
    /// The model asked for.
    pub model: Option<&'a str>,
    /// How its streams are framed.
    pub framing: Framing,
    /// Whether a stream is to tell its usage, where that is a choice
    /// (`stream_options.include_usage`).
    pub usage: bool,
    /// Whether vectors are asked for in base64 (`encoding_format`).
    pub base64: bool,
    /// Of what types vectors are asked for (Cohere's `embedding_types`).
    pub vectors: VectorTypes,
    /// How many texts vectors are asked for of, where that can be told.
    pub inputs: Option<usize>,
    /// How many choices are asked for: without an end marker, a stream of fewer was cut.
    pub choices: usize,
    /// What form a transcription is asked for in (`response_format`).
    pub transcript: TranscriptFormat,
    /// What the call's key is formed over ([`RecognisedCall::target`]): for many operations the
    /// path, which can say more of the form than the operation does.
    pub target: Option<&'a str>,
}

/// Of what types vectors are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorTypes {
    /// The request does not say.
    Unsaid,
    /// Numbers with a fraction, and no others.
    Float,
    /// Others too, or others alone.
    Other,
}

/// What form a transcription is asked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// JSON, which all are unless the request says otherwise.
    Json,
    /// The text and nothing else.
    Text,
    /// Subtitles, with a time for each line.
    Subtitles,
}

impl<'a> ResponseFormat<'a> {
    /// What a request with this raw query and body asks for.
    pub fn of(call: &'a RecognisedCall, upstream: &'a str, query: &str, body: &[u8]) -> Self {
        let json = identity::parse(body).ok();
        let field = |name: &str| json.as_ref().and_then(|json| json.get(name));
        let usage = field("stream_options")
            .and_then(|options| options.get("include_usage")?.as_bool())
            .unwrap_or(false);
        let base64 = field("encoding_format")
            .and_then(|format| format.as_str().map(|format| format == "base64"))
            .unwrap_or(false);
        let vectors = match field("embedding_types").and_then(|types| types.as_array()) {
            None | Some([]) => VectorTypes::Unsaid,
            Some([only]) if only.as_str().as_deref() == Some("float") => VectorTypes::Float,
            Some(_) => VectorTypes::Other,
        };
        // Cohere's first version streams lines of JSON, its second events.
        let target = call.target.as_deref();
        let lines = call.operation == Operation::CohereChat
            && target.is_some_and(|path| path.ends_with("/v1/chat"));
        let framing = Framing::asked(call.operation, query);
        Self {
            operation: call.operation,
            upstream,
            model: call.model.as_deref(),
            framing: if lines { Framing::Lines } else { framing },
            usage,
            base64,
            vectors,
            inputs: json.as_ref().and_then(|body| inputs(call.operation, body)),
            choices: choices(call.operation, json.as_ref()),
            transcript: match call.operation {
                Operation::Transcription => transcript(body),
                _ => TranscriptFormat::Json,
            },
            target,
        }
    }

    /// The media type of a complete answer.
    pub fn media(&self) -> &'static str {
        match self.transcript {
            TranscriptFormat::Json => "application/json",
            TranscriptFormat::Text | TranscriptFormat::Subtitles => "text/plain; charset=utf-8",
        }
    }
}

/// How many choices a body asks for: at least one.
fn choices(operation: Operation, body: Option<&Json<'_>>) -> usize {
    let number = |value: Option<&Json<'_>>| value?.as_number()?.parse::<usize>().ok();
    let field = |name: &str| body?.get(name);
    let within = |outer: &str, name: &str| field(outer)?.get(name);
    let asked = match operation {
        Operation::ChatCompletions | Operation::Invoke => number(field("n")),
        Operation::Completions => {
            // Several prompts are several texts or several lists of tokens; a list of
            // numbers is one prompt.
            let prompts = field("prompt").and_then(Json::as_array).unwrap_or_default();
            let several = prompts.iter().filter(|prompt| prompt.as_number().is_none()).count();
            Some(number(field("n")).unwrap_or(1).saturating_mul(several.max(1)))
        }
        Operation::GenerateContent => number(within("generationConfig", "candidateCount"))
            .or_else(|| number(within("generation_config", "candidate_count"))),
        _ => None,
    };
    asked.unwrap_or(1).max(1)
}

/// The form that a transcription's multipart body asks for.
fn transcript(body: &[u8]) -> TranscriptFormat {
    let asks_for = |format: &[u8]| {
        let name = b"name=\"response_format\"";
        let Some(at) = memchr::memmem::find(body, name) else { return false };
        let rest = &body[at + name.len()..];
        let value = memchr::memmem::find(rest, b"\r\n\r\n").map(|at| &rest[at + 4..]);
        value
            .and_then(|value| value.strip_prefix(format))
            .is_some_and(|end| end.starts_with(b"\r\n"))
    };
    match () {
        () if asks_for(b"text") => TranscriptFormat::Text,
        () if asks_for(b"srt") || asks_for(b"vtt") => TranscriptFormat::Subtitles,
        () => TranscriptFormat::Json,
    }
}

/// How many texts a request wants vectors of.
fn inputs(operation: Operation, body: &identity::Json<'_>) -> Option<usize> {
    let length = |name: &str| body.get(name)?.as_array().map(<[_]>::len);
    match operation {
        Operation::Embeddings | Operation::OllamaEmbed => match body.get("input")?.as_array() {
            // Tokens, which are one text.
            Some([first, ..]) if first.as_number().is_some() => Some(1),
            Some(texts) => Some(texts.len()),
            None => Some(1),
        },
        Operation::EmbedContent => length("requests"),
        Operation::CohereEmbed => {
            ["texts", "inputs", "images"].into_iter().filter_map(length).reduce(|a, b| a + b)
        }
        _ => None,
    }
}

/// Why an answer cannot be delivered in the other mode, or not be built at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// The operation's streams cannot be changed.
    #[error(
        "a {recorded} recording of {operation} cannot answer a {wanted} request yet; record this call in both modes"
    )]
    NotYet {
        /// The operation's name.
        operation: &'static str,
        /// The mode it was recorded in.
        recorded: &'static str,
        /// The mode it was asked for in.
        wanted: &'static str,
    },
    /// The stream lacks its end, or holds an error.
    #[error("the recorded stream did not end well, so no complete answer can be made of it")]
    Unended,
    /// The bytes are not an answer of this operation.
    #[error(
        "the recorded answer is not one of {operation}, so it cannot be served in the other mode"
    )]
    Unreadable {
        /// The operation's name.
        operation: &'static str,
    },
    /// The operation's answers are more than words.
    #[error(
        "an answer of {operation} cannot be built from words alone; record this call through loomrec"
    )]
    NotFromWords {
        /// The operation's name.
        operation: &'static str,
    },
    /// What was said has no place in an answer of this operation.
    #[error(
        "an answer of {operation} has no place for the entry's {what}; record this call through loomrec"
    )]
    NoPlace {
        /// The operation's name.
        operation: &'static str,
        /// What has no place, in the plural.
        what: &'static str,
    },
    /// Vectors of so many texts are asked for, and another number was kept.
    #[error(
        "{asked} vectors are asked for and the entry has {kept}, so it is not told which text each is of; record this call through loomrec"
    )]
    OtherCount {
        /// How many are asked for.
        asked: usize,
        /// How many were kept.
        kept: usize,
    },
    /// Vectors are asked for, and none were kept.
    #[error(
        "an answer of {operation} needs vectors, and the entry has none that are all numbers; record this call through loomrec"
    )]
    NoVectors {
        /// The operation's name.
        operation: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(operation: Operation, body: &str) -> usize {
        choices(operation, identity::parse(body.as_bytes()).ok().as_ref())
    }

    #[test]
    fn choices_are_counted_as_each_request_asks_for_them() {
        let chat = |body| asked(Operation::ChatCompletions, body);
        let (three, prompts) = (r#"{"n":3}"#, r#"{"n":2,"prompt":["a","b"]}"#);
        assert_eq!([chat("{}"), chat(three), chat(r#"{"n":0}"#), chat("no")], [1, 3, 1, 1]);
        let text = |body| asked(Operation::Completions, body);
        assert_eq!([text(three), text(prompts)], [3, 4]);
        assert_eq!([text(r#"{"prompt":[1,2,3]}"#), text(r#"{"prompt":[[1,2],[3]]}"#)], [1, 2]);
        let gemini = |body| asked(Operation::GenerateContent, body);
        let two = r#"{"generationConfig":{"candidateCount":2}}"#;
        assert_eq!([gemini(two), gemini("{}")], [2, 1]);
        assert_eq!(asked(Operation::Embeddings, three), 1);
    }

    #[test]
    fn a_transcription_says_its_form_in_a_field() {
        let part = |name: &str, value: &str| {
            format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let form = |value: &str| {
            let body = part("model", "whisper-1") + &part("response_format", value) + "--B--\r\n";
            transcript(body.as_bytes())
        };
        assert_eq!(form("text"), TranscriptFormat::Text);
        assert_eq!([form("srt"), form("vtt")], [TranscriptFormat::Subtitles; 2]);
        assert_eq!(
            [form("json"), form("verbose_json"), form("textual")],
            [TranscriptFormat::Json; 3]
        );
        let none = part("prompt", "text") + "--B--\r\n";
        assert_eq!([transcript(none.as_bytes()), transcript(b"")], [TranscriptFormat::Json; 2]);
    }

    #[test]
    fn the_texts_that_vectors_are_asked_of_are_counted_where_they_can_be_told() {
        use Operation::{CohereEmbed, EmbedContent, Embeddings, OllamaEmbed};
        for (operation, body, count) in [
            (Embeddings, json!({"input": "a"}), Some(1)),
            (Embeddings, json!({"input": ["a", "b"]}), Some(2)),
            (Embeddings, json!({"input": [1, 2, 3]}), Some(1)),
            (Embeddings, json!({"input": [[1, 2], [3]]}), Some(2)),
            (Embeddings, json!({}), None),
            (OllamaEmbed, json!({"input": ["a", "b"]}), Some(2)),
            (OllamaEmbed, json!({"prompt": "a"}), None),
            (EmbedContent, json!({"requests": [{}, {}]}), Some(2)),
            (EmbedContent, json!({"content": {}}), None),
            (CohereEmbed, json!({"texts": ["a"], "images": ["b"]}), Some(2)),
            (CohereEmbed, json!({}), None),
            (Operation::ChatCompletions, json!({"input": ["a"]}), None),
        ] {
            let text = body.to_string();
            let read = identity::parse(text.as_bytes()).unwrap();
            assert_eq!(inputs(operation, &read), count, "{operation:?} {text}");
        }
    }

    #[test]
    fn vectors_of_another_number_of_texts_are_no_answer() {
        let answer = crate::provider::Answer {
            embeddings: vec![vec![0.5], vec![1.0]],
            ..crate::provider::Answer::default()
        };
        for operation in [Operation::Embeddings, Operation::CohereEmbed, Operation::OllamaEmbed] {
            let written = |inputs| {
                let asked = ResponseFormat {
                    inputs,
                    ..crate::provider::test_calls::asked(operation, false)
                };
                crate::provider::write(&asked, &answer, "seed")
            };
            assert!(written(Some(2)).is_ok() && written(None).is_ok());
            let other = Err(ModeError::OtherCount { asked: 3, kept: 2 });
            assert_eq!(written(Some(3)), other, "{operation:?}");
        }
    }
}
