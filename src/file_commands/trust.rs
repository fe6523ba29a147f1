//! The `loomrec trust` command: shows what a settings file or a pointer file asks for, and trusts it.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use clap::Command;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::args::{LogFormat, TrustArgs};
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::{Output, print};
use loomrec_cli::settings::{
    OutwardSetting, Settings, SettingsTrust, outward_settings, pointed_url,
};
use loomrec_cli::terminal;
use loomrec_cli::trust_store::{TrustStore, TrustedItem, TrustedSettings};
use loomrec_store::{BucketUrl, RecordingLocation};

/// Runs the command. `line` is the definition of the command line.
///
/// # Errors
/// There is nothing to trust, nobody to ask, or the store cannot be written.
pub fn run(args: &TrustArgs, settings: &Settings, line: &Command) -> Result<u8, CommandFailure> {
    let store = TrustStore::of_user().ok_or_else(|| {
        CommandFailure::usage(
            "there is no folder for what you trust: set HOME, or LOOMREC_STATE to an absolute \
             path; in CI, set LOOMREC_TRUST to the hash of the settings file or the URL of the \
             bucket",
        )
    })?;
    if args.list {
        return list_trusted(&store);
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let Some(file) = args.file.as_deref() else {
        return trust_settings(args, &store, settings, line);
    };
    if RecordingLocation::from(file).is_remote() {
        return trust_bucket(args, &store, file);
    }
    trust_settings(args, &store, &Settings::find(Some(file), &folder, line)?, line)
}

/// Trusts a settings file, or stops trusting it.
fn trust_settings(
    args: &TrustArgs,
    store: &TrustStore,
    settings: &Settings,
    line: &Command,
) -> Result<u8, CommandFailure> {
    let Some((path, sha256)) = settings.file_identity() else {
        return Err(CommandFailure::usage(
            "there is no loomrec.toml here or above; give the file to trust: loomrec trust FILE",
        ));
    };
    let name = terminal::path_line(path);
    if args.forget {
        return stop_trusting(store, &name, |item| item.is_of_file(path));
    }
    let outward = outward_settings(settings, line);
    if outward.is_empty() {
        return print(&format!("{name} asks for nothing that needs your trust\n"));
    }
    print(&settings_text(&name, sha256, &outward))?;
    if SettingsTrust::of_store(settings) == SettingsTrust::Trusted {
        return print("you trust this file\n");
    }
    ask_unless(args.yes, "Trust this file until it changes? [y/N] ")?;
    let item = TrustedSettings { path: path.to_owned(), sha256: sha256.to_owned() };
    let added = store.add(&TrustedItem::Settings(item));
    added.map_err(|error| write_failure(store, &error, sha256))?;
    print_info("you trust this file until it changes; loomrec trust --forget ends that");
    Ok(0)
}

/// Trusts the bucket that `named` points to or is in, or stops trusting it.
fn trust_bucket(args: &TrustArgs, store: &TrustStore, named: &Path) -> Result<u8, CommandFailure> {
    let url = pointed_url(Path::new(""), named);
    let name = terminal::path_line(named);
    let text = url.clone().unwrap_or_else(|| named.to_string_lossy().into_owned());
    let bucket = BucketUrl::of_url(&text).ok_or_else(|| {
        CommandFailure::usage(match url {
            Some(_) => format!("{name} is no pointer file, or names no bucket that can be read"),
            None => format!("{name} names no bucket: give its URL, such as s3://BUCKET"),
        })
    })?;
    let item = TrustedItem::Bucket(bucket.clone());
    if args.forget {
        return stop_trusting(store, &bucket.to_string(), |stored| *stored == item);
    }
    if let Some(url) = &url {
        print(&format!("{name} points to {}\n", terminal::printable_line(url)))?;
    }
    if store.is_trusted(&item) {
        return print(&format!("you trust {bucket}\n"));
    }
    let question = format!("May recordings come from {bucket} and go there? [y/N] ");
    ask_unless(args.yes, &question)?;
    store.add(&item).map_err(|error| write_failure(store, &error, &bucket.to_string()))?;
    print_info(&format!("you trust {bucket}; loomrec trust --forget {bucket} ends that"));
    Ok(0)
}

fn print_info(text: &str) {
    Output::new(LogFormat::Human, false, false).info(text);
}

/// Formats what a file asks for: a line for each setting, and what its flag does.
fn settings_text(name: &str, sha256: &str, outward: &[OutwardSetting]) -> String {
    let mut text = format!("{name} asks for:\n");
    for OutwardSetting { setting, help } in outward {
        let line = format!("{}: {} = {:?}", setting.place, setting.name, setting.value);
        // Writing to a string never fails.
        let _ = writeln!(
            text,
            "\n  {}\n      {}",
            terminal::printable_line(&line),
            terminal::printable_line(help)
        );
    }
    let _ = writeln!(text, "\nsha256 {sha256}");
    text
}

/// Asks the user, unless `--yes` is given.
///
/// # Errors
/// The answer is no, or there is nobody to ask.
fn ask_unless(is_yes: bool, question: &str) -> Result<(), CommandFailure> {
    if is_yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CommandFailure::usage(
            "it is not trusted: without a terminal to ask on, --yes is needed",
        ));
    }
    let mut answer = String::new();
    let read =
        write!(io::stderr(), "{question}").and_then(|()| io::stdin().lock().read_line(&mut answer));
    read.map_err(|error| {
        CommandFailure::new(UNEXPECTED, format!("failed to read the answer: {error}"))
    })?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandFailure::new(NO, "it is not trusted")),
    }
}

/// Lists what the user trusts.
fn list_trusted(store: &TrustStore) -> Result<u8, CommandFailure> {
    let items = store.items().map_err(|error| read_failure(store, &error))?;
    let mut text = String::new();
    for stored in &items {
        let since = OffsetDateTime::from(stored.since).replace_nanosecond(0);
        let since = since.ok().and_then(|since| since.format(&Rfc3339).ok()).unwrap_or_default();
        let what = match &stored.item {
            TrustedItem::Settings(TrustedSettings { path, sha256 }) => {
                format!(
                    "{}  sha256 {}",
                    terminal::path_line(path),
                    terminal::printable_line(sha256)
                )
            }
            TrustedItem::Bucket(bucket) => bucket.to_string(),
        };
        let _ = writeln!(text, "{since}  {what}");
    }
    if items.is_empty() {
        text.push_str("you trust no settings file and no bucket\n");
    }
    print(&text)
}

/// Stops trusting the items that are chosen.
fn stop_trusting(
    store: &TrustStore,
    name: &str,
    is_chosen: impl Fn(&TrustedItem) -> bool,
) -> Result<u8, CommandFailure> {
    match store.forget(is_chosen).map_err(|error| read_failure(store, &error))? {
        0 => print(&format!("{name} was not trusted\n")),
        _ => print(&format!("{name} is no longer trusted\n")),
    }
}

fn write_failure(store: &TrustStore, error: &io::Error, grant: &str) -> CommandFailure {
    CommandFailure::new(
        UNEXPECTED,
        format!(
            "failed to keep your trust in {}: {error}; set LOOMREC_STATE to a folder that can be \
             written, or trust it in each command: LOOMREC_TRUST={grant}",
            terminal::path_line(store.folder())
        ),
    )
}

fn read_failure(store: &TrustStore, error: &io::Error) -> CommandFailure {
    let folder = terminal::path_line(store.folder());
    CommandFailure::new(UNEXPECTED, format!("failed to read what you trust in {folder}: {error}"))
}
