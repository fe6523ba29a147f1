//! The user's own certificate authority: it signs the certificates of a run in place of one that is
//! made for the run.

use rcgen::{Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use time::OffsetDateTime;
use x509_parser::parse_x509_certificate;

use super::certificate_authority::CertificateAuthority;
use super::listener_tls::{ListenerTlsError, read_certificates};

impl CertificateAuthority {
    /// Reads the certificate of an authority, with those above it, and its private key, both in PEM.
    /// `None` if the first certificate is no authority's.
    ///
    /// # Errors
    /// What is wrong with the certificate or with the key.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Option<Self>, ListenerTlsError> {
        let chain = read_certificates(certificate)?;
        let damaged = |text: String| ListenerTlsError::Certificate(text);
        let Some(first) = chain.first() else { return Err(ListenerTlsError::NoCertificate) };
        let (_, parsed) =
            parse_x509_certificate(first).map_err(|error| damaged(error.to_string()))?;
        if !parsed.is_ca() {
            return Ok(None);
        }
        let ends_at = parsed.validity().not_after.to_datetime();
        let begins_at = parsed.validity().not_before.to_datetime();
        let now = OffsetDateTime::now_utc();
        if now >= ends_at || now < begins_at {
            return Err(ListenerTlsError::NotValid(ends_at.date()));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            PemError::NoItemsFound => ListenerTlsError::NoKey,
            other => ListenerTlsError::Key(other.to_string()),
        })?;
        let key = KeyPair::try_from(&key).map_err(|error| {
            ListenerTlsError::Key(format!("{error}; it has to be in PKCS #8: BEGIN PRIVATE KEY"))
        })?;
        if *parsed.public_key().subject_public_key.data != *key.public_key_raw() {
            return Err(ListenerTlsError::OtherKey);
        }
        let issuer = Issuer::from_ca_cert_der(first, key);
        let issuer = issuer.map_err(|error| damaged(error.to_string()))?;
        let authority = Self::new(issuer, chain, ends_at);
        authority.map(Some).map_err(|error| ListenerTlsError::Key(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa};

    use super::*;

    /// The certificate of an authority and its key, as PEM.
    fn authority(change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn read((certificate, key): (String, String)) -> Result<bool, String> {
        let read = CertificateAuthority::from_pem(certificate.as_bytes(), key.as_bytes());
        read.map(|authority| authority.is_some()).map_err(|error| error.to_string())
    }

    #[test]
    fn authority_of_the_user_signs_within_its_own_time() {
        let soon = OffsetDateTime::now_utc() + time::Duration::hours(1);
        let (certificate, key) = authority(|params| params.not_after = soon);
        let authority =
            CertificateAuthority::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        assert!(authority.unwrap().config_for(&["a.example".to_owned()]).is_ok());
    }

    #[test]
    fn certificate_that_is_no_authoritys_is_none_and_what_is_wrong_is_said() {
        assert_eq!(read(authority(|params| params.is_ca = IsCa::NoCa)), Ok(false));
        let past = OffsetDateTime::now_utc() - time::Duration::days(1);
        let expired = read(authority(|params| params.not_after = past)).unwrap_err();
        assert!(expired.contains("is valid until"), "{expired}");
        let (one, other) = (authority(|_| {}), authority(|_| {}));
        let wrong = read((one.0.clone(), other.1)).unwrap_err();
        assert!(wrong.contains("is not the key"), "{wrong}");
        assert!(read((one.0, String::new())).unwrap_err().contains("no private key"));
        assert!(read((String::new(), one.1)).unwrap_err().contains("no certificate"));
    }
}
