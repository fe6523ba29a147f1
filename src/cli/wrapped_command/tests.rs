use super::*;

fn environment(current: &[(&str, &str)], single: bool, stand_in: bool) -> BTreeMap<String, String> {
    let current = current.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let wanted = EnvironmentSource {
        origin: "http://127.0.0.1:5",
        current: &current,
        skip: &["CO_API_URL".to_owned()],
        stand_in_keys: if stand_in { &StandInKeys::All } else { &StandInKeys::None },
        single,
        known: &["groq".to_owned()],
    };
    CommandEnvironment::from_source(&wanted).variables.into_iter().collect()
}

#[test]
fn sdk_variables_point_here_and_skipped_ones_stay() {
    let set = environment(&[("NO_PROXY", "a.b, localhost")], false, false);
    assert_eq!(set["OPENAI_BASE_URL"], "http://127.0.0.1:5/openai/v1");
    assert_eq!(set["ANTHROPIC_BASE_URL"], "http://127.0.0.1:5/anthropic");
    assert_eq!(set["NO_PROXY"], "a.b,localhost,127.0.0.1");
    assert_eq!(set["no_proxy"], "a.b,localhost,127.0.0.1");
    assert!(!set.contains_key("CO_API_URL") && !set.contains_key("OPENAI_API_KEY"));
}

/// The variables from which SDKs read their base URL, with the path that each expects after
/// loomrec's address.
const READ: [(&str, &str); 39] = [
    ("OPENAI_BASE_URL", "/openai/v1"),
    ("OPENAI_API_BASE", "/openai/v1"),
    ("AZURE_OPENAI_ENDPOINT", "/azure"),
    ("AZURE_API_BASE", "/azure"),
    ("AWS_BEDROCK_BASE_URL", "/bedrock"),
    ("ANTHROPIC_BASE_URL", "/anthropic"),
    ("ANTHROPIC_API_BASE", "/anthropic"),
    ("ANTHROPIC_BEDROCK_BASE_URL", "/bedrock"),
    ("ANTHROPIC_VERTEX_BASE_URL", "/vertex/v1"),
    ("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "/anthropic-mantle"),
    ("ANTHROPIC_FOUNDRY_BASE_URL", "/anthropic-foundry"),
    ("ANTHROPIC_GOOGLE_CLOUD_BASE_URL", "/anthropic-google-cloud"),
    ("ANTHROPIC_AWS_BASE_URL", "/anthropic-aws"),
    ("GOOGLE_GEMINI_BASE_URL", "/gemini"),
    ("GOOGLE_VERTEX_BASE_URL", "/vertex"),
    ("GEMINI_API_BASE", "/gemini/v1beta"),
    ("MISTRAL_AZURE_API_BASE", "/mistral/v1"),
    ("MISTRAL_API_BASE", "/mistral/v1"),
    ("CO_API_URL", "/cohere"),
    ("COHERE_API_BASE", "/cohere/v2/chat"),
    ("OLLAMA_HOST", "/ollama"),
    ("OLLAMA_API_BASE", "/ollama"),
    ("GROQ_BASE_URL", "/groq"),
    ("GROQ_API_BASE", "/groq/openai/v1"),
    ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "/bedrock"),
    ("AWS_BEDROCK_RUNTIME_ENDPOINT", "/bedrock"),
    ("OPENROUTER_API_BASE", "/openrouter/api/v1"),
    ("PERPLEXITY_BASE_URL", "/perplexity"),
    ("PERPLEXITY_API_BASE", "/perplexity"),
    ("TOGETHER_AI_API_BASE", "/together/v1"),
    ("TOGETHER_BASE_URL", "/together/v1"),
    ("DEEPSEEK_API_BASE", "/deepseek"),
    ("XAI_API_BASE", "/xai/v1"),
    ("FIREWORKS_API_BASE", "/fireworks/inference/v1"),
    ("CEREBRAS_BASE_URL", "/cerebras"),
    ("CEREBRAS_API_BASE", "/cerebras/v1"),
    ("VERCEL_AI_GATEWAY_API_BASE", "/vercel/v1"),
    ("LITELLM_LOCAL_MODEL_COST_MAP", ""),
    ("LOOMREC_URL", ""),
];

#[test]
fn every_sdks_variable_is_set_when_its_upstream_is_known() {
    let known: Vec<String> = UPSTREAMS.iter().map(|known| known.name.to_owned()).collect();
    let current = BTreeMap::new();
    let wanted = EnvironmentSource {
        origin: "http://127.0.0.1:5",
        current: &current,
        skip: &[],
        stand_in_keys: &StandInKeys::All,
        single: false,
        known: &known,
    };
    let mut set: BTreeMap<_, _> =
        CommandEnvironment::from_source(&wanted).variables.into_iter().collect();
    assert_eq!(set["LITELLM_LOCAL_MODEL_COST_MAP"], "True");
    let is_key = |name: &str| UPSTREAMS.iter().any(|upstream| upstream.keys.contains(&name));
    set.retain(|name, _| !is_key(name) && !name.eq_ignore_ascii_case("no_proxy"));
    for (name, path) in READ {
        let value = set.remove(name).unwrap_or_else(|| panic!("{name} is not set"));
        assert!(value == "True" || value == format!("http://127.0.0.1:5{path}"), "{name}: {value}");
    }
    assert!(set.is_empty(), "nobody is known to read {set:?}");
}

#[test]
fn litellm_may_fetch_where_calls_go_out_or_the_user_says_so() {
    let (name, _) = NO_FETCHING;
    assert!(!environment(&[], false, false).contains_key(name));
    assert!(!environment(&[(name, "False")], false, true).contains_key(name));
}

#[test]
fn missing_keys_get_a_stand_in_and_given_ones_stay() {
    let set = environment(&[("OPENAI_API_KEY", "sk-mine")], false, true);
    assert!(!set.contains_key("OPENAI_API_KEY"));
    let anthropic = format!("{:0<108}", "sk-ant-api03-loomrec-replay-stand-in-");
    assert_eq!(set["ANTHROPIC_API_KEY"], anthropic);
    assert_eq!(set["GEMINI_API_KEY"], "AIzaSy-loomrec-replay-stand-in-00000000");
    assert_eq!(set["GEMINI_API_KEY"], set["GOOGLE_GENERATIVE_AI_API_KEY"]);
    assert_eq!(set["CODEX_API_KEY"], format!("{:0<164}", "sk-proj-loomrec-replay-stand-in-"));
    let missing = UPSTREAMS.iter().flat_map(|upstream| upstream.keys);
    let missing: Vec<_> = missing.filter(|key| !set.contains_key(**key)).collect();
    assert_eq!(missing, [&"OPENAI_API_KEY", &"GOOGLE_API_KEY"]);
}

#[test]
fn one_name_of_googles_key_gets_a_stand_in_when_neither_is_set() {
    let names = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
    let given = |current: &[(&str, &str)]| {
        let set = environment(current, false, true);
        names.map(|name| set.contains_key(name))
    };
    assert_eq!(given(&[]), [true, false]);
    assert_eq!(given(&[("GEMINI_API_KEY", "mine")]), [false, false]);
    assert_eq!(given(&[("GOOGLE_API_KEY", "mine")]), [false, false]);
    assert_eq!(given(&[("GOOGLE_API_KEY", ""), ("GEMINI_API_KEY", "")]), [true, false]);
}

#[test]
fn single_upstream_is_reached_without_a_mount_but_named_ones_keep_theirs() {
    let set = environment(&[], true, false);
    assert_eq!(set["OPENAI_BASE_URL"], "http://127.0.0.1:5/v1");
    assert_eq!(set["ANTHROPIC_BASE_URL"], "http://127.0.0.1:5");
    assert_eq!(set["GROQ_BASE_URL"], "http://127.0.0.1:5/groq");
}

#[test]
fn a_host_without_a_scheme_is_read_as_ollamas_clients_read_it() {
    for (host, base) in [
        ("0.0.0.0", "http://127.0.0.1:11434/"),
        ("gpu.test", "http://gpu.test:11434/"),
        (":8080", "http://127.0.0.1:8080/"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
        ("gpu.test:80/api", "http://gpu.test/api"),
        ("[::1]", "http://[::1]:11434/"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("http://gpu.test", "http://gpu.test/"),
    ] {
        let current = [("OLLAMA_HOST".to_owned(), host.to_owned())].into_iter().collect();
        let found = custom_upstreams(&current, &[]);
        assert_eq!(found.first().map(|(_, url)| url.as_str()), Some(base), "{host}");
    }
}

#[test]
fn gateway_in_the_environment_becomes_the_upstream() {
    let current = [
        ("OPENAI_BASE_URL", "http://gw.test/llm/v1/"),
        ("ANTHROPIC_BASE_URL", "http://gw.test/claude"),
    ];
    let map = current.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let found: BTreeMap<_, _> = custom_upstreams(&map, &[]).into_iter().collect();
    assert_eq!(found["openai"].as_str(), "http://gw.test/llm");
    assert_eq!(found["anthropic"].as_str(), "http://gw.test/claude");
    let whole = environment(&[("OPENAI_BASE_URL", "http://gw.test/llm")], false, false);
    assert_eq!(whole["OPENAI_BASE_URL"], "http://127.0.0.1:5/openai");
}
