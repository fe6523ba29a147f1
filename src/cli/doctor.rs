//! `loomrec doctor`: looks for what keeps loomrec from working here.

mod environment;
mod online;
mod recording;

use std::collections::BTreeMap;
use std::path::PathBuf;

use owo_colors::OwoColorize as _;
use serde_json::json;

use super::args::DoctorArgs;
use super::exit::{CommandFailure, NO};
use super::ls::print;
use super::settings::Settings;
use super::{serve_setup, terminal};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Fine,
    Warning,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    level: Level,
    /// What was looked at.
    about: String,
    /// What was found.
    text: String,
    /// What to do.
    remedy: Option<String>,
}

impl Finding {
    fn fine(about: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level: Level::Fine, about: about.into(), text: text.into(), remedy: None }
    }

    fn warning(
        about: impl Into<String>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (about, text, remedy) = (about.into(), text.into(), Some(remedy.into()));
        Self { level: Level::Warning, about, text, remedy }
    }

    fn wrong(about: impl Into<String>, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Wrong, ..Self::warning(about, text, remedy) }
    }
}

/// Runs the command.
///
/// # Errors
/// A stdout that cannot be written.
pub(super) async fn run(args: &DoctorArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    let current = serve_setup::environment();
    let mut findings = vec![match &settings.path {
        Some(path) => Finding::fine("settings", format!("{} is read", path.display())),
        None => Finding::fine("settings", "no loomrec.toml here or above; none is needed"),
    }];
    let files = files(args, settings, &current);
    if files.is_empty() {
        findings
            .push(Finding::fine("recording", "none was named: loomrec doctor FILE looks at one"));
    }
    for file in &files {
        recording::check(file, &mut findings);
    }
    environment::variables(&current, &mut findings);
    environment::keys(&current, &mut findings);
    environment::proxies(&current, &mut findings);
    environment::machine(&current, &mut findings);
    if args.online {
        online::ask(settings, &current, &mut findings).await;
    }
    let wrong = findings.iter().any(|finding| finding.level == Level::Wrong);
    let text = if args.json { document(&findings) } else { page(&findings) };
    print(&text)?;
    Ok(if wrong { NO } else { 0 })
}

/// The recordings to look at.
fn files(
    args: &DoctorArgs,
    settings: &Settings,
    current: &BTreeMap<String, String>,
) -> Vec<PathBuf> {
    if !args.files.is_empty() {
        return args.files.clone();
    }
    if let Some(file) = current.get("LOOMREC_RECORDING").filter(|file| !file.is_empty()) {
        return vec![file.into()];
    }
    let entry = settings.of("replay", "recording").or_else(|| settings.of("record", "recording"));
    entry.map_or_else(Vec::new, |entry| entry.values.iter().map(PathBuf::from).collect())
}

/// A line for each finding, with its remedy below it.
fn page(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.level {
            Level::Fine => format!("{}", "ok  ".green()),
            Level::Warning => format!("{}", "warn".yellow()),
            Level::Wrong => format!("{}", "FAIL".red()),
        };
        let line = |text: &str| terminal::line(text).into_owned();
        text += &format!("{mark}  {}: {}\n", line(&finding.about), line(&finding.text));
        if let Some(remedy) = &finding.remedy {
            text += &format!("      → {}\n", line(remedy));
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    match (count(Level::Wrong), count(Level::Warning)) {
        (0, 0) => text += "\nnothing is wrong\n",
        (wrong, warnings) => text += &format!("\n{wrong} wrong, {warnings} to know about\n"),
    }
    text
}

fn document(findings: &[Finding]) -> String {
    let list: Vec<_> = findings
        .iter()
        .map(|finding| {
            let level = match finding.level {
                Level::Fine => "ok",
                Level::Warning => "warning",
                Level::Wrong => "wrong",
            };
            json!({
                "level": level, "about": finding.about, "text": finding.text,
                "remedy": finding.remedy
            })
        })
        .collect();
    terminal::json(&format!("{:#}\n", json!({ "findings": list }))).into_owned()
}

#[cfg(test)]
mod tests;
