//! The hosts at which providers serve models: one table, by patterns.
//!
//! A host that is missing here is no secret: whoever watches connections counts the hosts that this
//! table does not know. A new host of a provider gets a pattern in the row of that provider; a new
//! provider gets a row.

use super::upstreams::UPSTREAMS;

/// The hosts of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderHosts {
    /// The name of the upstream: a known one, or the one that a user would give it.
    pub upstream: &'static str,
    /// Whether the paths of its calls are those of the known upstream of that name.
    pub has_known_paths: bool,
    /// Patterns of host names, in lower case. In a label, `*` stands for some characters; `**`, as
    /// the first label, for one label or several.
    pub patterns: &'static [&'static str],
}

const fn known(upstream: &'static str, patterns: &'static [&'static str]) -> ProviderHosts {
    ProviderHosts { upstream, has_known_paths: true, patterns }
}

const fn other(upstream: &'static str, patterns: &'static [&'static str]) -> ProviderHosts {
    ProviderHosts { upstream, has_known_paths: false, patterns }
}

/// The hosts of providers, besides those of the base URLs of [`UPSTREAMS`].
pub const PROVIDER_HOSTS: &[ProviderHosts] = &[
    known("openai", &["**.api.openai.com"]),
    // Codex and the ChatGPT apps call models under the address of the web site.
    other("chatgpt", &["chatgpt.com"]),
    known("anthropic", &["**.api.anthropic.com"]),
    other("gemini-code-assist", &["cloudcode-pa.googleapis.com"]),
    known(
        "vertex",
        &[
            "aiplatform.googleapis.com",
            "*-aiplatform.googleapis.com",
            "*-aiplatform.mtls.googleapis.com",
            "aiplatform.mtls.googleapis.com",
            "aiplatform.*.rep.googleapis.com",
            "*-aiplatform.p.googleapis.com",
        ],
    ),
    // Dedicated endpoints of Vertex AI.
    other("vertex-endpoint", &["**.prediction.vertexai.goog", "**.prediction.p.vertexai.goog"]),
    known(
        "azure",
        &[
            "**.openai.azure.com",
            "**.cognitiveservices.azure.com",
            "**.services.ai.azure.com",
            "**.openai.azure.us",
            "**.cognitiveservices.azure.us",
            "**.services.ai.azure.us",
            "**.openai.azure.cn",
            "**.cognitiveservices.azure.cn",
        ],
    ),
    // Before the pattern of Azure's that one of its hosts has, too.
    other("github-models", &["models.github.ai", "models.inference.ai.azure.com"]),
    other(
        "azure-ai",
        &[
            "**.models.ai.azure.com",
            "**.inference.ai.azure.com",
            "**.inference.ml.azure.com",
            "**.api.cognitive.microsoft.com",
            "**.api.cognitive.azure.cn",
        ],
    ),
    other(
        "github-copilot",
        &[
            "api.githubcopilot.com",
            "**.api.githubcopilot.com",
            "api.*.githubcopilot.com",
            "copilot-proxy.githubusercontent.com",
        ],
    ),
    known(
        "bedrock",
        &[
            "bedrock-runtime.*.amazonaws.com",
            "bedrock-runtime-fips.*.amazonaws.com",
            "bedrock-runtime.*.api.aws",
            "bedrock-runtime-fips.*.api.aws",
            "bedrock-runtime.*.amazonaws.com.cn",
            // Interface endpoints of a VPC.
            "**.bedrock-runtime.*.vpce.amazonaws.com",
            "**.bedrock-runtime-fips.*.vpce.amazonaws.com",
        ],
    ),
    known(
        "bedrock-mantle",
        &[
            "bedrock-mantle.*.api.aws",
            "bedrock-mantle-fips.*.api.aws",
            "**.bedrock-mantle.*.vpce.amazonaws.com",
        ],
    ),
    other(
        "bedrock-agents",
        &[
            "bedrock-agent-runtime.*.amazonaws.com",
            "bedrock-agent-runtime-fips.*.amazonaws.com",
            "bedrock-agentcore.*.amazonaws.com",
            "**.bedrock-agent-runtime.*.vpce.amazonaws.com",
        ],
    ),
    other(
        "sagemaker",
        &[
            "runtime.sagemaker.*.amazonaws.com",
            "runtime-fips.sagemaker.*.amazonaws.com",
            "**.runtime.sagemaker.*.vpce.amazonaws.com",
        ],
    ),
    other(
        "huggingface-inference",
        &["api-inference.huggingface.co", "**.endpoints.huggingface.cloud"],
    ),
    other(
        "nvidia",
        &[
            "integrate.api.nvidia.com",
            "ai.api.nvidia.com",
            "**.api.nvcf.nvidia.com",
            "api.nvcf.nvidia.com",
        ],
    ),
    known("cerebras", &["**.api.cerebras.ai"]),
    other("sambanova", &["api.sambanova.ai", "**.api.sambanova.ai"]),
    known("groq", &["**.api.groq.com"]),
    other(
        "dashscope",
        &[
            "dashscope.aliyuncs.com",
            "dashscope-*.aliyuncs.com",
            "**.dashscope.aliyuncs.com",
            "**.maas.aliyuncs.com",
        ],
    ),
    other("moonshot", &["api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"]),
    other("zhipu", &["open.bigmodel.cn", "api.z.ai"]),
    other(
        "minimax",
        &["api.minimax.io", "api.minimaxi.com", "api.minimax.chat", "api-uw.minimax.io"],
    ),
    other("volcengine", &["ark.*.volces.com", "ark.*.bytepluses.com"]),
    other("hunyuan", &["api.hunyuan.cloud.tencent.com", "hunyuan.tencentcloudapi.com"]),
    other("qianfan", &["qianfan.baidubce.com", "aip.baidubce.com"]),
    other("siliconflow", &["api.siliconflow.cn", "api.siliconflow.com"]),
    other("stepfun", &["api.stepfun.com", "api.stepfun.ai"]),
    known("xai", &["**.api.x.ai"]),
    known("mistral", &["**.api.mistral.ai"]),
    other("codestral", &["codestral.mistral.ai"]),
    known("cohere", &["api.cohere.ai", "**.api.cohere.com", "**.api.cohere.ai"]),
    known("together", &["api.together.ai", "**.api.together.xyz", "**.api.together.ai"]),
    known("fireworks", &["**.api.fireworks.ai"]),
    other("fireworks-direct", &["**.direct.fireworks.ai"]),
    known("deepseek", &["**.api.deepseek.com"]),
    known("openrouter", &["**.openrouter.ai"]),
    known("perplexity", &["**.api.perplexity.ai"]),
    known("voyage", &["ai.mongodb.com", "**.api.voyageai.com"]),
    other("replicate", &["api.replicate.com", "**.api.replicate.com"]),
    other(
        "elevenlabs",
        &["api.elevenlabs.io", "api.*.elevenlabs.io", "api.*.residency.elevenlabs.io"],
    ),
    other("ai21", &["api.ai21.com"]),
    other("aleph-alpha", &["api.aleph-alpha.com"]),
    other("anyscale", &["api.endpoints.anyscale.com"]),
    other(
        "assemblyai",
        &[
            "api.assemblyai.com",
            "api.*.assemblyai.com",
            "llm-gateway.assemblyai.com",
            "llm-gateway.*.assemblyai.com",
        ],
    ),
    other("baseten", &["inference.baseten.co", "**.api.baseten.co"]),
    other("cloudflare", &["gateway.ai.cloudflare.com"]),
    other("deepgram", &["api.deepgram.com", "api.*.deepgram.com", "agent.deepgram.com"]),
    other("deepinfra", &["api.deepinfra.com"]),
    other("fal", &["fal.run", "queue.fal.run", "**.fal.run"]),
    other("featherless", &["api.featherless.ai"]),
    other("friendli", &["api.friendli.ai", "inference.friendli.ai"]),
    other(
        "helicone",
        &[
            "oai.helicone.ai",
            "anthropic.helicone.ai",
            "gateway.helicone.ai",
            "ai-gateway.helicone.ai",
        ],
    ),
    other("hyperbolic", &["api.hyperbolic.xyz"]),
    other("inception", &["api.inceptionlabs.ai"]),
    other("jina", &["api.jina.ai"]),
    other("lambda", &["api.lambda.ai", "api.lambdalabs.com"]),
    other("lepton", &["**.lepton.run"]),
    other("llama-api", &["api.llama.com", "**.api.llama.com"]),
    other(
        "nebius",
        &[
            "api.studio.nebius.ai",
            "api.studio.nebius.com",
            "api.*.studio.nebius.com",
            "api.tokenfactory.nebius.com",
            "api.*.tokenfactory.nebius.com",
        ],
    ),
    other("nomic", &["api-atlas.nomic.ai"]),
    other("novita", &["api.novita.ai"]),
    known("ollama-cloud", &["api.ollama.com"]),
    other("parasail", &["api.parasail.io"]),
    other("portkey", &["api.portkey.ai", "**.api.portkey.ai"]),
    other("reka", &["api.reka.ai"]),
    other("scaleway", &["api.scaleway.ai"]),
    other("stability", &["api.stability.ai"]),
    other("upstage", &["api.upstage.ai"]),
    other("v0", &["api.v0.dev"]),
    other("watsonx", &["**.ml.cloud.ibm.com"]),
    other("writer", &["api.writer.com"]),
    other("zero-one", &["api.lingyiwanwu.com"]),
];

impl ProviderHosts {
    /// Finds the provider that serves models at a host, which is in lower case and has no dot at its
    /// end.
    pub fn find(host: &str) -> Option<&'static Self> {
        PROVIDER_HOSTS.iter().find(|hosts| hosts.patterns.iter().any(|it| matches(it, host)))
    }

    /// Returns the host of each upstream that has no known base URL, if its calls go to one host
    /// rather than to that of a region or a customer.
    pub fn fixed_hosts() -> impl Iterator<Item = (&'static str, &'static str)> {
        let first = |hosts: &Self| hosts.patterns.first().filter(|it| !it.contains('*')).copied();
        let has_base =
            |name: &str| UPSTREAMS.iter().any(|known| known.name == name && known.base.is_some());
        let fixed = PROVIDER_HOSTS.iter().filter(move |hosts| !has_base(hosts.upstream));
        fixed.filter_map(move |hosts| Some((hosts.upstream, first(hosts)?)))
    }

    /// Returns the name of the upstream at a host. Its case, and a dot at its end, do not matter.
    pub fn upstream_at(host: &str) -> Option<&'static str> {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let base = UPSTREAMS.iter().find(|known| known.public_host() == Some(host.as_str()));
        base.map(|known| known.name).or_else(|| Some(Self::find(&host)?.upstream))
    }
}

/// Whether a host has this pattern.
fn matches(pattern: &str, host: &str) -> bool {
    if let Some(end) = pattern.strip_prefix("**.") {
        let Some(start) = host.len().checked_sub(labels_len(end, host)) else { return false };
        // At least one label stands before the end, and each has characters.
        let Some(before) = host[..start].strip_suffix('.') else { return false };
        return before.split('.').all(|label| !label.is_empty()) && matches(end, &host[start..]);
    }
    let (mut patterns, mut labels) = (pattern.split('.'), host.split('.'));
    loop {
        match (patterns.next(), labels.next()) {
            (None, None) => return true,
            (Some(pattern), Some(label)) if label_matches(pattern, label) => {}
            _ => return false,
        }
    }
}

/// How many bytes the last labels of a host take, as many of them as the pattern has. More than the
/// host has if it has fewer labels.
fn labels_len(pattern: &str, host: &str) -> usize {
    let count = pattern.split('.').count();
    let labels: Vec<&str> = host.rsplit('.').take(count).collect();
    match labels.len() == count {
        true => labels.iter().map(|label| label.len()).sum::<usize>() + count - 1,
        false => usize::MAX,
    }
}

/// Whether a label has this pattern, in which one `*` stands for at least one character.
fn label_matches(pattern: &str, label: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == label,
        Some((start, end)) => {
            label.len() > start.len() + end.len()
                && label.starts_with(start)
                && label.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that has this pattern.
    fn sample(pattern: &str) -> String {
        pattern.replacen("**", "a.b-1", 1).replace('*', "us-east-1")
    }

    fn patterns() -> impl Iterator<Item = (&'static ProviderHosts, &'static str)> {
        PROVIDER_HOSTS.iter().flat_map(|hosts| hosts.patterns.iter().map(move |it| (hosts, *it)))
    }

    #[test]
    fn each_pattern_finds_its_provider_and_no_host_that_only_looks_like_it() {
        for (hosts, pattern) in patterns() {
            let host = sample(pattern);
            let upstream = Some(hosts.upstream);
            for spelled in [host.clone(), host.to_uppercase(), format!("{host}.")] {
                assert_eq!(ProviderHosts::upstream_at(&spelled), upstream, "{spelled}");
            }
            for like in [
                format!("{host}.evil.test"),
                format!("{host}-evil.test"),
                format!("{host}x"),
                format!(".{host}"),
                host.replace('.', "-"),
                host.replacen('.', "..", 1),
            ] {
                assert_eq!(ProviderHosts::upstream_at(&like), None, "{like} has {pattern}");
            }
        }
    }

    #[test]
    fn a_pattern_without_a_star_in_front_has_no_host_with_more_in_front() {
        for (_, pattern) in patterns().filter(|(_, it)| !it.starts_with('*')) {
            let host = format!("x{}", sample(pattern));
            // Another pattern may have it.
            assert!(!matches(pattern, &host), "{host} has {pattern}");
        }
    }

    #[test]
    fn patterns_are_in_lower_case_and_no_pattern_is_there_twice() {
        let mut seen = std::collections::BTreeSet::new();
        let mut names = std::collections::BTreeSet::new();
        for hosts in PROVIDER_HOSTS {
            assert!(names.insert(hosts.upstream), "{} twice", hosts.upstream);
            let is_known = UPSTREAMS.iter().any(|known| known.name == hosts.upstream);
            assert_eq!(hosts.has_known_paths, is_known, "{}", hosts.upstream);
        }
        for (_, pattern) in patterns() {
            assert!(seen.insert(pattern), "{pattern} twice");
            assert_eq!(pattern, pattern.to_ascii_lowercase());
            // A star alone must not stand for the name that a provider has registered.
            let registered: Vec<&str> = pattern.rsplit('.').take(2).collect();
            assert!(registered.iter().all(|label| !label.contains('*')), "{pattern}");
        }
    }

    #[test]
    fn base_urls_of_known_upstreams_are_hosts_of_providers() {
        let hosts = UPSTREAMS.iter().filter_map(|known| Some((known.name, known.public_host()?)));
        for (name, host) in hosts {
            assert_eq!(ProviderHosts::upstream_at(host), Some(name));
        }
    }

    #[test]
    fn upstreams_without_a_base_url_have_one_fixed_host_or_none() {
        let fixed: std::collections::BTreeMap<_, _> = ProviderHosts::fixed_hosts().collect();
        assert_eq!(fixed.get("elevenlabs"), Some(&"api.elevenlabs.io"));
        for name in ["openai", "azure", "bedrock", "voyage"] {
            assert_eq!(fixed.get(name), None, "{name}");
        }
        for (name, host) in fixed {
            assert_eq!(ProviderHosts::upstream_at(host), Some(name));
        }
    }

    #[test]
    fn other_spellings_and_addresses_are_no_hosts_of_providers() {
        for host in [
            "",
            ".",
            "openai.com",
            "xapi.openai.com",
            "api.openai.com.evil.test",
            "api.openai.com..",
            "xn--pi-7ia.openai.com",
            "xn--openai-9xa.com",
            "[::1]",
            "[2606:4700::6810:1]",
            "104.18.6.192",
            "bedrock-runtime..amazonaws.com",
            "bedrock-runtime.a.b.amazonaws.com",
            "-aiplatform.googleapis.com",
        ] {
            assert_eq!(ProviderHosts::upstream_at(host), None, "{host:?}");
        }
    }
}
