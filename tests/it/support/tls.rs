//! Certificates of an authority that only these tests trust.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

/// The host name of an upstream behind a proxy: a name that only the proxy can resolve.
pub(crate) const REMOTE_HOST: &str = "upstream.test";

/// The name of the authority in `Authority::trusted`.
pub(crate) const TRUSTED: &str = "loomrec test authority";

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::named(TRUSTED));

/// A certificate authority.
pub(crate) struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority, which no program trusts yet.
    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// The authority whose certificate tests set in `SSL_CERT_FILE`.
    pub(crate) fn trusted() -> &'static Self {
        &AUTHORITY
    }

    /// The settings of a server with a certificate of this authority.
    pub(crate) fn server_config(&self, params: &CertificateParams) -> Arc<ServerConfig> {
        self.server_config_for(params, WebPkiClientVerifier::no_client_auth())
    }

    /// The settings of a server that also requests certificates from its clients.
    pub(crate) fn server_config_for(
        &self,
        params: &CertificateParams,
        clients: Arc<dyn ClientCertVerifier>,
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        server_config_for(certificate.der().clone(), &key, clients)
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        self.certificate.der()
    }

    /// Writes a certificate of this authority and its key into a folder, for `--tls-cert` and
    /// `--tls-key`.
    pub(crate) fn write_server(&self, folder: &Path) -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let certificate = server_params().signed_by(&key, &self.issuer).unwrap();
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        [write("cert.pem", certificate.pem()), write("key.pem", key.serialize_pem())]
    }

    /// Writes its certificate into a folder, for `SSL_CERT_FILE`.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("authority.pem");
        std::fs::write(&path, self.certificate.pem()).unwrap();
        path
    }
}

/// The default parameters of the certificates of scripted upstreams.
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
    server_config_for(certificate, key, WebPkiClientVerifier::no_client_auth())
}

fn server_config_for(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    clients: Arc<dyn ClientCertVerifier>,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate], key);
    Arc::new(config.unwrap())
}
