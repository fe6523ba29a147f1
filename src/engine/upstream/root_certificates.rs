//! The certificates of the authorities that programs trust on this machine.

use std::env;

use rustls::pki_types::CertificateDer;

use super::tls::{NAMING, TlsSetupError};

/// Returns the certificates of the authorities that the environment names, or else those of the
/// system. A system that has none gets those that browsers trust.
///
/// # Errors
/// [`TlsSetupError`] if the environment names something that has no certificate in it.
pub fn root_certificates() -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let loaded = rustls_native_certs::load_native_certs();
    if !loaded.certs.is_empty() {
        return Ok(loaded.certs);
    }
    let named = NAMING.iter().find(|name| env::var_os(name).is_some());
    match named {
        Some(name) => {
            let reasons: Vec<String> = loaded.errors.iter().map(ToString::to_string).collect();
            Err(TlsSetupError { detail: format!("{name}: {}", reasons.join("; ")) })
        }
        None => Ok(webpki_root_certs::TLS_SERVER_ROOT_CERTS.to_vec()),
    }
}
