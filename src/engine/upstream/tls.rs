//! TLS to upstreams: which certificate authorities are trusted.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;

/// The variables that name certificates of authorities, instead of the system's.
pub(super) const NAMING: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The error that no certificate of any upstream can be checked.
#[derive(Debug, thiserror::Error)]
#[error("load the certificates of the authorities to trust: {detail}")]
pub struct TlsSetupError {
    pub(super) detail: String,
}

/// Installs the cryptography provider of the whole process. Call it before making a TLS client with
/// a library that does not take a provider.
pub fn install_crypto_provider() {
    // An error says that a provider is installed already.
    drop(ring::default_provider().install_default());
}

/// The version of HTTP on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpVersion {
    Http1,
    Http2,
}

/// The settings of all TLS connections, made when they are first needed.
#[derive(Debug, Default)]
pub(super) struct TlsSetup(OnceCell<Arc<ClientConfig>>);

impl TlsSetup {
    /// Reads the certificates that the environment names, if it does. Those of the system are read
    /// at the first connection that needs them.
    ///
    /// # Errors
    /// [`TlsSetupError`] if the environment names something that has no certificate in it.
    pub(super) fn from_environment() -> Result<Self, TlsSetupError> {
        if NAMING.iter().all(|name| env::var_os(name).is_none()) {
            return Ok(Self::default());
        }
        Ok(Self(OnceCell::new_with(Some(client_config()?))))
    }

    /// Returns the settings.
    ///
    /// # Errors
    /// [`TlsSetupError`] if no certificate of an authority can be read.
    pub(super) async fn shared_config(&self) -> Result<Arc<ClientConfig>, TlsSetupError> {
        let load = || async {
            let loading = tokio::task::spawn_blocking(client_config);
            loading.await.unwrap_or_else(|error| Err(TlsSetupError { detail: error.to_string() }))
        };
        self.0.get_or_try_init(load).await.cloned()
    }

    /// Returns the settings for this version of HTTP.
    ///
    /// # Errors
    /// [`TlsSetupError`] if no certificate of an authority can be read.
    pub(super) async fn config_for(
        &self,
        version: HttpVersion,
    ) -> Result<Arc<ClientConfig>, TlsSetupError> {
        let mut config = self.shared_config().await?;
        if version == HttpVersion::Http2 {
            // Connections over HTTP/2 are few.
            Arc::make_mut(&mut config).alpn_protocols = vec![b"h2".to_vec()];
        }
        Ok(config)
    }
}

fn client_config() -> Result<Arc<ClientConfig>, TlsSetupError> {
    let provider = Arc::new(ring::default_provider());
    let with_detail = |error: rustls::Error| TlsSetupError { detail: error.to_string() };
    let verifier = Verifier::new(Arc::clone(&provider))
        .map_err(|error| TlsSetupError { detail: missing_certificates(&error) })?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(with_detail)?
        // This is the system's verifier, as in reqwest. It checks everything.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Returns why there are no certificates.
fn missing_certificates(error: &rustls::Error) -> String {
    let named: Vec<String> = NAMING.iter().flat_map(|name| problems_with(name)).collect();
    match named.is_empty() {
        true => format!("{error}; install ca-certificates, or name a file in SSL_CERT_FILE"),
        false => named.join("; "),
    }
}

/// Returns what is wrong with each path that a variable names.
fn problems_with(name: &str) -> Vec<String> {
    let Some(value) = env::var_os(name) else { return Vec::new() };
    if value.is_empty() {
        return vec![format!("{name} is set and names nothing: unset it")];
    }
    let problem = |path: PathBuf| {
        let problem = match fs::metadata(&path) {
            Ok(_) => "has no certificate in PEM form in it".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        format!("{}, which {name} names, {problem}", path.display())
    };
    env::split_paths(&value).map(problem).collect()
}

/// Describes where the trusted authorities come from.
pub(super) fn trusted_source() -> String {
    let named = |name: &&str| {
        let value = env::var_os(name)?;
        Some(format!("{name}={}", PathBuf::from(value).display()))
    };
    let all: Vec<String> = NAMING.iter().filter_map(named).collect();
    match all.is_empty() {
        true => "this system's".to_owned(),
        false => format!("those of {}", all.join(" and ")),
    }
}
