//! The check of the MCP servers in the settings of agents: whether a run reaches them.

use std::collections::BTreeMap;

use super::finding::DoctorFinding;
use loomrec_cli::server_launchers::{check_servers, launch_remedy, upstream_name};
use loomrec_cli::tool_servers::AgentSettings;

/// Reports each server over stdio that an agent would start in this folder.
pub(super) fn report_servers(
    current: &BTreeMap<String, String>,
    findings: &mut Vec<DoctorFinding>,
) {
    let Ok(project) = std::env::current_dir() else { return };
    let settings = AgentSettings::read(&project, current, &[]);
    findings.extend(check_servers(&settings.servers).into_iter().map(|check| {
        let server = check.server;
        let about = format!("MCP server {}", server.name);
        match check.obstacle {
            None => {
                let name = upstream_name(server);
                let text = format!("{}: record and replay have it as {name}", server.source);
                DoctorFinding::fine(about, text)
            }
            Some(obstacle) => {
                let text = format!("a run does not see it, since {obstacle}");
                DoctorFinding::warning(about, text, launch_remedy(server))
            }
        }
    }));
    findings.extend(settings.unreadable.into_iter().map(|why| {
        let text = format!("a run does not see those in {why}");
        DoctorFinding::warning("MCP servers", text, "mend the file, if they are to be recorded")
    }));
}
