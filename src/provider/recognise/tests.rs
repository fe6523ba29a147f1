use super::*;

fn seen<'a>(method: &'a str, path: &'a str) -> RequestHead<'a> {
    RequestHead {
        method,
        path,
        query: "",
        headers: &[],
        body_model: Some("body-model"),
        body_stream: None,
        has_messages: false,
        rpc: None,
    }
}

/// The provider, operation, model and target of a POST.
fn post(path: &str) -> (Provider, Operation, String, Option<String>) {
    let call = recognise_request(&seen("POST", path));
    (call.provider, call.operation, call.model.unwrap(), call.target)
}

fn expect(
    provider: Provider,
    operation: Operation,
    model: &str,
    target: &str,
) -> (Provider, Operation, String, Option<String>) {
    let target = (!target.is_empty()).then(|| target.to_owned());
    (provider, operation, model.to_owned(), target)
}

#[test]
fn openai_operations_are_known_by_the_end_of_their_path() {
    let prefixes = ["/v1", "", "/openai/v1", "/api/v1", "/inference/v1"];
    for prefix in prefixes {
        let chat = post(&format!("{prefix}/chat/completions"));
        assert_eq!(chat, expect(Provider::OPEN_AI, Operation::CHAT_COMPLETIONS, "body-model", ""));
        for (path, operation) in [
            ("/completions", Operation::COMPLETIONS),
            ("/responses", Operation::RESPONSES),
            ("/embeddings", Operation::EMBEDDINGS),
        ] {
            let path = format!("{prefix}{path}");
            let target = path.strip_prefix("/v1").unwrap_or(&path);
            let expected = expect(Provider::OPEN_AI, operation, "body-model", target);
            assert_eq!(post(&path), expected);
        }
    }
}

#[test]
fn chat_is_tagged_when_the_url_says_more_than_the_body() {
    let mut chat = seen("POST", "/v1/chat/completions");
    chat.query = "api-version=2024-10-21";
    let target = recognise_request(&chat).target;
    assert_eq!(target.as_deref(), Some("/chat/completions"));
    let path = "/openai/deployments/my%20gpt/chat/completions";
    let azure = expect(Provider::OPEN_AI, Operation::CHAT_COMPLETIONS, "my gpt", path);
    assert_eq!(post(path), azure);
}

#[test]
fn other_methods_are_other_operations() {
    for (path, target) in [
        ("/v1/chat/completions", "/chat/completions"),
        ("/v1/responses", "/responses"),
        ("/v1/messages", "/v1/messages"),
    ] {
        for method in ["GET", "DELETE"] {
            let call = recognise_request(&seen(method, path));
            assert_eq!(call.operation, Operation::OTHER, "{method} {path}");
            assert_eq!(call.target.as_deref(), Some(target));
        }
    }
    let tuned = recognise_request(&seen("GET", "/v1/models/ft:gpt-4o:org::abc"));
    assert_eq!((tuned.provider, tuned.operation), (Provider::OPEN_AI, Operation::OTHER));
}

#[test]
fn an_openai_target_is_the_same_when_the_base_url_holds_the_version() {
    let paths = [
        "/completions",
        "/responses",
        "/responses/resp_1/cancel",
        "/embeddings",
        "/models",
        "/models/ft:gpt-4o:org::abc",
        "/files/file%2D1/content",
        "/batches",
        "/audio/transcriptions",
        "/images/generations",
        "/moderations",
        "/uploads/u_1/parts",
        "/vector_stores/vs_1/files",
        "/v1/models",
    ];
    for path in paths {
        // A POST to a name with a colon is one of Google's verbs.
        let methods = if path.contains(':') { &["GET", "DELETE"][..] } else { &["GET", "POST"] };
        for method in methods {
            let versioned = format!("/v1{path}");
            let call = recognise_request(&seen(method, &versioned));
            assert_eq!(call.provider, Provider::OPEN_AI, "{method} {versioned}");
            assert_eq!(call.target.as_deref(), Some(path));
            if path != "/v1/models" {
                let bare = recognise_request(&seen(method, path));
                assert_eq!(bare.target.as_deref(), Some(path));
            }
        }
    }
}

#[test]
fn a_target_keeps_its_version_when_it_is_not_openais_own_first_segment() {
    let anthropic = [("anthropic-version".to_owned(), "2023-06-01".to_owned())];
    let google = [("x-goog-api-key".to_owned(), String::new())];
    let none = [];
    for (path, headers) in [
        ("/v1/models", &anthropic[..]),
        ("/v1/models", &google),
        ("/v1/embed", &none),
        ("/v1/chat", &none),
        ("/v1beta/models", &none),
        ("/openai/v1/models", &none),
        ("/team-a/v1/responses", &none),
        ("/v1x/responses", &none),
        ("/v1", &none),
    ] {
        let mut seen = seen("POST", path);
        seen.headers = headers;
        assert_eq!(recognise_request(&seen).target.as_deref(), Some(path));
    }
}

#[test]
fn a_place_is_what_is_left_of_a_chat_path() {
    for (path, left) in [
        ("/v1/chat/completions", ""),
        ("/chat/completions", ""),
        ("/team-a/v1/chat/completions", "/team-a/v1"),
        ("/team-a/chat/completions", "/team-a"),
        ("/v1/team%2Da/chat/completions", "/team%2Da"),
        ("/v1/v1/chat/completions", "/v1"),
        ("/v1beta/openai/chat/completions", "/v1beta/openai"),
        ("/v1/chat/completions/", "/chat/completions/"),
        ("/v1", ""),
        ("", ""),
    ] {
        assert_eq!(chat_mount(path), left, "{path}");
    }
}

#[test]
fn anthropic_spellings_are_one_operation() {
    for path in ["/v1/messages", "/messages", "/v1/v1/messages"] {
        let messages = "anthropic.messages";
        let expected = expect(Provider::ANTHROPIC, Operation::MESSAGES, "body-model", messages);
        assert_eq!(post(path), expected);
        let count = "anthropic.count_tokens";
        let expected = expect(Provider::ANTHROPIC, Operation::COUNT_TOKENS, "body-model", count);
        assert_eq!(post(&format!("{path}/count_tokens")), expected);
    }
    assert_eq!(post("/v1/messages/batches").1, Operation::MESSAGE_BATCHES);
    assert_eq!(post("/v1/messages/batches/msgbatch_1/cancel").0, Provider::ANTHROPIC);
}

#[test]
fn messages_elsewhere_need_anthropics_version_header() {
    let path = "/v1/threads/thread_1/messages";
    assert_eq!(post(path).1, Operation::THREADS);
    assert_eq!(post(path).0, Provider::OPEN_AI);
    let headers = [("anthropic-version".to_owned(), "2023-06-01".to_owned())];
    let mut gateway = seen("POST", "/api/v1/messages");
    gateway.headers = &headers;
    let call = recognise_request(&gateway);
    assert_eq!(call.operation, Operation::MESSAGES);
    assert_eq!(call.target.as_deref(), Some("/api/v1/messages"));
    gateway.path = "/v1/models";
    gateway.method = "GET";
    assert_eq!(recognise_request(&gateway).provider, Provider::ANTHROPIC);
}

#[test]
fn gemini_verbs_are_one_target_and_name_model_and_mode() {
    let base = "/v1beta/models/gemini-2.5-flash";
    let target = format!("{base}:generateContent");
    for (verb, streamed) in [("generateContent", false), ("streamGenerateContent", true)] {
        let path = format!("{base}:{verb}");
        let call = recognise_request(&seen("POST", &path));
        assert_eq!(call.operation, Operation::GENERATE_CONTENT);
        assert_eq!(call.model.as_deref(), Some("gemini-2.5-flash"));
        assert_eq!(call.target.as_ref(), Some(&target));
        assert_eq!(call.streamed, streamed);
    }
    let vertex =
        "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.0:generateContent";
    let expected = expect(Provider::GEMINI, Operation::GENERATE_CONTENT, "gemini-2.0", vertex);
    assert_eq!(post(vertex), expected);
    let embed = "/v1beta/models/text-embedding-004:batchEmbedContents";
    assert_eq!(post(embed).1, Operation::EMBED_CONTENT);
    let count = post("/v1/models/gemini-2.0:countTokens");
    assert_eq!((count.0, count.1), (Provider::GEMINI, Operation::GEMINI_COUNT_TOKENS));
    assert_eq!(post("/v1beta/tunedModels/mine:generateContent").2, "tunedModels/mine");
}

#[test]
fn claude_on_vertex_is_messages() {
    let base = "/v1/projects/p/locations/l/publishers/anthropic/models";
    let path = format!("{base}/claude-sonnet-4@20250514:streamRawPredict");
    let call = recognise_request(&seen("POST", &path));
    assert_eq!((call.provider, call.operation), (Provider::ANTHROPIC, Operation::MESSAGES));
    assert_eq!(call.model.as_deref(), Some("claude-sonnet-4@20250514"));
    assert!(call.streamed);
    assert!(call.target.unwrap().ends_with(":rawPredict"));
    let count = post(&format!("{base}/count-tokens:rawPredict"));
    assert_eq!((count.1, count.2.as_str()), (Operation::COUNT_TOKENS, "body-model"));
}

#[test]
fn bedrock_names_model_and_mode_in_the_path() {
    let id = "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude";
    for (verb, plain, streamed) in [
        ("converse", "converse", false),
        ("converse-stream", "converse", true),
        ("invoke", "invoke", false),
        ("invoke-with-response-stream", "invoke", true),
    ] {
        let path = format!("/model/{id}/{verb}");
        let call = recognise_request(&seen("POST", &path));
        let converse = plain == "converse";
        let operation = if converse { Operation::CONVERSE } else { Operation::INVOKE };
        assert_eq!(call.operation, operation);
        assert_eq!(call.streamed, streamed);
        assert_eq!(call.target, Some(format!("/model/{id}/{plain}")));
        let model = call.model.unwrap();
        assert_eq!(model, "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude");
    }
}

#[test]
fn ollama_streams_when_it_is_not_told_otherwise() {
    let mut chat = seen("POST", "/api/chat");
    assert!(recognise_request(&chat).streamed);
    assert_eq!(recognise_request(&chat).operation, Operation::OLLAMA_CHAT);
    chat.body_stream = Some(false);
    assert!(!recognise_request(&chat).streamed);
    let embed = recognise_request(&seen("POST", "/api/embed"));
    assert_eq!((embed.provider, embed.streamed), (Provider::OLLAMA, false));
    assert!(!recognise_request(&seen("POST", "/v1/chat/completions")).streamed);
}

#[test]
fn cohere_is_known_by_its_paths() {
    assert_eq!(post("/v2/chat").1, Operation::COHERE_CHAT);
    assert_eq!(post("/v1/chat").1, Operation::COHERE_CHAT);
    let embed = post("/v2/embed");
    assert_eq!((embed.0, embed.1), (Provider::COHERE, Operation::COHERE_EMBED));
}

#[test]
fn files_are_those_of_the_api_whose_headers_came() {
    assert_eq!((post("/v1/files").0, post("/v1/files").1), (Provider::OPEN_AI, Operation::FILES));
    assert_eq!(recognise_request(&seen("GET", "/v1/batches/b_1")).operation, Operation::BATCHES);
    let headers = [("anthropic-version".to_owned(), "2023-06-01".to_owned())];
    let mut files = seen("GET", "/v1/files/file_1");
    files.headers = &headers;
    let call = recognise_request(&files);
    assert_eq!((call.provider, call.operation), (Provider::ANTHROPIC, Operation::OTHER));
}

#[test]
fn delivery_is_chosen_only_by_operations_that_stream() {
    assert!(
        has_delivery_mode(Operation::CHAT_COMPLETIONS) && has_delivery_mode(Operation::MESSAGES)
    );
    assert!(
        has_delivery_mode(Operation::GENERATE_CONTENT) && has_delivery_mode(Operation::RESPONSES)
    );
    assert!(!has_delivery_mode(Operation::OTHER) && !has_delivery_mode(Operation::EMBEDDINGS));
    assert!(
        !has_delivery_mode(Operation::COUNT_TOKENS) && !has_delivery_mode(Operation::EMBED_CONTENT)
    );
}

proptest::proptest! {
    #[test]
    fn any_path_is_recognised_as_something(
        method in "(GET|POST|PUT)", path in "[/a-z:%1.é]{0,40}", query in "[a-z=&]{0,8}"
    ) {
        let mut seen = seen(&method, &path);
        seen.query = &query;
        let call = recognise_request(&seen);
        let chat = call.operation == Operation::CHAT_COMPLETIONS;
        proptest::prop_assert!(call.target.is_some() || chat);
    }
}

#[test]
fn vertex_predictions_are_embeddings_by_the_models_name() {
    let path = |model: &str| {
        format!("/v1/projects/p/locations/l/publishers/google/models/{model}:predict")
    };
    let told = |model: &str| {
        let call = recognise_request(&seen("POST", &path(model)));
        // The target is the path, whatever operation it is recognised as.
        assert_eq!(call.target, Some(path(model)));
        (call.provider, call.operation, call.streamed)
    };
    let embed = (Provider::GEMINI, Operation::EMBED_CONTENT, false);
    for model in ["text-embedding-005", "gemini-embedding-001", "multimodalembedding@001"] {
        assert_eq!(told(model), embed);
    }
    assert_eq!(told("imagen-4.0-generate-001").1, Operation::OTHER);
    assert!(!has_delivery_mode(Operation::EMBED_CONTENT) && !has_delivery_mode(Operation::OTHER));
}

#[test]
fn chat_with_messages_at_coheres_first_path_has_openais_format() {
    let mut chat = seen("POST", "/v1/chat");
    assert_eq!(recognise_request(&chat).operation, Operation::COHERE_CHAT);
    let before = recognise_request(&chat).target;
    chat.has_messages = true;
    let call = recognise_request(&chat);
    assert_eq!((call.provider, call.operation), (Provider::OPEN_AI, Operation::CHAT_COMPLETIONS));
    assert_eq!(call.target, before, "the key stays");
    chat.path = "/v2/chat";
    assert_eq!(recognise_request(&chat).operation, Operation::COHERE_CHAT);
}
