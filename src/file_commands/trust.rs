//! The `loomrec trust` command: shows what a settings file asks for, and trusts it.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use clap::Command;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::args::{LogFormat, TrustArgs};
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::{Output, print};
use loomrec_cli::settings::{OutwardSetting, Settings, SettingsTrust, outward_settings};
use loomrec_cli::terminal;
use loomrec_cli::trust_store::{TrustStore, TrustedSettings};

/// Runs the command. `line` is the definition of the command line.
///
/// # Errors
/// There is no file to trust, nobody to ask, or the store cannot be written.
pub fn run(args: &TrustArgs, settings: &Settings, line: &Command) -> Result<u8, CommandFailure> {
    let store = TrustStore::of_user().ok_or_else(|| {
        CommandFailure::usage(
            "there is no folder for what you trust: set HOME, or LOOMREC_STATE to an absolute \
             path; in CI, set LOOMREC_TRUST_SETTINGS to the hash of the settings file",
        )
    })?;
    if args.list {
        return list(&store);
    }
    let named = args
        .file
        .as_deref()
        .map(|file| Settings::find(Some(file), &std::env::current_dir().unwrap_or_default(), line));
    let named = named.transpose()?;
    let settings = named.as_ref().unwrap_or(settings);
    let Some((path, sha256)) = settings.identity() else {
        return Err(CommandFailure::usage(
            "there is no loomrec.toml here or above; give the file to trust: loomrec trust FILE",
        ));
    };
    if args.forget {
        return forget(&store, path);
    }
    let outward = outward_settings(settings, line);
    let name = terminal::path_line(path);
    if outward.is_empty() {
        return print(&format!("{name} asks for nothing that needs your trust\n"));
    }
    print(&page(&name, sha256, &outward))?;
    if SettingsTrust::of_store(settings) == SettingsTrust::Trusted {
        return print("you trust this file\n");
    }
    if !args.yes && !ask()? {
        return Err(CommandFailure::new(NO, "the file is not trusted"));
    }
    let item = TrustedSettings { path: path.to_owned(), sha256: sha256.to_owned() };
    store.add(&item).map_err(|error| unwritable(&store, &error, sha256))?;
    let output = Output::new(LogFormat::Human, false, false);
    output.info("you trust this file until it changes; loomrec trust --forget ends that");
    Ok(0)
}

/// Formats what a file asks for: a line for each setting, and what its flag does.
fn page(name: &str, sha256: &str, outward: &[OutwardSetting]) -> String {
    let mut text = format!("{name} asks for:\n");
    for OutwardSetting { setting, help } in outward {
        let line = format!("{}: {} = {:?}", setting.place, setting.name, setting.value);
        // Writing to a string never fails.
        let _ = writeln!(text, "\n  {}\n      {}", terminal::line(&line), terminal::line(help));
    }
    let _ = writeln!(text, "\nsha256 {sha256}");
    text
}

/// Asks the user whether to trust the file.
fn ask() -> Result<bool, CommandFailure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CommandFailure::usage(
            "the file is not trusted: without a terminal to ask on, --yes is needed",
        ));
    }
    let mut answer = String::new();
    let read = write!(io::stderr(), "Trust this file until it changes? [y/N] ")
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    read.map_err(|error| {
        CommandFailure::new(UNEXPECTED, format!("failed to read the answer: {error}"))
    })?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Lists what the user trusts.
fn list(store: &TrustStore) -> Result<u8, CommandFailure> {
    let items = store.items().map_err(|error| unreadable(store, &error))?;
    let mut text = String::new();
    for stored in &items {
        let since = OffsetDateTime::from(stored.since).replace_nanosecond(0);
        let since = since.ok().and_then(|since| since.format(&Rfc3339).ok()).unwrap_or_default();
        let (path, sha256) = (terminal::path_line(&stored.item.path), &stored.item.sha256);
        let _ = writeln!(text, "{since}  {path}  sha256 {}", terminal::line(sha256));
    }
    if items.is_empty() {
        text.push_str("you trust no settings file\n");
    }
    print(&text)
}

/// Stops trusting a file, whatever its content was.
fn forget(store: &TrustStore, path: &Path) -> Result<u8, CommandFailure> {
    let name = terminal::path_line(path);
    let is_it = |item: &TrustedSettings| item.path == path;
    match store.forget(is_it).map_err(|error| unreadable(store, &error))? {
        0 => print(&format!("{name} was not trusted\n")),
        _ => print(&format!("{name} is no longer trusted\n")),
    }
}

fn unwritable(store: &TrustStore, error: &io::Error, sha256: &str) -> CommandFailure {
    CommandFailure::new(
        UNEXPECTED,
        format!(
            "failed to keep your trust in {}: {error}; set LOOMREC_STATE to a folder that can be \
             written, or give the hash with each command: LOOMREC_TRUST_SETTINGS={sha256}",
            terminal::path_line(store.folder())
        ),
    )
}

fn unreadable(store: &TrustStore, error: &io::Error) -> CommandFailure {
    let folder = terminal::path_line(store.folder());
    CommandFailure::new(UNEXPECTED, format!("failed to read what you trust in {folder}: {error}"))
}
