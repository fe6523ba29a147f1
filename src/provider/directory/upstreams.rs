//! The upstreams known by name.

use super::key_form::ApiKeyForm;
use super::known_upstream::{KnownUpstream, var};
use crate::Provider;
use crate::credential::{KeyPlacement, UpstreamCredential, bearer, header, needed};

/// Google's own tools print a token that is valid for an hour.
const GOOGLE: &[KeyPlacement] =
    &[bearer(&["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_ACCESS_TOKEN"])];
const GOOGLE_HINT: &str = "set it with GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth print-access-token)";

/// The variables that hold Gemini's key.
pub(super) const GEMINI: &[&str] =
    &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"];

const SIGNED: &str = "requests that are signed with AWS keys (SigV4) cannot be sent again this \
                      way; a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK can";

/// Keys of an Azure resource.
const AZURE_KEYS: ApiKeyForm = ApiKeyForm::alphanumeric("", 84);

/// The form of the keys of an upstream that needs none of its own.
const NO_KEYS: ApiKeyForm = ApiKeyForm::alphanumeric("", 32);

/// The upstreams known by name, in a fixed order.
pub const UPSTREAMS: &[KnownUpstream] = &[
    KnownUpstream {
        name: "openai",
        base: Some("https://api.openai.com"),
        provider: Provider::OPEN_AI,
        semantic: Some("openai"),
        variables: &[var("OPENAI_BASE_URL", "/openai/v1"), var("OPENAI_API_BASE", "/openai/v1")],
        // Codex reads its own variable.
        keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        key_form: ApiKeyForm::token("sk-proj-", 164),
        free_path: Some("/v1/models"),
        credential: needed(&[bearer(&["OPENAI_API_KEY", "CODEX_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "anthropic",
        base: Some("https://api.anthropic.com"),
        provider: Provider::ANTHROPIC,
        semantic: Some("anthropic"),
        variables: &[
            var("ANTHROPIC_BASE_URL", "/anthropic"),
            var("ANTHROPIC_API_BASE", "/anthropic"),
        ],
        keys: &["ANTHROPIC_API_KEY"],
        key_form: ApiKeyForm::token("sk-ant-api03-", 108),
        free_path: Some("/v1/models"),
        credential: needed(
            &[header("x-api-key", &["ANTHROPIC_API_KEY"]), bearer(&["ANTHROPIC_AUTH_TOKEN"])],
            "",
        ),
    },
    KnownUpstream {
        name: "gemini",
        base: Some("https://generativelanguage.googleapis.com"),
        provider: Provider::GEMINI,
        semantic: Some("gcp.gemini"),
        variables: &[
            var("GOOGLE_GEMINI_BASE_URL", "/gemini"),
            var("GEMINI_API_BASE", "/gemini/v1beta"),
        ],
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        key_form: ApiKeyForm::token("AIzaSy-", 39),
        free_path: Some("/v1beta/models"),
        credential: needed(&[header("x-goog-api-key", GEMINI)], ""),
    },
    KnownUpstream {
        name: "vertex",
        base: None,
        provider: Provider::GEMINI,
        semantic: Some("gcp.vertex_ai"),
        variables: &[
            var("GOOGLE_VERTEX_BASE_URL", "/vertex"),
            var("ANTHROPIC_VERTEX_BASE_URL", "/vertex/v1"),
        ],
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(GOOGLE, GOOGLE_HINT),
    },
    KnownUpstream {
        name: "azure",
        base: None,
        provider: Provider::OPEN_AI,
        semantic: Some("azure.ai.openai"),
        variables: &[var("AZURE_OPENAI_ENDPOINT", "/azure"), var("AZURE_API_BASE", "/azure")],
        keys: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
        key_form: AZURE_KEYS,
        free_path: None,
        credential: needed(
            &[
                header("api-key", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"]),
                bearer(&["AZURE_OPENAI_AD_TOKEN", "AZURE_AD_TOKEN"]),
            ],
            "",
        ),
    },
    KnownUpstream {
        name: "mistral",
        base: Some("https://api.mistral.ai"),
        provider: Provider::OPEN_AI,
        semantic: Some("mistral_ai"),
        // The SDK reads no variable. LiteLLM reads the first for chat and the second for all else.
        variables: &[
            var("MISTRAL_AZURE_API_BASE", "/mistral/v1"),
            var("MISTRAL_API_BASE", "/mistral/v1"),
        ],
        keys: &["MISTRAL_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("", 32),
        free_path: Some("/v1/models"),
        credential: needed(&[bearer(&["MISTRAL_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "cohere",
        base: Some("https://api.cohere.com"),
        provider: Provider::COHERE,
        semantic: Some("cohere"),
        variables: &[
            var("CO_API_URL", "/cohere"),
            // LiteLLM expects the full URL here.
            var("COHERE_API_BASE", "/cohere/v2/chat"),
        ],
        keys: &["CO_API_KEY", "COHERE_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("", 40),
        free_path: Some("/v1/models"),
        credential: needed(&[bearer(&["CO_API_KEY", "COHERE_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "groq",
        base: Some("https://api.groq.com"),
        provider: Provider::OPEN_AI,
        semantic: Some("groq"),
        variables: &[var("GROQ_BASE_URL", "/groq"), var("GROQ_API_BASE", "/groq/openai/v1")],
        keys: &["GROQ_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("gsk_", 56),
        free_path: Some("/openai/v1/models"),
        credential: needed(&[bearer(&["GROQ_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "ollama",
        base: Some("http://127.0.0.1:11434"),
        provider: Provider::OLLAMA,
        semantic: None,
        variables: &[var("OLLAMA_HOST", "/ollama"), var("OLLAMA_API_BASE", "/ollama")],
        keys: &[],
        key_form: NO_KEYS,
        free_path: Some("/api/version"),
        credential: UpstreamCredential {
            ways: &[bearer(&["OLLAMA_API_KEY"])],
            needed: false,
            hint: "",
        },
    },
    KnownUpstream {
        name: "bedrock",
        base: None,
        provider: Provider::BEDROCK,
        semantic: Some("aws.bedrock"),
        variables: &[
            var("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "/bedrock"),
            var("AWS_BEDROCK_RUNTIME_ENDPOINT", "/bedrock"),
            var("AWS_BEDROCK_BASE_URL", "/bedrock"),
            var("ANTHROPIC_BEDROCK_BASE_URL", "/bedrock"),
        ],
        // A placeholder for AWS's keys would also hide a profile or a role from every other AWS
        // client in the program.
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(&[bearer(&["AWS_BEARER_TOKEN_BEDROCK"])], SIGNED),
    },
    // Claude on the clouds of other vendors, at Anthropic's own paths.
    KnownUpstream {
        name: "anthropic-mantle",
        base: None,
        provider: Provider::ANTHROPIC,
        semantic: None,
        variables: &[var("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "/anthropic-mantle")],
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(&[bearer(&["AWS_BEARER_TOKEN_BEDROCK"])], SIGNED),
    },
    KnownUpstream {
        name: "anthropic-aws",
        base: None,
        provider: Provider::ANTHROPIC,
        semantic: None,
        variables: &[var("ANTHROPIC_AWS_BASE_URL", "/anthropic-aws")],
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(
            &[header("x-api-key", &["ANTHROPIC_AWS_API_KEY"])],
            "requests that are signed with AWS keys (SigV4) cannot be sent again this way",
        ),
    },
    KnownUpstream {
        name: "anthropic-google-cloud",
        base: None,
        provider: Provider::ANTHROPIC,
        semantic: None,
        variables: &[var("ANTHROPIC_GOOGLE_CLOUD_BASE_URL", "/anthropic-google-cloud")],
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(GOOGLE, GOOGLE_HINT),
    },
    KnownUpstream {
        name: "anthropic-foundry",
        base: None,
        provider: Provider::ANTHROPIC,
        semantic: None,
        variables: &[var("ANTHROPIC_FOUNDRY_BASE_URL", "/anthropic-foundry")],
        keys: &["ANTHROPIC_FOUNDRY_API_KEY"],
        key_form: AZURE_KEYS,
        free_path: None,
        credential: needed(&[header("x-api-key", &["ANTHROPIC_FOUNDRY_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "openrouter",
        base: Some("https://openrouter.ai"),
        provider: Provider::OPEN_AI,
        semantic: Some("openrouter"),
        variables: &[var("OPENROUTER_API_BASE", "/openrouter/api/v1")],
        keys: &["OPENROUTER_API_KEY"],
        key_form: ApiKeyForm::hex("sk-or-v1-", 73),
        free_path: Some("/api/v1/key"),
        credential: needed(&[bearer(&["OPENROUTER_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "deepseek",
        base: Some("https://api.deepseek.com"),
        provider: Provider::OPEN_AI,
        semantic: Some("deepseek"),
        variables: &[var("DEEPSEEK_API_BASE", "/deepseek")],
        keys: &["DEEPSEEK_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("sk-", 35),
        free_path: Some("/models"),
        credential: needed(&[bearer(&["DEEPSEEK_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "xai",
        base: Some("https://api.x.ai"),
        provider: Provider::OPEN_AI,
        semantic: Some("x_ai"),
        variables: &[var("XAI_API_BASE", "/xai/v1")],
        keys: &["XAI_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("xai-", 84),
        free_path: Some("/v1/models"),
        credential: needed(&[bearer(&["XAI_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "perplexity",
        base: Some("https://api.perplexity.ai"),
        provider: Provider::PERPLEXITY,
        semantic: Some("perplexity"),
        variables: &[
            var("PERPLEXITY_BASE_URL", "/perplexity"),
            var("PERPLEXITY_API_BASE", "/perplexity"),
        ],
        keys: &["PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("pplx-", 53),
        free_path: None,
        credential: needed(&[bearer(&["PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "voyage",
        base: Some("https://api.voyageai.com"),
        provider: Provider::VOYAGE,
        semantic: Some("voyage"),
        // Its client takes the address only as an argument.
        variables: &[],
        keys: &["VOYAGE_API_KEY"],
        key_form: ApiKeyForm::token("pa-", 46),
        free_path: None,
        credential: needed(&[bearer(&["VOYAGE_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "together",
        base: Some("https://api.together.xyz"),
        provider: Provider::OPEN_AI,
        semantic: Some("together"),
        variables: &[
            var("TOGETHER_BASE_URL", "/together/v1"),
            var("TOGETHER_AI_API_BASE", "/together/v1"),
        ],
        keys: &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"],
        key_form: ApiKeyForm::token("tgp_v1_", 50),
        free_path: Some("/v1/models"),
        credential: needed(&[bearer(&["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "fireworks",
        base: Some("https://api.fireworks.ai"),
        provider: Provider::OPEN_AI,
        semantic: Some("fireworks"),
        variables: &[var("FIREWORKS_API_BASE", "/fireworks/inference/v1")],
        keys: &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("fw_", 27),
        free_path: Some("/inference/v1/models"),
        credential: needed(&[bearer(&["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "cerebras",
        base: Some("https://api.cerebras.ai"),
        provider: Provider::OPEN_AI,
        semantic: None,
        variables: &[
            var("CEREBRAS_BASE_URL", "/cerebras"),
            var("CEREBRAS_API_BASE", "/cerebras/v1"),
        ],
        keys: &["CEREBRAS_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("csk-", 52),
        free_path: Some("/v1/models"),
        credential: needed(&[bearer(&["CEREBRAS_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "vercel",
        base: Some("https://ai-gateway.vercel.sh"),
        provider: Provider::OPEN_AI,
        semantic: None,
        variables: &[var("VERCEL_AI_GATEWAY_API_BASE", "/vercel/v1")],
        keys: &["AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"],
        key_form: ApiKeyForm::alphanumeric("vck_", 60),
        free_path: None,
        credential: needed(
            &[bearer(&["AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"])],
            "",
        ),
    },
    KnownUpstream {
        name: "huggingface",
        base: Some("https://router.huggingface.co"),
        provider: Provider::OPEN_AI,
        semantic: None,
        variables: &[],
        // A stand-in would also break downloads from the hub, which need no token.
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(&[bearer(&["HF_TOKEN", "HUGGINGFACE_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "ollama-cloud",
        base: Some("https://ollama.com"),
        provider: Provider::OLLAMA,
        semantic: None,
        // Its client has the variable of a local Ollama.
        variables: &[],
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(&[bearer(&["OLLAMA_API_KEY"])], ""),
    },
    KnownUpstream {
        name: "bedrock-mantle",
        base: None,
        provider: Provider::OPEN_AI,
        semantic: Some("aws.bedrock"),
        // Programs set the variable of OpenAI's SDK.
        variables: &[],
        keys: &[],
        key_form: NO_KEYS,
        free_path: None,
        credential: needed(&[bearer(&["AWS_BEARER_TOKEN_BEDROCK"])], SIGNED),
    },
];
