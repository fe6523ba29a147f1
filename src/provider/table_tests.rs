//! The table in docs/providers.md is what the code does.

use super::*;
use crate::provider::test_calls::framing;
use crate::provider::{Framing, Provider, RequestHead, recognise};

/// The operations in the page's order, each with a request that asks for it.
const ROWS: [(Operation, &str); 23] = [
    (Operation::ChatCompletions, "/v1/chat/completions"),
    (Operation::Completions, "/v1/completions"),
    (Operation::Responses, "/v1/responses"),
    (Operation::Embeddings, "/v1/embeddings"),
    (Operation::Speech, "/v1/audio/speech"),
    (Operation::Transcription, "/v1/audio/transcriptions"),
    (Operation::Images, "/v1/images/generations"),
    (Operation::Files, "/v1/files"),
    (Operation::Batches, "/v1/batches"),
    (Operation::Messages, "/v1/messages"),
    (Operation::CountTokens, "/v1/messages/count_tokens"),
    (Operation::MessageBatches, "/v1/messages/batches"),
    (Operation::GenerateContent, "/v1beta/models/gemini-2.5-flash:generateContent"),
    (Operation::EmbedContent, "/v1beta/models/gemini-embedding-001:batchEmbedContents"),
    (Operation::GeminiCountTokens, "/v1beta/models/gemini-2.5-flash:countTokens"),
    (Operation::Converse, "/model/us.amazon.nova-lite-v1%3A0/converse"),
    (Operation::Invoke, "/model/us.amazon.nova-lite-v1%3A0/invoke"),
    (Operation::CohereChat, "/v2/chat"),
    (Operation::CohereEmbed, "/v2/embed"),
    (Operation::Rerank, "/v2/rerank"),
    (Operation::OllamaChat, "/api/chat"),
    (Operation::OllamaGenerate, "/api/generate"),
    (Operation::OllamaEmbed, "/api/embed"),
];

fn provider(operation: Operation, path: &str) -> Provider {
    let call = recognise(&RequestHead {
        method: "POST",
        path,
        query: "",
        headers: &[],
        body_model: None,
        body_stream: None,
    });
    assert_eq!(call.operation, operation, "{path}");
    call.provider
}

fn table() -> String {
    let mut text = "| provider | operation | for example | read | streams read | streams as | \
                    streamed ⇄ complete | from words |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (operation, path) in ROWS {
        let wire = wire(operation);
        let yes = |done: bool| if done { "yes" } else { "–" };
        let streams = match (wire.read_stream.is_some(), framing(operation)) {
            (false, _) => "–",
            (true, Framing::Sse) if operation == Operation::GenerateContent => {
                "server-sent events, or one array"
            }
            (true, Framing::Sse) => "server-sent events",
            (true, Framing::Lines) => "a JSON value a line",
            (true, Framing::Array) => "one array",
            (true, Framing::EventStream) => "AWS's event stream",
        };
        let mode = match (wire.split.is_some(), wire.merge.is_some()) {
            (true, true) => "both ways",
            (true, false) => "to a stream",
            (false, true) => "to a complete answer",
            (false, false) => "–",
        };
        let (read, stream) = (yes(wire.read.is_some()), yes(wire.read_stream.is_some()));
        let row = [
            provider(operation, path).name(),
            operation.name(),
            &format!("`{path}`"),
            read,
            stream,
            streams,
            mode,
            yes(wire.write.is_some()),
        ];
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

#[test]
fn every_operation_but_the_unknown_has_a_row() {
    for operation in Operation::ALL {
        let listed = ROWS.iter().any(|(row, _)| *row == operation);
        assert_eq!(listed, operation != Operation::Other, "{operation:?}");
    }
}

#[test]
fn the_table_in_the_documents_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/providers.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- table:begin -->\n\n").unwrap();
    let (table_there, after) = rest.split_once("\n<!-- table:end -->").unwrap();
    let table = table();
    if std::env::var_os("LOOMREC_WRITE_TABLE").is_some() {
        let page = format!("{before}<!-- table:begin -->\n\n{table}\n<!-- table:end -->{after}");
        std::fs::write(path, page).unwrap();
        return;
    }
    assert_eq!(
        table_there, table,
        "to write it anew: LOOMREC_WRITE_TABLE=1 cargo test --lib table"
    );
}
