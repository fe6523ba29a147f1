//! The flags that define when two requests are the same.

use clap::Args;

/// The parts of requests that are compared.
#[derive(Debug, Default, Args)]
pub struct IdentityArgs {
    /// Do not compare this place in request bodies
    ///
    /// POINTER is a JSON pointer, such as /metadata/run_id or '/messages/*/id', where * is every
    /// member or element. Repeatable.
    #[arg(long, value_name = "POINTER", env = "LOOMREC_IGNORE", value_delimiter = ' ')]
    pub ignore: Vec<String>,

    /// Also compare this request header, and record its value (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_IDENTITY_HEADER", value_delimiter = ' ')]
    pub identity_header: Vec<String>,

    /// Ignore this request header when comparing requests (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_IGNORE_HEADER", value_delimiter = ' ')]
    pub ignore_header: Vec<String>,

    /// A query parameter that holds a credential: never record its value, and ignore it when
    /// comparing requests (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_CREDENTIAL_PARAM", value_delimiter = ' ')]
    pub credential_param: Vec<String>,
}
