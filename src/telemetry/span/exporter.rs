//! The OTLP exporters, and the resource that all spans belong to.
//!
//! The exporters read the standard settings from the environment themselves: headers, compression,
//! the sampler, limits, the service's name and attributes. A proxy from the environment is not
//! used: it may well be this very process.

use loomrec_engine::upstream::install_crypto_provider;
use opentelemetry::Key;
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};
use opentelemetry_otlp::{
    Protocol as Otlp, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;

use super::config::{SpanConfig, SpanError, SpanProtocol};

/// Builds the exporter. Must be called within a runtime.
///
/// # Errors
/// [`SpanError::Setup`] if it cannot be built.
pub(super) fn build(config: &SpanConfig, resource: &Resource) -> Result<SpanExporter, SpanError> {
    let setup = |detail: String| SpanError::Setup { detail };
    let builder = SpanExporter::builder();
    let endpoint = config.endpoint.as_str();
    let built = match config.protocol {
        SpanProtocol::Grpc => {
            let builder = builder.with_tonic().with_endpoint(endpoint).with_timeout(config.timeout);
            match config.endpoint.scheme() {
                "https" => builder.with_tls_config(tls(config)).build(),
                _ => builder.build(),
            }
        }
        SpanProtocol::Protobuf | SpanProtocol::Json => {
            let client = client(config).map_err(|error| setup(chain(&error)))?;
            let protocol = match config.protocol {
                SpanProtocol::Json => Otlp::HttpJson,
                _ => Otlp::HttpBinary,
            };
            let builder = builder.with_http().with_http_client(client).with_protocol(protocol);
            builder.with_endpoint(endpoint).with_timeout(config.timeout).build()
        }
    };
    let mut exporter = built.map_err(|error| setup(error.to_string()))?;
    exporter.set_resource(resource);
    Ok(exporter)
}

fn tls(config: &SpanConfig) -> ClientTlsConfig {
    let tls = match &config.roots {
        Some(roots) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(roots)),
        None => ClientTlsConfig::new().with_enabled_roots(),
    };
    match &config.identity {
        Some(shown) => tls.identity(Identity::from_pem(&shown.certificate, &shown.key)),
        None => tls,
    }
}

fn client(config: &SpanConfig) -> reqwest::Result<reqwest::Client> {
    install_crypto_provider();
    let none = reqwest::redirect::Policy::none();
    let mut builder = reqwest::Client::builder().no_proxy().redirect(none).timeout(config.timeout);
    if let Some(roots) = &config.roots {
        builder = builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(roots)?);
    }
    if let Some(shown) = &config.identity {
        let both = [shown.key.as_slice(), b"\n", shown.certificate.as_slice()].concat();
        builder = builder.identity(reqwest::Identity::from_pem(&both)?);
    }
    builder.build()
}

/// Returns the text of an error and its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let behind = std::iter::successors(error.source(), |error| error.source());
    behind.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}

/// Returns the resource of all spans: the service name of the environment, or `loomrec`.
pub(super) fn resource() -> Resource {
    let name = Key::new("service.name");
    let builder = Resource::builder();
    let detected = Resource::builder().build().get(&name);
    match detected {
        Some(name) if !name.as_str().starts_with("unknown_service") => builder.build(),
        _ => builder.with_service_name("loomrec").build(),
    }
}
