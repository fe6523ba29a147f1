//! The `loomrec doctor` command: finds what keeps loomrec from working on this machine.

mod client_probe;
mod clients;
mod environment;
mod finding;
mod online;
mod recording;
mod tool_servers;
mod upstream_names;

use owo_colors::OwoColorize as _;
use serde_json::json;

use super::args::{self, DoctorArgs};
use finding::{DoctorFinding, FindingLevel};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::print;
use loomrec_cli::settings::{Settings, SettingsTrust, default_recordings, outward_settings};
use loomrec_cli::{serve_setup, terminal};
use loomrec_store::RecordingLocation;

/// Runs the command.
///
/// # Errors
/// A stdout that cannot be written.
pub async fn run(args: &DoctorArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    let current = serve_setup::read_environment();
    let mut findings = vec![match &settings.path {
        Some(path) => DoctorFinding::fine("settings", format!("{} is read", path.display())),
        None => DoctorFinding::fine("settings", "no loomrec.toml here or above; none is needed"),
    }];
    findings.extend(check_trust(settings));
    let files = recordings_to_check(args, settings)?;
    if files.is_empty() {
        findings.push(DoctorFinding::fine(
            "recording",
            "none is named: loomrec doctor FILE checks one",
        ));
    }
    for file in &files {
        recording::check(file, &mut findings);
    }
    upstream_names::report_misspellings(settings, &current, &mut findings);
    environment::report_base_urls(&current, &mut findings);
    environment::report_keys(&current, &mut findings);
    environment::report_proxies(&current, &mut findings);
    environment::check_machine(&current, &mut findings);
    clients::report_languages(&mut findings).await;
    tool_servers::report_servers(&current, &mut findings);
    if args.online {
        online::call_upstreams(settings, &current, &mut findings).await;
    }
    let wrong = findings.iter().any(|finding| finding.level == FindingLevel::Wrong);
    let text = if args.json { findings_json(&findings) } else { findings_text(&findings) };
    print(&text)?;
    Ok(if wrong { NO } else { 0 })
}

/// Returns whether the user trusts the settings file, if it asks for what needs trust.
fn check_trust(settings: &Settings) -> Option<DoctorFinding> {
    let outward = outward_settings(settings, &args::command_line());
    let mut names: Vec<&str> = outward.iter().map(|it| it.setting.name.as_str()).collect();
    names.dedup();
    let names = names.join(", ");
    let about = "trust";
    Some(match SettingsTrust::from_settings(settings) {
        _ if outward.is_empty() => return None,
        SettingsTrust::Trusted => {
            DoctorFinding::fine(about, format!("the settings file is trusted with {names}"))
        }
        SettingsTrust::Changed | SettingsTrust::Untrusted => DoctorFinding::warning(
            about,
            format!("the settings file is not trusted, and asks for {names}"),
            "loomrec trust shows what it asks for, and asks you",
        ),
    })
}

/// Returns the recordings to check.
fn recordings_to_check(
    args: &DoctorArgs,
    settings: &Settings,
) -> Result<Vec<RecordingLocation>, CommandFailure> {
    if !args.files.is_empty() {
        return Ok(args.files.clone());
    }
    let refused = |why| CommandFailure::usage(format!("LOOMREC_RECORDING: {why}"));
    let named = default_recordings(settings).into_iter();
    named.map(|path| RecordingLocation::parse(path).map_err(refused)).collect()
}

/// Formats a line for each finding, with its remedy below it.
fn findings_text(findings: &[DoctorFinding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.level {
            FindingLevel::Fine => format!("{}", "ok  ".green()),
            FindingLevel::Warning => format!("{}", "warn".yellow()),
            FindingLevel::Wrong => format!("{}", "FAIL".red()),
        };
        let line = |text: &str| terminal::printable_line(text).into_owned();
        text += &format!("{mark}  {}: {}\n", line(&finding.about), line(&finding.text));
        if let Some(remedy) = &finding.remedy {
            text += &format!("      → {}\n", line(remedy));
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    match (count(FindingLevel::Wrong), count(FindingLevel::Warning)) {
        (0, 0) => text += "\nnothing is wrong\n",
        (wrong, warnings) => text += &format!("\n{wrong} wrong, {warnings} to know about\n"),
    }
    text
}

fn findings_json(findings: &[DoctorFinding]) -> String {
    let list: Vec<_> = findings
        .iter()
        .map(|finding| {
            let level = match finding.level {
                FindingLevel::Fine => "ok",
                FindingLevel::Warning => "warning",
                FindingLevel::Wrong => "wrong",
            };
            json!({
                "level": level, "about": finding.about, "text": finding.text,
                "remedy": finding.remedy
            })
        })
        .collect();
    terminal::printable_json(&format!("{:#}\n", json!({ "findings": list }))).into_owned()
}

#[cfg(test)]
mod tests;
