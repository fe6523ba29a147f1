use super::*;
use crate::credential::KeyCarrier;

#[test]
fn every_entry_is_whole_and_named_once() {
    let mut names = std::collections::BTreeSet::new();
    let mut variables = std::collections::BTreeSet::new();
    for upstream in UPSTREAMS {
        assert!(names.insert(upstream.name), "{} twice", upstream.name);
        assert_eq!(KnownUpstream::find(upstream.name), Some(upstream));
        let base = upstream.base.unwrap_or("https://example.com");
        assert!(base.starts_with("http") && !base.ends_with('/'), "{base}");
        for variable in upstream.variables {
            let mount = format!("/{}", upstream.name);
            let tail = variable.suffix.strip_prefix(mount.as_str());
            assert_eq!(tail, Some(upstream.suffix_after_mount(variable)), "{}", variable.name);
            assert!(variables.insert(variable.name), "{} twice", variable.name);
        }
    }
    assert_eq!(KnownUpstream::find("nobody"), None);
}

#[test]
fn tails_are_what_the_sdks_append_to() {
    let tail = |name: &str| {
        let mut all = UPSTREAMS
            .iter()
            .flat_map(|upstream| upstream.variables.iter().map(move |var| (upstream, var)));
        let (upstream, variable) = all.find(|(_, variable)| variable.name == name).unwrap();
        upstream.suffix_after_mount(variable)
    };
    assert_eq!(tail("OPENAI_BASE_URL"), "/v1");
    assert_eq!(tail("ANTHROPIC_BASE_URL"), "");
    assert_eq!(tail("GROQ_BASE_URL"), "");
    assert_eq!(tail("GROQ_API_BASE"), "/openai/v1");
    assert_eq!(tail("OPENROUTER_API_BASE"), "/api/v1");
}

#[test]
fn bare_paths_are_placed_by_their_shape() {
    for (method, path, name) in [
        ("POST", "/v1/messages", Some("anthropic")),
        ("POST", "/messages", Some("anthropic")),
        ("GET", "/v1/messages/batches/b1", Some("anthropic")),
        ("POST", "/v1/chat/completions", Some("openai")),
        ("POST", "/chat/completions", Some("openai")),
        ("POST", "/v1/responses", Some("openai")),
        ("DELETE", "/v1/responses/resp_1", Some("openai")),
        ("GET", "/v1/models", Some("openai")),
        ("GET", "/v1/models/ft:gpt-4o:org::id", Some("openai")),
        ("GET", "/v1/files/f1/content", Some("openai")),
        ("POST", "/v1beta/models/gemini-2.0:generateContent", Some("gemini")),
        ("POST", "/v1/models/gemini-2.0:generateContent", Some("gemini")),
        (
            "POST",
            "/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
            Some("vertex"),
        ),
        ("POST", "/api/chat", Some("ollama")),
        ("GET", "/api/tags", Some("ollama")),
        ("POST", "/v2/chat", Some("cohere")),
        ("POST", "/v1/chat", Some("cohere")),
        ("POST", "/model/anthropic.claude-v2%3A1/converse", Some("bedrock")),
        ("POST", "/openai/deployments/d/chat/completions", Some("azure")),
        ("GET", "/", None),
        ("GET", "/favicon.ico", None),
        ("POST", "/v1", None),
        ("POST", "/v1/chatter", None),
        ("POST", "/model/x/sing", None),
    ] {
        assert_eq!(upstream_for(method, path, &[]), name, "{method} {path}");
    }
}

#[test]
fn models_are_anthropics_when_its_version_header_is_there() {
    let headers = [("anthropic-version".to_owned(), "2023-06-01".to_owned())];
    assert_eq!(upstream_for("GET", "/v1/models", &headers), Some("anthropic"));
    assert_eq!(upstream_for("GET", "/favicon.ico", &headers), None);
}

#[test]
fn anthropics_spellings_lead_to_its_own_path() {
    let anthropic = KnownUpstream::find("anthropic").unwrap();
    for (path, own) in [
        ("/messages", "/v1/messages"),
        ("/messages/count_tokens", "/v1/messages/count_tokens"),
        ("/v1/v1/messages", "/v1/messages"),
        ("/v1/messages", "/v1/messages"),
        ("/messages-of-mine", "/messages-of-mine"),
    ] {
        assert_eq!(anthropic.own_path(path), own);
    }
    let openai = KnownUpstream::find("openai").unwrap();
    assert_eq!(openai.own_path("/v1/v1/messages"), "/v1/v1/messages");
}

#[test]
fn every_upstream_known_by_name_says_where_its_key_is() {
    for upstream in UPSTREAMS {
        let found =
            credential_for(upstream.name, "/v1/x").unwrap_or_else(|| panic!("{}", upstream.name));
        assert!(found.variables().next().is_some(), "{}", upstream.name);
        // They include the keys that its SDKs require.
        for key in upstream.keys {
            assert!(found.variables().any(|known| known == *key), "{key}");
        }
    }
    assert_eq!(credential_for("mine", "/v1/x"), None);
}

#[test]
fn path_in_another_shape_gets_the_key_as_that_shape_has_it() {
    let carrier = |path: &str| credential_for("gemini", path).unwrap().ways[0].carrier;
    assert_eq!(carrier("/v1beta/openai/chat/completions"), KeyCarrier::Bearer);
    assert_eq!(carrier("/v1beta/models/m:generateContent"), KeyCarrier::Header("x-goog-api-key"));
    assert_eq!(crate::credential::variable_name("my-gate.way2"), "MY_GATE_WAY2_API_KEY");
}

#[test]
fn stand_in_for_a_key_names_loomrec_where_keys_can_hold_words() {
    for upstream in UPSTREAMS.iter().filter(|upstream| !upstream.keys.is_empty()) {
        let key = upstream.key_form.stand_in();
        let names_us =
            key.contains("loomrec-replay-stand-in") || key.contains("loomrecReplayStandIn");
        assert!(names_us || upstream.name == "openrouter", "{}: {key}", upstream.name);
        assert!(key.ends_with("0000"), "{}: {key}", upstream.name);
    }
}
