//! The flags of `loomrec mcp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `loomrec mcp`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec mcp --name files -- npx -y @modelcontextprotocol/server-filesystem .
  loomrec mcp --fault hang -- python3 server.py
  loomrec mcp --tools-from tools.json

The first is the command of a server in the settings of an MCP client. Within a run of loomrec, it
records or replays the server; elsewhere, it is the server.")]
pub struct McpArgs {
    /// The name of the server, as an upstream: letters, digits, and . _ -
    #[arg(long, value_name = "NAME", required_unless_present_any = ["fault", "faults", "tools_from"])]
    pub name: Option<String>,

    /// A fault for calls of tools, without a run: hang, recover_after:2 (repeatable)
    #[arg(long, value_name = "FAULT", help_heading = "Faults")]
    pub fault: Vec<String>,

    /// A fault plan, without a run (repeatable)
    #[arg(long, value_name = "FILE", help_heading = "Faults")]
    pub faults: Vec<PathBuf>,

    /// Seed for random decisions about faults
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub seed: Option<u64>,

    /// Be a server of the tools in this file (JSON or YAML), as tools/list has them. `result` of a tool
    /// answers its calls: a text, or what tools/call returns
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub tools_from: Option<PathBuf>,

    /// The server to run, and its arguments
    #[arg(last = true, required_unless_present = "tools_from", value_name = "SERVER")]
    pub server: Vec<OsString>,
}

impl McpArgs {
    /// Whether it declares faults.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        !self.fault.is_empty() || !self.faults.is_empty()
    }
}
