//! The flags that say what makes two requests the same.

use clap::Args;

/// What is part of a request's identity, and what is not.
#[derive(Debug, Default, Args)]
pub struct IdentityArgs {
    /// Leave this place of request bodies out of their identity (a JSON pointer; repeatable)
    #[arg(long, value_name = "POINTER", env = "LOOMREC_IGNORE", value_delimiter = ' ')]
    pub ignore: Vec<String>,

    /// Make this request header a part of identity too, and keep its value (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_IDENTITY_HEADER", value_delimiter = ' ')]
    pub identity_header: Vec<String>,

    /// Leave this request header out of identity (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_IGNORE_HEADER", value_delimiter = ' ')]
    pub ignore_header: Vec<String>,

    /// A query parameter that carries a credential: it is never kept, nor part of identity (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_CREDENTIAL_PARAM", value_delimiter = ' ')]
    pub credential_param: Vec<String>,
}
