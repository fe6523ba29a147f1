//! The certificate and the key of the listener: the files of `--tls-cert` and `--tls-key`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::args::TlsArgs;
use crate::exit::CommandFailure;
use loomrec_os::FileStatus;
use loomrec_proxy::server::{CertificateAuthority, ListenerTls, ListenerTlsError};

/// The most bytes of a certificate or a key.
const LARGEST: u64 = 1 << 20;

/// What the files of `--tls-cert` and `--tls-key` are for.
pub enum ListenerCertificate {
    /// Neither flag was given.
    None,
    /// The listener shows the certificate.
    Server(ListenerTls),
    /// With `--intercept`: it is that of an authority, which signs those of hosts.
    Authority(Arc<CertificateAuthority>),
}

/// Reads the files of `--tls-cert` and `--tls-key`, once. With `may_sign`, they may be those of an
/// authority.
///
/// # Errors
/// One flag without the other; a file that cannot be read; what is wrong with its text; the key of an
/// authority that others may read.
pub fn listener_certificate(
    args: &TlsArgs,
    may_sign: bool,
) -> Result<ListenerCertificate, CommandFailure> {
    // An empty variable gives no file.
    let given = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
    let (certificate, key) = match (given(&args.tls_cert), given(&args.tls_key)) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return Ok(ListenerCertificate::None),
        (Some(_), None) => return Err(missing_part_failure("--tls-cert", "--tls-key")),
        (None, Some(_)) => return Err(missing_part_failure("--tls-key", "--tls-cert")),
    };
    let texts = (read("--tls-cert", &certificate)?, read("--tls-key", &key)?);
    let failed = |error: ListenerTlsError| {
        let (flag, path) = match error.is_of_key() {
            true => ("--tls-key", &key),
            false => ("--tls-cert", &certificate),
        };
        CommandFailure::usage(format!("{flag}: {} {error}", path.display()))
    };
    if may_sign
        && let Some(authority) =
            CertificateAuthority::from_pem(&texts.0, &texts.1).map_err(failed)?
    {
        refuse_open_key(&key)?;
        return Ok(ListenerCertificate::Authority(Arc::new(authority)));
    }
    ListenerTls::from_pem(&texts.0, &texts.1).map(ListenerCertificate::Server).map_err(failed)
}

/// Reads the files of `--tls-cert` and `--tls-key` again, if they are those of the listener.
///
/// # Errors
/// The errors of [`listener_certificate`].
pub fn listener_tls(args: &TlsArgs) -> Result<Option<ListenerTls>, CommandFailure> {
    match listener_certificate(args, false)? {
        ListenerCertificate::Server(tls) => Ok(Some(tls)),
        ListenerCertificate::None | ListenerCertificate::Authority(_) => Ok(None),
    }
}

/// Refuses the key of an authority that other users may read: they could show any host's certificate
/// to programs that trust the authority.
fn refuse_open_key(key: &Path) -> Result<(), CommandFailure> {
    let status = FileStatus::at_target(key).ok().flatten();
    match status.is_some_and(|status| status.is_private()) {
        true => Ok(()),
        false => Err(CommandFailure::usage(format!(
            "--tls-key: others can read {path}, the key of an authority: chmod 600 {path}",
            path = key.display()
        ))),
    }
}

fn missing_part_failure(given: &str, missing: &str) -> CommandFailure {
    CommandFailure::usage(format!("{given} needs {missing}: https takes a certificate and its key"))
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, CommandFailure> {
    loomrec_os::read_input(path, LARGEST).map_err(|error| {
        CommandFailure::usage(format!("{flag}: failed to read {}: {error}", path.display()))
    })
}
