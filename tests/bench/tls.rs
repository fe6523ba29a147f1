//! The certificate of an upstream over TLS, signed by an authority that is created for the run.

use std::io::Error;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::fault::Fault;

/// The environment variable that makes a process trust the upstream.
pub const TRUST: &str = "SSL_CERT_FILE";

/// Returns an acceptor with a new certificate for 127.0.0.1. Writes the certificate of its
/// authority to `file`.
///
/// # Errors
/// A certificate that cannot be made, a file that cannot be written.
pub fn acceptor(file: &Path) -> Result<TlsAcceptor, Fault> {
    let (config, authority) = certificates()
        .map_err(|error| Fault::Io { what: "make certificates", source: Error::other(error) })?;
    std::fs::write(file, authority)
        .map_err(|source| Fault::Io { what: "write a certificate", source })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates() -> Result<(ServerConfig, String), Box<dyn std::error::Error + Send + Sync>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((config, authority))
}
