//! The OTLP exporters, and the resource that all spans belong to.
//!
//! The exporters read the standard settings from the environment themselves: headers, compression,
//! the sampler, limits, the service's name and attributes. A proxy from the environment is not
//! used: it may well be this very process.

use loomrec_engine::upstream::install_crypto_provider;
use loomrec_identity::error_chain;
use opentelemetry::Key;
#[cfg(feature = "otel-grpc")]
use opentelemetry_otlp::WithTonicConfig as _;
#[cfg(feature = "otel-grpc")]
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol as Otlp, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;

use super::config::{SpanConfig, SpanError, SpanProtocol};

/// Builds the exporter. Must be called within a runtime.
///
/// # Errors
/// [`SpanError::Setup`] if it cannot be built; [`SpanError::GrpcNotBuilt`].
pub(super) fn build_exporter(
    config: &SpanConfig,
    resource: &Resource,
) -> Result<SpanExporter, SpanError> {
    let mut exporter = match config.protocol {
        SpanProtocol::Grpc => grpc_exporter(config)?,
        SpanProtocol::Protobuf => http_exporter(config, Otlp::HttpBinary)?,
        SpanProtocol::Json => http_exporter(config, Otlp::HttpJson)?,
    };
    exporter.set_resource(resource);
    Ok(exporter)
}

fn http_exporter(config: &SpanConfig, protocol: Otlp) -> Result<SpanExporter, SpanError> {
    let client =
        client(config).map_err(|error| SpanError::Setup { detail: error_chain(&error) })?;
    let builder = SpanExporter::builder().with_http().with_http_client(client);
    let builder = builder.with_protocol(protocol).with_endpoint(config.endpoint.as_str());
    builder.with_timeout(config.timeout).build().map_err(|error| refused(&error))
}

#[cfg(not(feature = "otel-grpc"))]
fn grpc_exporter(_: &SpanConfig) -> Result<SpanExporter, SpanError> {
    Err(SpanError::GrpcNotBuilt)
}

#[cfg(feature = "otel-grpc")]
fn grpc_exporter(config: &SpanConfig) -> Result<SpanExporter, SpanError> {
    let builder = SpanExporter::builder().with_tonic();
    let builder = builder.with_endpoint(config.endpoint.as_str()).with_timeout(config.timeout);
    let built = match config.endpoint.scheme() {
        "https" => builder.with_tls_config(tls(config)).build(),
        _ => builder.build(),
    };
    built.map_err(|error| refused(&error))
}

fn refused(error: &ExporterBuildError) -> SpanError {
    SpanError::Setup { detail: error.to_string() }
}

#[cfg(feature = "otel-grpc")]
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

/// Returns the resource of all spans: the service name of the environment, or `loomrec`.
pub(super) fn span_resource() -> Resource {
    let name = Key::new("service.name");
    let builder = Resource::builder();
    let detected = Resource::builder().build().get(&name);
    match detected {
        Some(name) if !name.as_str().starts_with("unknown_service") => builder.build(),
        _ => builder.with_service_name("loomrec").build(),
    }
}
