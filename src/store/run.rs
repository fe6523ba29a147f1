//! One run of recorders over a recording, and the names recorded in it.
//!
//! A run begins when a recorder opens a recording that no live recorder holds,
//! and ends with its last recorder. Each recorder keeps a shared lock on the
//! sidecar `FILE.run` for life, which a crash gives back too. The file is opened,
//! joined, added to and left under the recording's exclusive lock only.
//!
//! Its first line holds the run's name. Then come the fingerprints of the names
//! that have been moved out of the log, a line each in hex, and a line
//! `{"rotated":[device,inode]}` behind those of each log that was moved. The names
//! that still are in the log are read from there. A line `{"joined":N}` is left by
//! each recorder that entered: N tells them apart. A line `{"target":[inode,length]}`
//! says which file the recording is when a run begins, and from each compaction on: another
//! one is not of this run. It is `{"target":null}` where there is none, and
//! `{"target":[inode,0]}` for a folder.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use foldhash::HashSet;

use super::disk::Disk;
use super::lock;
use super::log::NameFingerprint;
use super::regular_file;
use line::{RunLine, lines, read_line};
use loomrec_os::FileId;

mod abandoned;
mod line;
mod stale;
mod target;

pub(super) use target::RunTarget;
use target::{LARGEST, LONGEST_LINE};

pub(super) use abandoned::{abandoned_log, is_held};
pub(super) use stale::is_of;

/// So many of them are remembered.
const TARGETS: usize = 16;

/// Which run to take part in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunChoice {
    /// The one that is going on, or a new one.
    New,
    /// The one of this name, though its recorders are gone; else as `New`.
    Named(String),
}

/// A place in a run.
#[derive(Debug)]
pub(super) struct RunSeat {
    path: PathBuf,
    disk: Disk,
    /// Under a shared lock for as long as it is open.
    file: File,
    id: FileId,
    /// What the run is called, to be joined by it; such a run outlives its recorders.
    name: Option<String>,
    names: HashSet<NameFingerprint>,
    rotations: Vec<FileId>,
    /// How many recorders have entered so far.
    joined: usize,
    /// How many had when this one did.
    place: usize,
    /// Whether there was no live recorder then.
    alone: bool,
    /// Which file the recording has been, the newest last.
    targets: VecDeque<RunTarget>,
    /// Up to where the file has been read.
    read_to: u64,
}

impl RunSeat {
    /// Begins or joins a run. Only under the recording's lock.
    pub(super) fn enter(path: &Path, disk: &Disk, choice: &RunChoice) -> io::Result<Self> {
        let file = disk.open(path)?;
        let alone = is_nobodys(&file)?;
        let id = FileId::from_file(&file)?;
        let mut run = Self {
            path: path.to_owned(),
            disk: disk.clone(),
            file,
            id,
            name: None,
            names: HashSet::default(),
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
            run.begin(choice)?;
        }
        run.refresh()?;
        run.place = run.joined;
        let line = format!("{{\"joined\":{}}}\n", run.place);
        append(&run.disk, &run.file, run.read_to, line.as_bytes())?;
        run.refresh()?;
        // Turns the exclusive lock into a shared one; nobody else can be in
        // between, since this is done under the recording's lock.
        fs2::FileExt::try_lock_shared(&run.file)?;
        Ok(run)
    }

    /// Enters again where someone has removed the run's file, taking along what
    /// is known of it. Only under the recording's lock.
    pub(super) fn stay(&mut self) -> io::Result<()> {
        if FileId::at_path(&self.path)? == Some(self.id) {
            return Ok(());
        }
        let choice = self.name.clone().map_or(RunChoice::New, RunChoice::Named);
        let mut again = Self::enter(&self.path, &self.disk, &choice)?;
        let unknown: Vec<_> = self.names.difference(&again.names).copied().collect();
        append(&again.disk, &again.file, again.read_to, &lines(&unknown))?;
        again.refresh()?;
        // Rotations are counted from where a log was opened: none was lost.
        again.rotations.splice(..0, self.rotations.iter().copied());
        again.place = self.place;
        self.targets.extend(std::mem::take(&mut again.targets));
        again.targets = std::mem::take(&mut self.targets);
        *self = again;
        Ok(())
    }

    /// Whether the name has been recorded in this run, by whichever recorder.
    pub(super) fn knows(&self, name: NameFingerprint) -> bool {
        self.names.contains(&name)
    }

    /// Remembers a name that stands in the log.
    pub(super) fn learn(&mut self, name: NameFingerprint) {
        self.names.insert(name);
    }

    /// Which recorder of the run this is, counted from 0.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Whether no live recorder held the recording when this one entered.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether the run has made the recording this file, as far as that is known. The
    /// last few count: a compaction may have died before it put the newest in its place.
    pub(super) fn has_made(&self, target: RunTarget) -> bool {
        self.targets.is_empty() || self.targets.contains(&target)
    }

    /// Whether there has been a recording since the run began, as far as that is known.
    pub(super) fn has_made_any(&self) -> bool {
        self.targets.iter().any(Option::is_some)
    }

    /// From now on this file counts as the recording's.
    pub(super) fn accept(&mut self, target: RunTarget) {
        if self.targets.len() >= TARGETS {
            self.targets.pop_front();
        }
        self.targets.push_back(target);
    }

    /// How many logs have been moved away so far.
    pub(super) fn rotations(&self) -> usize {
        self.rotations.len()
    }

    /// Whether this log has been moved away since there were `since` that were.
    pub(super) fn has_rotated(&self, log: FileId, since: usize) -> bool {
        self.rotations.iter().skip(since).any(|rotated| *rotated == log)
    }

    /// Reads what others have added, a line at a time.
    ///
    /// # Errors
    /// A file that cannot be read, or is larger than any run's.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
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
            // A line that is too long was never written by a recorder: it is passed over.
            let rest = if length < LONGEST_LINE { 0 } else { reader.skip_until(b'\n')? as u64 };
            let end = self.read_to + length + rest;
            let mut last = [0];
            // A line without its end was cut by a crash; whoever adds next ends it.
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
            Some(RunLine::Name(name)) => {
                self.names.insert(name);
            }
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

    /// Leaves the run; gives whether it was the last recorder in it. Only under
    /// the recording's lock.
    pub(super) fn leave(self) -> io::Result<bool> {
        if FileId::at_path(&self.path)? != Some(self.id) || !lock::try_lock(&self.file)? {
            return Ok(false);
        }
        if self.name.is_none() {
            self.disk.remove_if_there(&self.path)?;
        }
        Ok(true)
    }

    fn begin(&mut self, choice: &RunChoice) -> io::Result<()> {
        self.name = match choice {
            RunChoice::New => None,
            RunChoice::Named(name) => Some(name.clone()),
        };
        let mut line = serde_json::to_vec(&serde_json::json!({ "run": self.name }))?;
        line.push(b'\n');
        self.read_to = line.len() as u64;
        append(&self.disk, &self.file, 0, &line)
    }

    /// The run's name on the first line; `None` where it has none. Leaves
    /// `read_to` behind that line.
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

/// Takes the lock of a run that nobody holds. One who only reads may try the lock for a
/// moment, to see whether it is held: that is waited for.
fn is_nobodys(file: &File) -> io::Result<bool> {
    for _ in 0..READERS {
        if lock::try_lock(file)? {
            return Ok(true);
        }
        thread::sleep(MOMENT);
    }
    lock::try_lock(file)
}

/// How often the lock of a run is tried that someone holds.
const READERS: usize = 3;

/// How long no reader holds it.
const MOMENT: Duration = Duration::from_millis(1);

/// Whether a live recorder holds the recording. Only under the recording's lock.
pub(super) fn is_live(path: &Path) -> io::Result<bool> {
    match regular_file::open_to_read(path)? {
        Some(file) => lock::try_lock(&file).map(|alone| !alone),
        None => Ok(false),
    }
}

/// Notes that a log is being moved away, and the names in it. A run that is not
/// there needs no note. Only under the recording's lock.
pub(super) fn note_rotation(
    path: &Path,
    disk: &Disk,
    names: &[NameFingerprint],
    log: FileId,
) -> io::Result<()> {
    let mut added = lines(names);
    let FileId { device, inode } = log;
    added.extend(format!("{{\"rotated\":[{device},{inode}]}}\n").into_bytes());
    note(path, disk, &added)
}

/// Notes which file the recording is, or is about to be. A run that is not there needs
/// no note. Only under the recording's lock.
pub(super) fn note_target(path: &Path, disk: &Disk, target: RunTarget) -> io::Result<()> {
    let line = serde_json::json!({ "target": target });
    note(path, disk, format!("{line}\n").as_bytes())
}

/// Adds lines to the run's file, where there is one.
fn note(path: &Path, disk: &Disk, added: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    let Some(mut file) = regular_file::open_existing(path, options.read(true).write(true))? else {
        return Ok(());
    };
    let mut text = Vec::new();
    // Only its end matters: a line that was cut is written over.
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LONGEST_LINE);
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut text)?;
    let end = from + memchr::memrchr(b'\n', &text).map_or(0, |at| at as u64 + 1);
    append(disk, &file, end, added)
}

/// The first line, which holds the run's name, is no longer than this.
const LONGEST_FIRST_LINE: u64 = 64 << 10;

/// Writes behind `end`, over a line that was cut.
fn append(disk: &Disk, file: &File, end: u64, text: &[u8]) -> io::Result<()> {
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
