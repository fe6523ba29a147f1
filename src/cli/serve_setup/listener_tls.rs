//! The certificate and the key of the listener: the files of `--tls-cert` and `--tls-key`.

use std::path::{Path, PathBuf};

use crate::args::TlsArgs;
use crate::exit::CommandFailure;
use loomrec_proxy::server::ListenerTls;

/// The most bytes of a certificate or a key.
const LARGEST: u64 = 1 << 20;

/// Reads the files of `--tls-cert` and `--tls-key`, once. `None` without these flags.
///
/// # Errors
/// One flag without the other; a file that cannot be read; what is wrong with its text.
pub fn listener_tls(args: &TlsArgs) -> Result<Option<ListenerTls>, CommandFailure> {
    // An empty variable gives no file.
    let given = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
    let (certificate, key) = match (given(&args.tls_cert), given(&args.tls_key)) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(alone("--tls-cert", "--tls-key")),
        (None, Some(_)) => return Err(alone("--tls-key", "--tls-cert")),
    };
    let texts = (read("--tls-cert", &certificate)?, read("--tls-key", &key)?);
    let tls = ListenerTls::from_pem(&texts.0, &texts.1).map_err(|error| {
        let (flag, path) = match error.is_of_key() {
            true => ("--tls-key", &key),
            false => ("--tls-cert", &certificate),
        };
        CommandFailure::usage(format!("{flag}: {} {error}", path.display()))
    })?;
    Ok(Some(tls))
}

fn alone(given: &str, missing: &str) -> CommandFailure {
    CommandFailure::usage(format!("{given} needs {missing}: https takes a certificate and its key"))
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, CommandFailure> {
    loomrec_os::read_input(path, LARGEST).map_err(|error| {
        CommandFailure::usage(format!("{flag}: failed to read {}: {error}", path.display()))
    })
}
