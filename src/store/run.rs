//! One run of recorders over a recording, and the names recorded in it.
//!
//! A run begins when a recorder opens a recording that no live recorder holds,
//! and ends with its last recorder. The sidecar `FILE.run` holds the run's id on
//! its first line and then a name a line. Each recorder keeps a shared lock on
//! it for life, which a crash gives back too; it is opened, joined and left
//! under the recording's exclusive lock only.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::lock;
use crate::recording::EntryName;

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
pub(super) struct Run {
    path: PathBuf,
    /// Under a shared lock for as long as it is open.
    file: File,
    /// Whether the run has a name to be joined by, and so outlives its recorders.
    named: bool,
    names: BTreeSet<EntryName>,
    /// Up to where `names` has been read.
    read_to: u64,
}

impl Run {
    /// Begins or joins a run. Only under the recording's lock.
    pub(super) fn enter(path: &Path, choice: &RunChoice) -> io::Result<Self> {
        let file = Disk::real().open(path)?;
        let alone = match fs2::FileExt::try_lock_exclusive(&file) {
            Ok(()) => true,
            Err(error) if lock::is_contended(&error) => false,
            Err(error) => return Err(error),
        };
        let mut run =
            Self { path: path.to_owned(), file, named: false, names: BTreeSet::new(), read_to: 0 };
        let id = run.read_id()?;
        let joins = !alone
            || match choice {
                RunChoice::Named(name) => id.as_ref() == Some(name),
                RunChoice::New => false,
            };
        if joins {
            run.named = id.is_some();
        } else {
            run.begin(choice)?;
        }
        run.refresh()?;
        // Turns the exclusive lock into a shared one; nobody else can be in
        // between, since this is done under the recording's lock.
        fs2::FileExt::try_lock_shared(&run.file)?;
        Ok(run)
    }

    /// Whether the name has been recorded in this run, by whichever recorder.
    pub(super) fn knows(&self, name: &EntryName) -> bool {
        self.names.contains(name)
    }

    /// Reads the names that others have added.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(self.read_to))?;
        self.file.read_to_end(&mut text)?;
        // A line without its end was cut by a crash; whoever adds next ends it.
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
        for line in text[..whole].split(|&byte| byte == b'\n') {
            if let Ok(key) = serde_json::from_slice::<String>(line) {
                self.names.insert(EntryName::of_key(&key).0);
            }
        }
        self.read_to += whole as u64;
        Ok(())
    }

    /// Adds names. Only under the recording's lock, after a refresh.
    pub(super) fn add<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a EntryName>,
    ) -> io::Result<()> {
        let new: Vec<&EntryName> = names.into_iter().filter(|name| !self.knows(name)).collect();
        let mut text = Vec::new();
        for name in &new {
            serde_json::to_writer(&mut text, &name.to_string())?;
            text.push(b'\n');
        }
        if text.is_empty() {
            return Ok(());
        }
        // Over a line that was cut, if there is one.
        self.file.set_len(self.read_to)?;
        self.file.seek(SeekFrom::Start(self.read_to))?;
        self.file.write_all(&text)?;
        self.read_to += text.len() as u64;
        self.names.extend(new.into_iter().cloned());
        Ok(())
    }

    /// Leaves the run; gives whether it was the last recorder in it. Only under
    /// the recording's lock.
    pub(super) fn leave(self) -> io::Result<bool> {
        match fs2::FileExt::try_lock_exclusive(&self.file) {
            Ok(()) => {}
            Err(error) if lock::is_contended(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        if !self.named {
            fs::remove_file(&self.path)?;
        }
        Ok(true)
    }

    fn begin(&mut self, choice: &RunChoice) -> io::Result<()> {
        let id = match choice {
            RunChoice::New => None,
            RunChoice::Named(name) => Some(name.as_str()),
        };
        let mut line = serde_json::to_vec(&serde_json::json!({ "run": id }))?;
        line.push(b'\n');
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&line)?;
        self.named = id.is_some();
        self.read_to = line.len() as u64;
        Ok(())
    }

    /// The run's name on the first line; `None` where it has none. Leaves
    /// `read_to` behind that line.
    fn read_id(&mut self) -> io::Result<Option<String>> {
        let mut text = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut text)?;
        let Some(end) = memchr::memchr(b'\n', &text) else {
            return Ok(None);
        };
        self.read_to = end as u64 + 1;
        let line: Option<serde_json::Value> = serde_json::from_slice(&text[..end]).ok();
        Ok(line.as_ref().and_then(|line| line.get("run")?.as_str()).map(str::to_owned))
    }
}
