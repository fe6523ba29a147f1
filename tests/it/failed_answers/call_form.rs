//! The calls of the table: an operation of each provider, complete and streamed, with a good answer.

use loomrec_provider::framing::EventFrame;
use loomrec_provider::{
    Framing, Operation, ResponseFormat, StreamError, TokenUsage, TranscriptFormat, VectorTypes,
};
use serde_json::{Value, json};

use crate::support::Answer;
use crate::support::client::Call;

/// A call and the form of its answer.
#[derive(Clone, Copy)]
pub(super) struct CallForm {
    /// The name of the upstream, which the table shows.
    pub(super) provider: &'static str,
    pub(super) operation: Operation,
    /// The framing of its stream; `None` for a complete answer.
    pub(super) framing: Option<Framing>,
    path: &'static str,
}

/// Every call of the table.
pub(super) fn all() -> Vec<CallForm> {
    let form = |provider, operation, framing, path| CallForm { provider, operation, framing, path };
    let (sse, lines) = (Some(Framing::Sse), Some(Framing::Lines));
    let messages = Some(Framing::EventStream);
    vec![
        form("openai", Operation::CHAT_COMPLETIONS, None, "v1/chat/completions"),
        form("openai", Operation::CHAT_COMPLETIONS, sse, "v1/chat/completions"),
        form("openai", Operation::COMPLETIONS, sse, "v1/completions"),
        form("openai", Operation::RESPONSES, None, "v1/responses"),
        form("openai", Operation::RESPONSES, sse, "v1/responses"),
        form("openai", Operation::EMBEDDINGS, None, "v1/embeddings"),
        form("anthropic", Operation::MESSAGES, None, "v1/messages"),
        form("anthropic", Operation::MESSAGES, sse, "v1/messages"),
        form("anthropic", Operation::COUNT_TOKENS, None, "v1/messages/count_tokens"),
        form("gemini", Operation::GENERATE_CONTENT, None, "v1beta/models/gemini-x:generateContent"),
        form(
            "gemini",
            Operation::GENERATE_CONTENT,
            sse,
            "v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        ),
        form(
            "gemini",
            Operation::GENERATE_CONTENT,
            Some(Framing::Array),
            "v1beta/models/gemini-x:streamGenerateContent",
        ),
        form("bedrock", Operation::CONVERSE, None, "model/us.amazon.nova-lite-v1%3A0/converse"),
        form(
            "bedrock",
            Operation::CONVERSE,
            messages,
            "model/us.amazon.nova-lite-v1%3A0/converse-stream",
        ),
        form(
            "bedrock",
            Operation::INVOKE,
            messages,
            "model/us.anthropic.claude-sonnet-4-v1%3A0/invoke-with-response-stream",
        ),
        form("cohere", Operation::COHERE_CHAT, None, "v2/chat"),
        form("cohere", Operation::COHERE_CHAT, sse, "v2/chat"),
        form("perplexity", Operation::PERPLEXITY_CHAT, sse, "v1/sonar"),
        form("voyage", Operation::VOYAGE_EMBED, None, "v1/contextualizedembeddings"),
        form("ollama", Operation::OLLAMA_CHAT, None, "api/chat"),
        form("ollama", Operation::OLLAMA_CHAT, lines, "api/chat"),
    ]
}

impl CallForm {
    /// A call with this prompt.
    pub(super) fn call(&self, prompt: &str) -> Call {
        let mut body = json!({
            "model": "some-model", "max_tokens": 64, "input": prompt, "prompt": prompt,
            "messages": [{ "role": "user", "content": prompt }],
            "contents": [{ "role": "user", "parts": [{ "text": prompt }] }],
        });
        if matches!(self.framing, Some(Framing::Sse | Framing::Lines)) {
            body["stream"] = true.into();
        } else {
            body["stream"] = false.into();
        }
        let target = format!("/{}/{}", self.provider, self.path);
        Call::post(&target, body.to_string()).header("anthropic-version: 2023-06-01")
    }

    /// The name of its form in the table.
    pub(super) fn form_name(&self) -> &'static str {
        match self.framing {
            None => "complete",
            Some(Framing::Sse) => "server-sent events",
            Some(Framing::Lines) => "JSON lines",
            Some(Framing::Array) => "one array",
            Some(Framing::EventStream) => "AWS's event stream",
        }
    }

    fn format(&self) -> ResponseFormat<'static> {
        let is_claude = self.operation == Operation::INVOKE;
        ResponseFormat {
            operation: self.operation,
            upstream: self.provider,
            model: Some(if is_claude { "us.anthropic.claude-sonnet-4-v1:0" } else { "some-model" }),
            framing: self.framing.unwrap_or(Framing::Sse),
            usage: true,
            base64: false,
            vectors: VectorTypes::Unspecified,
            inputs: None,
            choices: 1,
            transcript: TranscriptFormat::Json,
            target: None,
        }
    }

    /// The body of a good complete answer.
    pub(super) fn body(&self) -> Vec<u8> {
        let usage = TokenUsage {
            prompt_tokens: 9,
            completion_tokens: 3,
            total_tokens: 12,
            ..TokenUsage::default()
        };
        let mut answer =
            loomrec_provider::Answer { usage: Some(usage), ..loomrec_provider::Answer::default() };
        match self.operation.makes_vectors() {
            true => answer.embeddings = vec![vec![0.6, 0.8]],
            false => answer.content = "A good answer to the prompt.".to_owned(),
        }
        loomrec_provider::write_answer(&self.format(), &answer, "seed").unwrap()
    }

    /// The events of a good stream.
    pub(super) fn events(&self) -> Vec<Vec<u8>> {
        loomrec_provider::to_stream(&self.format(), &self.body()).unwrap()
    }

    /// The event for an error in a stream.
    pub(super) fn error_event(&self) -> Vec<u8> {
        let format = self.format();
        let frame: EventFrame = loomrec_provider::stream_error(&StreamError {
            format: &format,
            status: 529,
            kind: None,
            message: "Overloaded",
            place: 2,
        });
        format.framing.write_events(&[frame]).concat()
    }

    /// The media type of a good answer.
    pub(super) fn media(&self) -> &'static str {
        self.framing.map_or("application/json", Framing::media_type)
    }

    /// A stream of these events under a good status.
    pub(super) fn stream(&self, events: &[Vec<u8>]) -> Answer {
        let media = format!("content-type: {}", self.media());
        let head = Answer::head(200, &["transfer-encoding: chunked", &media]);
        events.iter().filter(|event| !event.is_empty()).fold(head, Answer::chunk)
    }

    /// A good answer.
    pub(super) fn good(&self) -> Answer {
        match self.framing {
            Some(_) => self.stream(&self.events()).end(),
            None => Answer::json(200, self.body()),
        }
    }
}

/// The error body of a provider.
pub(super) fn error_body(provider: &str) -> Value {
    match provider {
        "cohere" => json!({ "id": "x", "message": "Overloaded" }),
        "bedrock" => json!({ "message": "Overloaded" }),
        "voyage" => json!({ "detail": "Overloaded" }),
        "ollama" => json!({ "error": "Overloaded" }),
        "anthropic" => {
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
        }
        "gemini" => {
            json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } })
        }
        _ => json!({ "error": { "message": "Overloaded", "type": "server_error", "code": null } }),
    }
}
