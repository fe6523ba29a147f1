//! The mapping from public addresses to upstreams.

use super::provider_host::ProviderHosts;
use super::upstreams::UPSTREAMS;

/// Returns the upstream at a host (in lower case) and port (`None` for the default of the scheme),
/// and the prefix of the path that belongs to the base URL.
pub fn upstream_at(
    host: &str,
    port: Option<u16>,
    path: &str,
) -> Option<(&'static str, &'static str)> {
    let known = UPSTREAMS.iter().find(|upstream| match upstream.local_port() {
        Some(own) => is_loopback(host) && port == Some(own),
        None => upstream.public_host() == Some(host) && port.is_none(),
    });
    if let Some(known) = known {
        return Some((known.name, ""));
    }
    if port.is_some() {
        return None;
    }
    if host.ends_with(".services.ai.azure.com") && path.starts_with("/anthropic/") {
        return Some(("anthropic-foundry", "/anthropic"));
    }
    let is_mantle = host.starts_with("bedrock-mantle.") && host.ends_with(".api.aws");
    if is_mantle && path.starts_with("/anthropic/") {
        return Some(("anthropic-mantle", "/anthropic"));
    }
    let hosts = ProviderHosts::find(host).filter(|hosts| hosts.has_known_paths)?;
    Some((hosts.upstream, ""))
}

/// Whether a host is one of the usual names of this machine.
fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_tells_its_upstream_by_host_port_and_path() {
        let at = |host, port| upstream_at(host, port, "/v1/x").map(|(name, _)| name);
        assert_eq!(at("api.openai.com", None), Some("openai"));
        assert_eq!(at("eu.api.openai.com", None), Some("openai"));
        assert_eq!(at("api.openai.com", Some(8443)), None);
        assert_eq!(at("localhost", Some(11434)), Some("ollama"));
        assert_eq!(at("127.0.0.1", Some(9999)), None);
        assert_eq!(at("mine.openai.azure.com", None), Some("azure"));
        assert_eq!(at("bedrock-runtime.us-east-1.amazonaws.com", None), Some("bedrock"));
        assert_eq!(at("us-central1-aiplatform.googleapis.com", None), Some("vertex"));
        assert_eq!(at("ai.mongodb.com", None), Some("voyage"));
        assert_eq!(at("api.cerebras.ai", None), Some("cerebras"));
        assert_eq!(at("ollama.com", None), Some("ollama-cloud"));
        assert_eq!(at("ai-gateway.vercel.sh", None), Some("vercel"));
        assert_eq!(at("router.huggingface.co", None), Some("huggingface"));
        assert_eq!(at("bedrock-mantle.us-east-1.api.aws", None), Some("bedrock-mantle"));
        assert_eq!(at("bedrock-mantle.example.com", None), None);
        assert_eq!(at("api.together.ai", None), Some("together"));
        assert_eq!(at("api.cohere.ai", None), Some("cohere"));
        assert_eq!(at("example.com", None), None);
        assert_eq!(at("notapi.openai.com", None), None);
        let foundry = upstream_at("a.services.ai.azure.com", None, "/anthropic/v1/messages");
        assert_eq!(foundry, Some(("anthropic-foundry", "/anthropic")));
        let mantle =
            upstream_at("bedrock-mantle.eu-west-1.api.aws", None, "/anthropic/v1/messages");
        assert_eq!(mantle, Some(("anthropic-mantle", "/anthropic")));
    }
}
