//! The circumstances of a measurement: date, machine, versions.

use std::process::Command;

use time::OffsetDateTime;

/// Describes date, machine and versions in a few lines of Markdown, without a host name or path.
pub fn describe() -> String {
    let date = OffsetDateTime::now_utc().date();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = model().unwrap_or_else(|| "unknown processor".to_owned());
    let system =
        program_output("uname", &["-sr"]).unwrap_or_else(|| std::env::consts::OS.to_owned());
    let rust =
        program_output("rustc", &["--version"]).unwrap_or_else(|| "rustc unknown".to_owned());
    let commit = program_output("git", &["describe", "--always", "--dirty", "--abbrev=8"])
        .map_or_else(String::new, |commit| format!(" ({commit})"));
    let memory = memory().map_or_else(String::new, |size| format!(", {size} GB of memory"));
    format!(
        "{date} \u{b7} {cores} cores, {model}{memory} \u{b7} {system}\n\
         loomrec {}{commit} \u{b7} {} \u{b7} {} \u{b7} {} \u{b7} {rust}\n",
        env!("CARGO_PKG_VERSION"),
        locked("hyper"),
        locked("reqwest"),
        locked("tokio"),
    )
}

/// Returns the name of the processor.
fn model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the memory of the machine, in gigabytes.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some((kilobytes + 500_000) / 1_000_000)
}

/// Returns the output of a program.
fn program_output(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns a dependency with its locked version.
fn locked(name: &str) -> String {
    let heading = format!("name = \"{name}\"");
    let mut lines = include_str!("../../Cargo.lock").lines();
    let version = lines
        .find(|line| *line == heading)
        .and_then(|_| lines.next()?.strip_prefix("version = ").map(|text| text.trim_matches('"')));
    format!("{name} {}", version.unwrap_or("unknown"))
}
