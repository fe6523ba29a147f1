//! Routes of requests that are sent again: addresses and keys, from the flags and the environment.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::args::RerecordArgs;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup::{self, UpstreamSettings};
use loomrec_cli::wrapped_command;
use loomrec_provider::Provider;
use loomrec_provider::credential::{self, KeyCarrier};
use loomrec_provider::directory::{self, ProviderHosts};

/// The headers that OpenAI's SDKs send besides the key if these variables are set.
const ACCOUNT: [(&str, &str); 2] =
    [("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")];

/// Why a request has no route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NoRoute {
    /// The address of the upstream is unknown.
    Address {
        /// The name of the upstream.
        upstream: String,
    },
    /// There is no key for the upstream.
    Key {
        /// The name of the upstream.
        upstream: String,
        /// The variables that may contain a key.
        variables: Vec<String>,
        /// Further help.
        hint: &'static str,
    },
    /// The value of a variable cannot be sent.
    Value {
        /// The variable.
        variable: String,
    },
}

impl std::fmt::Display for NoRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address { upstream } => write!(
                f,
                "upstream {upstream} has no public address: say where yours is with --upstream {upstream}=URL"
            ),
            Self::Key { upstream, variables, hint } => {
                write!(f, "there is no key for {upstream}: set {}", variables.join(" or "))?;
                if hint.is_empty() { Ok(()) } else { write!(f, "; {hint}") }
            }
            Self::Value { variable } => {
                write!(
                    f,
                    "the value of {variable} cannot be a key: it contains a line break or the like"
                )
            }
        }
    }
}

/// The upstreams of a run.
pub(super) struct RerecordUpstreams {
    upstreams: UpstreamSettings,
    environment: BTreeMap<String, String>,
    /// Whether nothing is sent, so that a request without its key has a route.
    is_dry_run: bool,
}

/// The route of one request.
pub(super) struct RerecordRoute {
    /// The address.
    pub(super) base: Url,
    /// The headers with the credentials.
    pub(super) headers: HeaderMap,
    /// The missing key, if nothing is sent. Otherwise a request without its key has no route.
    pub(super) missing_key: Option<NoRoute>,
}

impl RerecordUpstreams {
    /// Reads the upstreams from the flags and the environment.
    ///
    /// # Errors
    /// An invalid address.
    pub(super) fn from_args(args: &RerecordArgs) -> Result<Self, CommandFailure> {
        let environment = serve_setup::read_environment();
        let custom = wrapped_command::custom_upstreams(&environment, &[]);
        serve_setup::check_names(&args.upstream)?;
        let upstreams = serve_setup::upstreams_at(&args.upstream, custom)?;
        Ok(Self { upstreams, environment, is_dry_run: args.dry_run })
    }

    /// Returns the value of a variable.
    pub(super) fn environment_value(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// Returns the route of a request to `upstream`.
    ///
    /// # Errors
    /// No address; no key, unless nothing is sent.
    pub(super) fn find_route(
        &self,
        upstream: &str,
        path: &str,
        shape: Provider,
    ) -> Result<RerecordRoute, NoRoute> {
        let base = self.base_url(upstream);
        let base = base.ok_or_else(|| NoRoute::Address { upstream: upstream.to_owned() })?;
        let (headers, missing_key) = match self.route_headers(upstream, path, shape) {
            Err(why @ NoRoute::Key { .. }) if self.is_dry_run => (HeaderMap::new(), Some(why)),
            headers => (headers?, None),
        };
        Ok(RerecordRoute { base, headers, missing_key })
    }

    /// Whether `--upstream` gives the address of an upstream.
    pub(super) fn is_explicit(&self, upstream: &str) -> bool {
        let is_given = self.upstreams.given.iter().any(|name| name == upstream);
        let all_go_to_one = self.upstreams.routes.single.is_some() && !is_given;
        all_go_to_one || self.upstreams.is_declared(upstream)
    }

    /// Returns an upstream's address: the one that was given for it, otherwise the one for
    /// everything, otherwise its default, which may be a host of its provider.
    fn base_url(&self, upstream: &str) -> Option<Url> {
        let routes = &self.upstreams.routes;
        let given = self.upstreams.given.iter().any(|name| name == upstream);
        let named = routes.named.iter().find(|known| known.name == upstream);
        match (&routes.single, given) {
            (Some(single), false) => Some(single.clone()),
            _ => named.and_then(|known| known.base.clone()).or_else(|| {
                let mut fixed = ProviderHosts::fixed_hosts();
                let (_, host) = fixed.find(|(name, _)| *name == upstream)?;
                Url::parse(&format!("https://{host}")).ok()
            }),
        }
    }

    fn route_headers(
        &self,
        upstream: &str,
        path: &str,
        shape: Provider,
    ) -> Result<HeaderMap, NoRoute> {
        let mut headers = HeaderMap::new();
        let known = directory::credential_for(upstream, path);
        let found = match &known {
            Some(known) => known.ways.iter().find_map(|way| {
                let set = way.variables.iter().find(|name| self.nonempty_value(name).is_some())?;
                Some((way.carrier, (*set).to_owned()))
            }),
            None => {
                let variable = credential::variable_name(upstream);
                self.nonempty_value(&variable).map(|_| (shape.key_carrier(), variable.clone()))
            }
        };
        let Some((carrier, variable)) = found else {
            let Some(known) = known.filter(|known| known.needed) else { return Ok(headers) };
            let variables = known.variables().map(str::to_owned).collect();
            return Err(NoRoute::Key {
                upstream: upstream.to_owned(),
                variables,
                hint: known.hint,
            });
        };
        let key = self.nonempty_value(&variable).unwrap_or_default();
        let (name, text) = match carrier {
            KeyCarrier::Bearer => ("authorization", format!("Bearer {key}")),
            KeyCarrier::Header(name) => (name, key.to_owned()),
        };
        insert_secret_header(&mut headers, name, &text).ok_or(NoRoute::Value { variable })?;
        for (variable, name) in ACCOUNT.into_iter().filter(|_| upstream == "openai") {
            if let Some(value) = self.nonempty_value(variable) {
                let variable = variable.to_owned();
                insert_secret_header(&mut headers, name, value)
                    .ok_or(NoRoute::Value { variable })?;
            }
        }
        Ok(headers)
    }

    /// Returns the value of a variable, if it is not empty.
    fn nonempty_value(&self, variable: &str) -> Option<&str> {
        self.environment.get(variable).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

/// Returns the path in the form that its upstream expects.
pub(super) fn upstream_path(upstream: &str, path: &str, base: &Url) -> String {
    directory::sent_path(upstream, path, base.path())
}

fn insert_secret_header(headers: &mut HeaderMap, name: &str, value: &str) -> Option<()> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateways(environment: &[(&str, &str)], upstream: &[&str]) -> RerecordUpstreams {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment: BTreeMap<_, _> = environment.iter().map(pair).collect();
        let given: Vec<String> = upstream.iter().map(|text| (*text).to_owned()).collect();
        let custom = wrapped_command::custom_upstreams(&environment, &[]);
        let upstreams = serve_setup::upstreams_at(&given, custom).unwrap();
        RerecordUpstreams { upstreams, environment, is_dry_run: false }
    }

    fn shown(gateways: &RerecordUpstreams, upstream: &str) -> Result<Vec<String>, NoRoute> {
        let way = gateways.find_route(upstream, "/v1/x", Provider::OPEN_AI)?;
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        let mut lines: Vec<String> = way.headers.iter().map(line).collect();
        lines.push(way.base.to_string());
        Ok(lines)
    }

    #[test]
    fn key_is_shown_as_each_upstream_has_it() {
        let all = gateways(
            &[
                ("OPENAI_API_KEY", " k1 "),
                ("OPENAI_ORG_ID", "org"),
                ("ANTHROPIC_AUTH_TOKEN", "k2"),
                ("GOOGLE_API_KEY", "k3"),
                ("MINE_API_KEY", "k4"),
                ("GROQ_API_KEY", "k5"),
            ],
            &["mine=http://localhost:1/x", "free=http://localhost:2"],
        );
        let of = |name: &str| shown(&all, name).unwrap();
        assert_eq!(
            of("openai"),
            ["authorization: Bearer k1", "openai-organization: org", "https://api.openai.com/"]
        );
        assert_eq!(of("anthropic"), ["authorization: Bearer k2", "https://api.anthropic.com/"]);
        assert_eq!(of("gemini")[0], "x-goog-api-key: k3");
        assert_eq!(of("mine"), ["authorization: Bearer k4", "http://localhost:1/x"]);
        assert_eq!(of("groq")[0], "authorization: Bearer k5");
        assert_eq!(of("free"), ["http://localhost:2/"]);
        assert_eq!(of("ollama"), ["http://127.0.0.1:11434/"]);
        // Intercepted calls have no upstream with an address, but a provider with one host.
        assert_eq!(of("github-models"), ["https://models.github.ai/"]);
    }

    #[test]
    fn address_is_the_given_one_else_the_one_for_all_else_its_own() {
        let all = gateways(
            &[
                ("OPENAI_BASE_URL", "http://gate:1/v1"),
                ("GROQ_API_KEY", "k"),
                ("OPENAI_API_KEY", "k"),
            ],
            &["http://localhost:9"],
        );
        let base = |name: &str| shown(&all, name).unwrap().pop().unwrap();
        assert_eq!(
            (base("openai"), base("groq")),
            ("http://gate:1/".into(), "http://localhost:9/".into())
        );
        assert_eq!(base("ollama"), "http://localhost:9/");
    }

    #[test]
    fn missing_key_and_address_are_told() {
        let none = gateways(&[("OPENAI_API_KEY", "a\nb"), ("AZURE_API_KEY", "k")], &[]);
        let told = |name: &str| shown(&none, name).unwrap_err().to_string();
        assert!(told("openai").contains("OPENAI_API_KEY"), "{}", told("openai"));
        assert!(!told("openai").contains("a\nb"));
        assert!(told("gemini").contains("GEMINI_API_KEY or GOOGLE_API_KEY"));
        assert!(told("cohere").ends_with("set CO_API_KEY or COHERE_API_KEY"), "{}", told("cohere"));
        assert!(
            told("azure").contains("--upstream azure=URL")
                && told("nowhere").contains("nowhere=URL")
        );
        let aws = gateways(&[], &["bedrock=http://localhost:1"]);
        let told = shown(&aws, "bedrock").unwrap_err().to_string();
        assert!(told.contains("SigV4") && told.contains("AWS_BEARER_TOKEN_BEDROCK"), "{told}");
    }
}
