//! Hosts that only a provider itself can serve.

use super::upstreams::UPSTREAMS;

/// Hosts of a provider's regions: what is before and after the name of the region.
const REGIONAL: [(&str, &str); 4] = [
    ("", ".api.openai.com"),
    ("bedrock-runtime.", ".amazonaws.com"),
    ("bedrock-runtime-fips.", ".amazonaws.com"),
    ("", "-aiplatform.googleapis.com"),
];

/// Further public hosts of providers.
const FURTHER: [&str; 2] = ["aiplatform.googleapis.com", "ai.mongodb.com"];

/// Whether a host (in lower case) is a provider's own: the public address of a known upstream, or of
/// one of its regions. A host that a customer of a provider can create, such as that of a resource
/// on Azure, is none.
pub fn is_provider_host(host: &str) -> bool {
    let own = |base: &'static str| base.strip_prefix("https://");
    let mut public = UPSTREAMS.iter().filter_map(|upstream| own(upstream.base?));
    public.any(|public| public == host)
        || FURTHER.contains(&host)
        || REGIONAL.iter().any(|(before, after)| {
            let region = host.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            region.is_some_and(|region| match *before {
                // Below the domain of all services, a single label may be that of another service.
                "bedrock-runtime." | "bedrock-runtime-fips." => is_aws_region(region),
                _ => is_label(region),
            })
        })
}

/// Whether a text is one label of a host name.
fn is_label(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// Whether a text has the form of a region of AWS, as in `us-east-1`.
fn is_aws_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_word = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    matches!(parts.as_slice(), [words @ .., number]
        if words.len() >= 2 && words.iter().all(is_word) && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_providers_own_only_where_no_customer_can_have_it() {
        for host in [
            "api.openai.com",
            "eu.api.openai.com",
            "api.anthropic.com",
            "openrouter.ai",
            "bedrock-runtime.us-gov-west-1.amazonaws.com",
            "europe-west4-aiplatform.googleapis.com",
            "aiplatform.googleapis.com",
        ] {
            assert!(is_provider_host(host), "{host}");
        }
        for host in [
            "",
            "openai.com",
            "api.openai.com.",
            "api.openai.com.example",
            ".api.openai.com",
            "a.b.api.openai.com",
            "notapi.openai.com",
            "mine.openai.azure.com",
            "mine.services.ai.azure.com",
            "bedrock-runtime.s3.amazonaws.com",
            "bedrock-runtime.mine.s3.us-east-1.amazonaws.com",
            "bedrock-runtime.amazonaws.com",
            "127.0.0.1:11434",
            "127.0.0.1",
        ] {
            assert!(!is_provider_host(host), "{host}");
        }
    }
}
