//! One run of recorders on a recording, and the names recorded in it.
//!
//! A run begins when a recorder opens a recording that no live recorder holds, and ends with its
//! last recorder. Each recorder holds a shared lock on the sidecar `FILE.run` as long as it lives;
//! a crash releases it too. The file is opened, joined, added to and left only under the
//! recording's exclusive lock.
//!
//! Its first line holds the run's name. Then come the fingerprints of the entries that were moved
//! out of the log, one in each line in hex, and a line `{"rotated":[device,inode]}` after those of each
//! log that was moved. Those that are still in the log are read from there. Each recorder that
//! entered adds a line `{"joined":N}`, where N is its place. A line `{"target":[inode,length]}`
//! says which file the recording is, when a run begins and from each compaction on. Another file is
//! not of this run. It is `{"target":null}` if there is no file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use foldhash::HashMap;

use super::disk::Disk;
use super::lock;
use super::log::NameFingerprint;
use super::regular_file;
use line::{RunLine, name_lines, read_line};
use loomrec_os::FileId;

mod abandoned;
mod line;
mod stale;
mod target;

pub(super) use target::RunTarget;
use target::{LARGEST, LONGEST_LINE};

pub(super) use abandoned::{abandoned_log, is_held};
pub(super) use stale::is_of;

/// How often each fingerprint was seen.
type FingerprintCounts = HashMap<NameFingerprint, u32>;

/// The most targets that are remembered.
const TARGETS: usize = 16;

/// The run to take part in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunChoice {
    /// The current run, or a new one.
    New,
    /// The run of this name, even if its recorders have ended; otherwise as `New`.
    Named(String),
}

/// A place in a run.
#[derive(Debug)]
pub(super) struct RunSeat {
    path: PathBuf,
    disk: Disk,
    /// Under a shared lock as long as it is open.
    file: File,
    id: FileId,
    /// The name that others join the run by. A run with a name outlives its recorders.
    name: Option<String>,
    /// How many entries with a fingerprint were moved out of the log.
    moved: FingerprintCounts,
    /// How many are in the log.
    logged: FingerprintCounts,
    rotations: Vec<FileId>,
    /// The number of recorders that have entered so far.
    joined: usize,
    /// The number that had entered when this one did.
    place: usize,
    /// Whether no recorder was alive then.
    alone: bool,
    /// Which files the recording has been, the newest last.
    targets: VecDeque<RunTarget>,
    /// How far the file has been read.
    read_to: u64,
}

impl RunSeat {
    /// Begins or joins a run. Only under the recording's lock.
    pub(super) fn enter(path: &Path, disk: &Disk, choice: &RunChoice) -> io::Result<Self> {
        let file = disk.open(path)?;
        let alone = try_claim_run(&file)?;
        let id = FileId::from_file(&file)?;
        let mut run = Self {
            path: path.to_owned(),
            disk: disk.clone(),
            file,
            id,
            name: None,
            moved: FingerprintCounts::default(),
            logged: FingerprintCounts::default(),
            rotations: Vec::new(),
            joined: 0,
            place: 0,
            alone,
            targets: VecDeque::new(),
            read_to: 0,
        };
        run.name = run.read_name()?;
        let joins = !alone
            || match choice {
                RunChoice::Named(name) => run.name.as_ref() == Some(name),
                RunChoice::New => false,
            };
        if !joins {
            run.begin_run(choice)?;
        }
        run.read_new_lines()?;
        run.place = run.joined;
        let line = format!("{{\"joined\":{}}}\n", run.place);
        write_at_end(&run.disk, &run.file, run.read_to, line.as_bytes())?;
        run.read_new_lines()?;
        // Turns the exclusive lock into a shared one. No other process can come in between, because
        // this is done under the recording's lock.
        fs2::FileExt::try_lock_shared(&run.file)?;
        Ok(run)
    }

    /// Enters again, with everything that is known of the run, if another process removed the run's
    /// file. Only under the recording's lock.
    pub(super) fn rejoin_if_removed(&mut self) -> io::Result<()> {
        if FileId::at_path(&self.path)? == Some(self.id) {
            return Ok(());
        }
        let choice = self.name.clone().map_or(RunChoice::New, RunChoice::Named);
        let mut again = Self::enter(&self.path, &self.disk, &choice)?;
        let mut unknown = Vec::new();
        for (&name, &count) in &self.moved {
            let known = again.moved.get(&name).copied().unwrap_or(0);
            unknown.extend((known..count).map(|_| name));
        }
        write_at_end(&again.disk, &again.file, again.read_to, &name_lines(&unknown))?;
        again.read_new_lines()?;
        // Rotations are counted from when a log was opened, so none is lost.
        again.rotations.splice(..0, self.rotations.iter().copied());
        again.place = self.place;
        again.logged = std::mem::take(&mut self.logged);
        self.targets.extend(std::mem::take(&mut again.targets));
        again.targets = std::mem::take(&mut self.targets);
        *self = again;
        Ok(())
    }

    /// Returns how many entries with this fingerprint have been recorded in this run.
    pub(super) fn recorded_count(&self, name: NameFingerprint) -> u32 {
        let count = |counts: &FingerprintCounts| counts.get(&name).copied().unwrap_or(0);
        count(&self.moved) + count(&self.logged)
    }

    /// Counts an entry that is in the log.
    pub(super) fn count_logged(&mut self, name: NameFingerprint) {
        *self.logged.entry(name).or_default() += 1;
    }

    /// Forgets the entries of the log: it was moved, or is read again.
    pub(super) fn forget_log(&mut self) {
        self.logged.clear();
    }

    /// Returns the place of this recorder in its run, counted from 0.
    pub(super) fn place_in_run(&self) -> usize {
        self.place
    }

    /// Whether no live recorder held the recording when this one entered.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether this run put this file in the recording's place, as far as is known. The last few
    /// targets count, because a compaction may have died before it put the newest in its place.
    pub(super) fn has_made(&self, target: RunTarget) -> bool {
        self.targets.is_empty() || self.targets.contains(&target)
    }

    /// Whether there has been a recording since the run began, as far as is known.
    pub(super) fn has_made_any(&self) -> bool {
        self.targets.iter().any(Option::is_some)
    }

    /// Accepts this file as the recording's from now on.
    pub(super) fn accept(&mut self, target: RunTarget) {
        if self.targets.len() >= TARGETS {
            self.targets.pop_front();
        }
        self.targets.push_back(target);
    }

    /// Returns how many logs have been moved away so far.
    pub(super) fn rotation_count(&self) -> usize {
        self.rotations.len()
    }

    /// Whether this log was moved away after the first `since` logs.
    pub(super) fn has_rotated(&self, log: FileId, since: usize) -> bool {
        self.rotations.iter().skip(since).any(|rotated| *rotated == log)
    }

    /// Reads what others have added, a line at a time.
    ///
    /// # Errors
    /// The file cannot be read, or is larger than that of any run.
    pub(super) fn read_new_lines(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > LARGEST {
            return Err(self.too_large());
        }
        self.file.seek(SeekFrom::Start(self.read_to))?;
        let mut reader = BufReader::new(self.file.try_clone()?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
            if line.last() == Some(&b'\n') {
                line.pop();
                self.read_to += length;
                self.learn_line(&line);
                continue;
            }
            // No recorder writes a line that long, so it is skipped.
            let rest = if length < LONGEST_LINE { 0 } else { reader.skip_until(b'\n')? as u64 };
            let end = self.read_to + length + rest;
            let mut last = [0];
            // A line without an end was cut by a crash. The next recorder that adds a line ends it.
            if rest == 0
                || loomrec_os::read_at(&self.file, &mut last, end - 1)? == 0
                || last != [b'\n']
            {
                return Ok(());
            }
            self.read_to = end;
        }
    }

    fn learn_line(&mut self, line: &[u8]) {
        match read_line(line) {
            Some(RunLine::Name(name)) => *self.moved.entry(name).or_default() += 1,
            Some(RunLine::Rotated(log)) => self.rotations.push(log),
            Some(RunLine::Joined) => self.joined += 1,
            Some(RunLine::Target(target)) => self.accept(target),
            None => {}
        }
    }

    fn too_large(&self) -> io::Error {
        let text = format!(
            "{} is larger than the file of any run: remove it where no loomrec runs",
            self.path.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, text)
    }

    /// Leaves the run. Returns whether it was the last recorder in it. Only under the recording's
    /// lock.
    pub(super) fn leave(self) -> io::Result<bool> {
        if FileId::at_path(&self.path)? != Some(self.id) || !lock::try_lock(&self.file)? {
            return Ok(false);
        }
        if self.name.is_none() {
            self.disk.remove_if_there(&self.path)?;
        }
        Ok(true)
    }

    fn begin_run(&mut self, choice: &RunChoice) -> io::Result<()> {
        self.name = match choice {
            RunChoice::New => None,
            RunChoice::Named(name) => Some(name.clone()),
        };
        let mut line = serde_json::to_vec(&serde_json::json!({ "run": self.name }))?;
        line.push(b'\n');
        self.read_to = line.len() as u64;
        write_at_end(&self.disk, &self.file, 0, &line)
    }

    /// Returns the run's name from the first line; `None` if it has none. `read_to` is then after
    /// that line.
    fn read_name(&mut self) -> io::Result<Option<String>> {
        let mut text = Vec::new();
        self.file.rewind()?;
        (&self.file).take(LONGEST_FIRST_LINE).read_to_end(&mut text)?;
        let Some(end) = memchr::memchr(b'\n', &text) else {
            return Ok(None);
        };
        self.read_to = end as u64 + 1;
        let line: Option<serde_json::Value> = serde_json::from_slice(&text[..end]).ok();
        Ok(line.as_ref().and_then(|line| line.get("run")?.as_str()).map(str::to_owned))
    }
}

/// Takes the lock of a run that no recorder holds, and returns whether it did. A reader may take
/// the lock for a moment, to see whether it is held, so this is tried several times.
fn try_claim_run(file: &File) -> io::Result<bool> {
    for _ in 0..READERS {
        if lock::try_lock(file)? {
            return Ok(true);
        }
        thread::sleep(MOMENT);
    }
    lock::try_lock(file)
}

/// How often the lock of a run is tried again.
const READERS: usize = 3;

/// The pause before each retry. A reader holds the lock for less than this.
const MOMENT: Duration = Duration::from_millis(1);

/// Whether a live recorder holds the recording. Only under the recording's lock.
pub(super) fn is_live(path: &Path) -> io::Result<bool> {
    match regular_file::open_to_read(path)? {
        Some(file) => lock::try_lock(&file).map(|alone| !alone),
        None => Ok(false),
    }
}

/// Notes that a log is being moved away, and the names in it. If there is no run, nothing is noted.
/// Only under the recording's lock.
pub(super) fn note_rotation(
    path: &Path,
    disk: &Disk,
    names: &[NameFingerprint],
    log: FileId,
) -> io::Result<()> {
    let mut added = name_lines(names);
    let FileId { device, inode } = log;
    added.extend(format!("{{\"rotated\":[{device},{inode}]}}\n").into_bytes());
    append_lines(path, disk, &added)
}

/// Notes which file the recording is, or is about to be. If there is no run, nothing is noted. Only
/// under the recording's lock.
pub(super) fn note_target(path: &Path, disk: &Disk, target: RunTarget) -> io::Result<()> {
    let line = serde_json::json!({ "target": target });
    append_lines(path, disk, format!("{line}\n").as_bytes())
}

/// Adds lines to the run's file, if there is one.
fn append_lines(path: &Path, disk: &Disk, added: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    let Some(mut file) = regular_file::open_existing(path, options.read(true).write(true))? else {
        return Ok(());
    };
    let mut text = Vec::new();
    // Only its end matters, because a line that was cut is overwritten.
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LONGEST_LINE);
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut text)?;
    let end = from + memchr::memrchr(b'\n', &text).map_or(0, |at| at as u64 + 1);
    write_at_end(disk, &file, end, added)
}

/// The most bytes of the first line, which holds the run's name.
const LONGEST_FIRST_LINE: u64 = 64 << 10;

/// Writes at `end`, over a line that was cut.
fn write_at_end(disk: &Disk, file: &File, end: u64, text: &[u8]) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    if file.metadata()?.len() != end {
        disk.set_len(file, end)?;
    }
    disk.write_all_at(file, text, end)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
