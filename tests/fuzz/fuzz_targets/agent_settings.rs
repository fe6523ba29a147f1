//! Fuzz target for the settings of agents: MCP servers are found, or the file is named as unreadable;
//! each launcher is a program in its folder and nowhere else. The input is a file in JSON, a zero byte,
//! and a file in TOML.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use libfuzzer_sys::fuzz_target;
use loomrec_cli::server_launchers::{
    LauncherTerms, check_servers, launch_remedy, upstream_name, write_launchers,
};
use loomrec_cli::tool_servers::{AgentSettings, ConfiguredServer};
use loomrec_fuzz::scratch;

/// A shell reads the launchers of one in this many inputs.
const READ: u64 = 64;

static LAUNCHED: AtomicU64 = AtomicU64::new(0);

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (json, toml) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let files = [(".mcp.json", json), (".codex/config.toml", toml), ("launchers/keep", b"")];
    let folder = scratch::lay_out(&files);
    let before = scratch::contents().len();
    let current = BTreeMap::from([("HOME".to_owned(), folder.display().to_string())]);
    let text = String::from_utf8_lossy(json).into_owned();
    let command = ["claude", "--mcp-config", text.as_str()].map(OsString::from);
    let settings = AgentSettings::read(folder, &current, &command);
    assert!(settings.unreadable.iter().all(|line| line.contains(": ") && line.len() < 64 << 10));
    let checks = check_servers(&settings.servers);
    for check in &checks {
        assert!(launch_remedy(check.server).contains(&upstream_name(check.server)));
    }
    let free = checks.iter().filter(|check| check.obstacle.is_none());
    let servers: Vec<&ConfiguredServer> = free.map(|check| check.server).collect();
    launch(&folder.join("launchers"), &servers, before);
});

fn launch(folder: &Path, servers: &[&ConfiguredServer], before: usize) {
    let loomrec = Path::new("/usr/bin/loomrec");
    let variables = [("LOOMREC_MCP".to_owned(), "1".to_owned())];
    let terms = LauncherTerms { folder, loomrec, variables: &variables };
    // A name may be too long for a file.
    if write_launchers(&terms, servers).is_err() {
        return;
    }
    let commands: BTreeSet<&str> = servers.iter().map(|server| server.command.as_str()).collect();
    assert_eq!(scratch::contents().len(), before + commands.len(), "a launcher for each command");
    if commands.is_empty() || !LAUNCHED.fetch_add(1, Ordering::Relaxed).is_multiple_of(READ) {
        return;
    }
    for command in commands {
        let read = Command::new("sh").arg("-n").arg(folder.join(command)).status();
        assert!(read.is_ok_and(|status| status.success()), "{command}: a shell can read it");
    }
}
