//! The certificate authority of a run. It signs the certificates that loomrec shows for the hosts
//! whose calls it answers.
//!
//! Its key is only in memory, unless the user gave one. Each certificate has a few days, so that
//! nothing of a run is of use later.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use lru::LruCache;
use rand::RngExt as _;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SerialNumber,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

use super::listener_tls::http_versions;

/// How long the authority of a run is valid. A server that runs longer has to be started again.
const AUTHORITY_TIME: Duration = Duration::days(90);
/// How long a certificate of a host is valid.
const HOST_TIME: Duration = Duration::days(7);
/// How long a certificate of a host is still valid when it is made anew.
const LEFT_TIME: Duration = Duration::days(1);
/// How far back a certificate begins, for clients whose clock is slow.
const BACKDATED: Duration = Duration::days(1);
/// The most hosts whose certificates are kept.
const MOST_HOSTS: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// How many characters a line of PEM has.
const PEM_LINE: usize = 64;

/// The error of a certificate that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The key or the signature cannot be made, or the host has no name for a certificate.
    #[error("make a certificate: {0}")]
    Signing(#[from] rcgen::Error),
    /// TLS does not take the certificate.
    #[error("use a certificate: {0}")]
    Tls(#[from] rustls::Error),
}

/// A certificate authority.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, and those between it and the one that clients trust.
    chain: Vec<CertificateDer<'static>>,
    /// When its certificate ends.
    ends_at: OffsetDateTime,
    /// The key of all hosts. It is not the authority's: SChannel refuses a certificate that has the
    /// key of its issuer.
    host_key: KeyPair,
    hosts: Mutex<LruCache<Vec<String>, HostCertificate>>,
}

/// The TLS settings for a host.
struct HostCertificate {
    config: Arc<ServerConfig>,
    /// When the certificate is made anew.
    renewed_at: OffsetDateTime,
}

impl CertificateAuthority {
    /// Creates an authority for this run alone.
    ///
    /// # Errors
    /// [`CertificateError`] if the system gives no random numbers.
    pub fn for_this_run() -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        // Several runs at one time have different names.
        let name = format!("loomrec {:08x} (this run only)", rand::rng().random::<u32>());
        params.distinguished_name = common_name(&name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        set_time(&mut params, AUTHORITY_TIME);
        let key = new_key()?;
        let certificate = params.self_signed(&key)?.der().clone();
        let ends_at = params.not_after;
        Self::new(Issuer::new(params, key), vec![certificate], ends_at)
    }

    /// Creates the authority of an issuer whose certificate, the first one, ends at this time.
    ///
    /// # Errors
    /// [`CertificateError`] if the system gives no random numbers.
    pub(super) fn new(
        issuer: Issuer<'static, KeyPair>,
        chain: Vec<CertificateDer<'static>>,
        ends_at: OffsetDateTime,
    ) -> Result<Self, CertificateError> {
        let hosts = Mutex::new(LruCache::new(MOST_HOSTS));
        Ok(Self { issuer, chain, ends_at, host_key: new_key()?, hosts })
    }

    /// Returns the certificates that clients may trust: its own, and those above it.
    pub fn trusted_certificates(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// Returns the TLS settings for a server with these names and addresses.
    ///
    /// # Errors
    /// [`CertificateError`] if a name cannot be in a certificate.
    pub(super) fn config_for(
        &self,
        names: &[String],
    ) -> Result<Arc<ServerConfig>, CertificateError> {
        let now = OffsetDateTime::now_utc();
        let kept = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = hosts.get(names).filter(|host| now < host.renewed_at);
            kept.map(|host| Arc::clone(&host.config))
        };
        if let Some(config) = kept {
            return Ok(config);
        }
        let config = self.sign_certificate(names.to_vec())?;
        let renewed_at = now + HOST_TIME - LEFT_TIME;
        let host = HostCertificate { config: Arc::clone(&config), renewed_at };
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).put(names.to_vec(), host);
        Ok(config)
    }

    fn sign_certificate(&self, names: Vec<String>) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut params = CertificateParams::new(names)?;
        // A subject without a name would make strict clients refuse the certificate.
        params.distinguished_name = common_name("loomrec");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_time(&mut params, HOST_TIME);
        params.not_after = params.not_after.min(self.ends_at);
        let certificate = params.signed_by(&self.host_key, &self.issuer)?.der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.host_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert([&[certificate], &self.chain[..]].concat(), key)?;
        config.alpn_protocols = http_versions();
        Ok(Arc::new(config))
    }
}

impl std::fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key must not be printed.
        f.write_str("CertificateAuthority")
    }
}

/// Returns a certificate as PEM.
pub fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
    let text = BASE64_STANDARD.encode(certificate);
    let lines: String = (0..text.len())
        .step_by(PEM_LINE)
        .filter_map(|at| text.get(at..text.len().min(at + PEM_LINE)))
        .flat_map(|line| [line, "\n"])
        .collect();
    format!("-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n")
}

fn new_key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn common_name(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

/// Sets the time in which a certificate is valid, from now on, and a number of its own: rcgen makes
/// the number of the key, which all hosts share.
fn set_time(params: &mut CertificateParams, valid: Duration) {
    let now = OffsetDateTime::now_utc();
    (params.not_before, params.not_after) = (now - BACKDATED, now + valid);
    // Positive, and never zero.
    let number = rand::rng().random::<u128>() >> 1 | 1;
    params.serial_number = Some(SerialNumber::from_slice(&number.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_of_hosts_are_kept_and_their_number_is_bounded() {
        let authority = CertificateAuthority::for_this_run().unwrap();
        let config = |host: &str| authority.config_for(&[host.to_owned()]).unwrap();
        let first = config("a.example");
        assert!(Arc::ptr_eq(&first, &config("a.example")));
        for number in 0..10_000 {
            config(&format!("h{number}.example"));
        }
        assert_eq!(authority.hosts.lock().unwrap().len(), MOST_HOSTS.get());
        assert!(!Arc::ptr_eq(&first, &config("a.example")));
    }

    #[test]
    fn names_that_no_certificate_has_are_an_error_and_nothing_prints_the_key() {
        let authority = CertificateAuthority::for_this_run().unwrap();
        assert!(authority.config_for(&["ä.example".to_owned()]).is_err());
        assert_eq!(format!("{authority:?}"), "CertificateAuthority");
        assert!(authority.config_for(&["127.0.0.1".to_owned(), "::1".to_owned()]).is_ok());
    }
}
