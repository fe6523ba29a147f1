//! Certificates of an authority that only these tests trust.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The host name under which an upstream is reached through a proxy: a name that only the
/// proxy can resolve.
pub(crate) const REMOTE_HOST: &str = "upstream.test";

static AUTHORITY: LazyLock<Authority> = LazyLock::new(Authority::new);

/// A certificate authority.
pub(crate) struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority, which nobody trusts yet.
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, "loomrec test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// The authority that `trusted_environment` names.
    pub(crate) fn trusted() -> &'static Self {
        &AUTHORITY
    }

    /// A server's settings under a certificate of this authority.
    pub(crate) fn server_config(&self, params: &CertificateParams) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        server_config(certificate.der().clone(), &key)
    }

    /// Writes its certificate into a folder, for `SSL_CERT_FILE`.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("authority.pem");
        std::fs::write(&path, self.certificate.pem()).unwrap();
        path
    }
}

/// What the certificates of scripted upstreams say, unless a test changes it.
pub(crate) fn server_params() -> CertificateParams {
    let names = ["localhost", "127.0.0.1", REMOTE_HOST].map(str::to_owned);
    CertificateParams::new(names).unwrap()
}

/// The settings of a server whose certificate loomrec trusts.
pub(crate) fn trusted_config() -> Arc<ServerConfig> {
    static CONFIG: LazyLock<Arc<ServerConfig>> =
        LazyLock::new(|| Authority::trusted().server_config(&server_params()));
    Arc::clone(&CONFIG)
}

/// The settings of a server that shows `certificate`.
pub(crate) fn server_config(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Arc::new(config.unwrap())
}
