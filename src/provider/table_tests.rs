//! Tests that the table in docs/providers.md agrees with the code.

use super::*;
use crate::test_calls::framing;
use crate::{Framing, Provider, RequestHead, RpcMethod, recognise_request};

/// The operations in the page's order, each with a request for it.
const ROWS: [(Operation, &str); 39] = [
    (Operation::CHAT_COMPLETIONS, "/v1/chat/completions"),
    (Operation::COMPLETIONS, "/v1/completions"),
    (Operation::RESPONSES, "/v1/responses"),
    (Operation::EMBEDDINGS, "/v1/embeddings"),
    (Operation::SPEECH, "/v1/audio/speech"),
    (Operation::TRANSCRIPTION, "/v1/audio/transcriptions"),
    (Operation::IMAGES, "/v1/images/generations"),
    (Operation::FILES, "/v1/files"),
    (Operation::BATCHES, "/v1/batches"),
    (Operation::STORED_RESPONSES, "/v1/responses/resp_1"),
    (Operation::RESPONSES_COUNT_TOKENS, "/v1/responses/input_tokens"),
    (Operation::COMPACT, "/v1/responses/compact"),
    (Operation::RUNS, "/v1/threads/thread_1/runs"),
    (Operation::THREADS, "/v1/threads"),
    (Operation::ASSISTANTS, "/v1/assistants"),
    (Operation::MODERATIONS, "/v1/moderations"),
    (Operation::VIDEOS, "/v1/videos"),
    (Operation::MESSAGES, "/v1/messages"),
    (Operation::COUNT_TOKENS, "/v1/messages/count_tokens"),
    (Operation::MESSAGE_BATCHES, "/v1/messages/batches"),
    (Operation::TEXT_COMPLETIONS, "/v1/complete"),
    (Operation::GENERATE_CONTENT, "/v1beta/models/gemini-2.5-flash:generateContent"),
    (Operation::EMBED_CONTENT, "/v1beta/models/gemini-embedding-001:batchEmbedContents"),
    (Operation::GEMINI_COUNT_TOKENS, "/v1beta/models/gemini-2.5-flash:countTokens"),
    (Operation::INTERACTIONS, "/v1beta/interactions"),
    (Operation::CONVERSE, "/model/us.amazon.nova-lite-v1%3A0/converse"),
    (Operation::INVOKE, "/model/us.amazon.nova-lite-v1%3A0/invoke"),
    (Operation::BEDROCK_COUNT_TOKENS, "/model/us.amazon.nova-lite-v1%3A0/count-tokens"),
    (Operation::COHERE_CHAT, "/v2/chat"),
    (Operation::COHERE_EMBED, "/v2/embed"),
    (Operation::RERANK, "/v2/rerank"),
    (Operation::PERPLEXITY_CHAT, "/v1/sonar"),
    (Operation::VOYAGE_EMBED, "/v1/contextualizedembeddings"),
    (Operation::VOYAGE_RERANK, "/v1/rerank"),
    (Operation::OLLAMA_CHAT, "/api/chat"),
    (Operation::OLLAMA_GENERATE, "/api/generate"),
    (Operation::OLLAMA_EMBED, "/api/embed"),
    (Operation::MCP, "/mcp"),
    (Operation::GRPC, "/xai_api.Chat/GetCompletion"),
];

fn provider(operation: Operation, path: &str) -> Provider {
    let body = loomrec_identity::parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
    let method = RpcMethod::from_body(&body).unwrap();
    let media = if operation == Operation::GRPC { "application/grpc" } else { "application/json" };
    let call = recognise_request(&RequestHead {
        method: "POST",
        path,
        query: "",
        headers: &[("content-type".to_owned(), media.to_owned())],
        body_model: (operation == Operation::VOYAGE_RERANK).then_some("rerank-2.5"),
        body_stream: None,
        has_messages: false,
        rpc: (operation == Operation::MCP).then_some(&method),
    });
    assert_eq!(call.operation, operation, "{path}");
    call.provider
}

fn table() -> String {
    let mut text = "| provider | operation | for example | read | streams read | streams as | \
                    streamed ⇄ complete | from words |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (operation, path) in ROWS {
        let row = operation.row();
        let yes = |done: bool| if done { "yes" } else { "–" };
        let streams = match (row.read_stream.is_some(), framing(operation)) {
            (false, _) => "–",
            (true, Framing::Sse) if operation == Operation::GENERATE_CONTENT => {
                "server-sent events, or one array"
            }
            (true, Framing::Sse) => "server-sent events",
            (true, Framing::Lines) => "a JSON value a line",
            (true, Framing::Array) => "one array",
            (true, Framing::EventStream) => "AWS's event stream",
        };
        let mode = match (row.split.is_some(), row.merge.is_some()) {
            (true, true) => "both ways",
            (true, false) => "to a stream",
            (false, true) => "to a complete answer",
            (false, false) => "–",
        };
        let (read, stream) = (yes(row.read.is_some()), yes(row.read_stream.is_some()));
        let row = [
            provider(operation, path).name(),
            operation.name(),
            &format!("`{path}`"),
            read,
            stream,
            streams,
            mode,
            yes(row.write.is_some()),
        ];
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

#[test]
fn every_operation_but_the_unknown_has_a_row() {
    for operation in Operation::all() {
        let listed = ROWS.iter().any(|(row, _)| *row == operation);
        assert_eq!(listed, operation != Operation::OTHER, "{operation:?}");
    }
}

#[test]
fn the_table_in_the_documents_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers.md");
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
