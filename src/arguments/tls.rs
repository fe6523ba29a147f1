//! The flags for TLS on the listener.

use std::path::PathBuf;

use clap::Args;

use super::{SettingScope, StrictEffect};

/// The certificate and the key of the listener.
#[derive(Clone, Debug, Default, Args)]
pub struct TlsArgs {
    /// Serve https with this certificate and those between it and the authority, in PEM
    ///
    /// With --intercept, it may be an authority's, which then signs those of hosts.
    #[arg(long, value_name = "FILE", env = "LOOMREC_TLS_CERT", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::InputFile)]
    pub tls_cert: Option<PathBuf>,

    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", env = "LOOMREC_TLS_KEY", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::InputFile)]
    pub tls_key: Option<PathBuf>,
}
