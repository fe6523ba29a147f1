//! The flags that define when two requests are the same.

use clap::{Args, ValueEnum};

use super::set_aside::{NORMALIZE, PARAMETER};
use super::{SettingScope, StrictEffect};

/// The parts of requests that are compared.
#[derive(Clone, Debug, Default, Args)]
pub struct IdentityArgs {
    /// Do not compare this part of requests
    ///
    /// A JSON pointer into the body: /metadata/run_id, or '/messages/*/id' with * for every member or
    /// element. Or a header: header:NAME. Repeatable.
    #[arg(
        long,
        value_name = "PART",
        env = "LOOMREC_IGNORE",
        value_delimiter = ' ',
        add = StrictEffect::adds_rule("")
    )]
    #[arg(add = SettingScope::Run)]
    pub ignore: Vec<String>,

    /// Also compare this request header, and record its value (repeatable)
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_IDENTITY_HEADER",
        value_delimiter = ' ',
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub identity_header: Vec<String>,

    /// Compare what the program makes anew in each run by its kind (repeatable)
    ///
    /// PLACE is system, user or tool, or a JSON pointer. FRAME is the program's text around typed
    /// holes: 'system: Today is {{day}}.'
    #[arg(
        long,
        value_name = "PLACE: FRAME",
        env = "LOOMREC_NORMALIZE",
        value_delimiter = '\n',
        add = StrictEffect::adds_rule(NORMALIZE)
    )]
    #[arg(add = SettingScope::Run)]
    pub normalize: Vec<String>,

    /// How results of tools are compared
    #[arg(
        long,
        value_name = "HOW",
        env = "LOOMREC_TOOL_RESULTS",
        add = StrictEffect::weakens_unless("exact")
    )]
    #[arg(add = SettingScope::Run)]
    pub tool_results: Option<ToolResultPolicy>,

    /// A query parameter that holds a credential: neither record nor compare it (repeatable)
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_CREDENTIAL_PARAM",
        value_delimiter = ' ',
        add = StrictEffect::adds_rule(PARAMETER)
    )]
    #[arg(add = SettingScope::Run)]
    pub credential_param: Vec<String>,
}

/// How results of tools are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolResultPolicy {
    /// As any other part of a request
    Exact,
    /// Not at all if their call is in the same request
    ByCall,
    /// In the order of their calls
    AnyOrder,
}
