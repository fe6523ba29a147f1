//! The lines of a run's file: how they are written and read.

use super::RunTarget;
use crate::log::NameFingerprint;
use loomrec_os::FileId;

/// The meaning of a line.
pub(super) enum RunLine {
    Name(NameFingerprint),
    Rotated(FileId),
    Joined,
    Target(RunTarget),
}

/// Reads a line. Returns `None` if it has no known meaning.
pub(super) fn read_line(line: &[u8]) -> Option<RunLine> {
    let text = std::str::from_utf8(line).ok()?;
    if text.len() == 32 {
        return u128::from_str_radix(text, 16).ok().map(RunLine::Name);
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    if value.get("joined").is_some() {
        return Some(RunLine::Joined);
    }
    let pair = |value: &serde_json::Value| Some((value.get(0)?.as_u64()?, value.get(1)?.as_u64()?));
    match value.get("target") {
        Some(target) if target.is_null() => Some(RunLine::Target(None)),
        Some(target) => pair(target).map(|target| RunLine::Target(Some(target))),
        None => {
            let (device, inode) = pair(value.get("rotated")?)?;
            Some(RunLine::Rotated(FileId { device, inode }))
        }
    }
}

/// Returns the lines of names.
pub(super) fn name_lines(names: &[NameFingerprint]) -> Vec<u8> {
    let mut text = Vec::with_capacity(names.len() * 33);
    for name in names {
        text.extend(format!("{name:032x}\n").into_bytes());
    }
    text
}
