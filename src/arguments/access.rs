//! The flags of the access policy: who may call loomrec, and under which host names.

use clap::Args;

/// What may call, beside programs on this machine.
#[derive(Debug, Default, Args)]
pub struct AccessArgs {
    /// A name by which programs call loomrec, beside localhost and addresses: NAME or NAME:PORT,
    /// such as a container's (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_ALLOW_HOST", value_delimiter = ' ')]
    pub allow_host: Vec<String>,

    /// Let web pages of this origin call, such as http://localhost:3000: a browser's app under
    /// test (repeatable)
    #[arg(long, value_name = "ORIGIN", env = "LOOMREC_ALLOW_ORIGIN", value_delimiter = ' ')]
    pub allow_origin: Vec<String>,
}
