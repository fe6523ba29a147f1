//! What a recorder has written on this machine and not uploaded yet.
//!
//! A folder for each recorder: its log (`recording.json.log`), the segments that were cut from it,
//! and `recorder.json`, which names the recording. The number of a segment that was uploaded stays
//! as an empty file, so that no number is used twice. `upload.lock` is locked while a process
//! uploads from the folder; a killed one leaves its folder to the next.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use loomrec_store::{RecordingLocation, StoreEvent, cut_segment};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::content_hash::ContentHash;
use super::recorder_file::RecorderFile;
use super::remote_error::RemoteError;
use super::whole_file::write_whole;

/// A log of this size is cut, in bytes.
pub const CUT_SIZE: u64 = 8 << 20;

/// The end of the name of a segment that was uploaded.
const SENT: &str = "sent";

/// The folder of one recorder. It is locked as long as this exists.
#[derive(Debug)]
pub struct UploadSpool {
    folder: PathBuf,
    /// The id of the recorder.
    pub recorder: String,
    /// What the store shows of it.
    pub file: RecorderFile,
    _lock: File,
}

/// The file that says whose folder it is.
#[derive(Serialize, Deserialize)]
struct SpoolText {
    url: String,
    recorder: RecorderFile,
}

/// A segment that waits to be uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingSegment {
    /// Its number, from 1.
    pub number: u32,
    /// Its file.
    pub path: PathBuf,
}

impl UploadSpool {
    /// Creates the folder of a recorder that begins now.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(state: &Path, url: &str, file: RecorderFile) -> Result<Self, RemoteError> {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let began: String = digits(&file.started_at).chars().take(14).collect();
        let recorder = format!("{began}-{:016x}", rand::rng().random::<u64>());
        let folder = spools_of(state, url).join(&recorder);
        fs::create_dir_all(folder.join("segments")).map_err(RemoteError::at_path(&folder))?;
        let lock = lock_folder(&folder).map_err(RemoteError::at_path(&folder))?;
        let lock = lock.ok_or_else(|| {
            RemoteError::at_path(&folder)(io::Error::other("another process uploads from it"))
        })?;
        let text = SpoolText { url: url.to_owned(), recorder: file };
        let path = folder.join("recorder.json");
        let bytes = serde_json::to_vec(&text).map_err(io::Error::other);
        bytes.and_then(|bytes| write_whole(&path, &bytes)).map_err(RemoteError::at_path(path))?;
        Ok(Self { folder, recorder, file: text.recorder, _lock: lock })
    }

    /// Returns the folders that ended recorders of a recording have left. Those of live ones are
    /// locked.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn find_leftovers(state: &Path, url: &str) -> Result<Vec<Self>, RemoteError> {
        let folder = spools_of(state, url);
        let listed = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(RemoteError::at_path(&folder))?,
        };
        let mut spools = Vec::new();
        for entry in listed {
            let entry = entry.map_err(RemoteError::at_path(&folder))?;
            spools.extend(Self::open_left(&entry.path(), url)?);
        }
        spools.sort_by(|one, other| one.recorder.cmp(&other.recorder));
        Ok(spools)
    }

    /// Opens a folder that was left. Returns `None` if its recorder is alive, or if it was killed
    /// before it wrote anything.
    fn open_left(folder: &Path, url: &str) -> Result<Option<Self>, RemoteError> {
        let Some(lock) = lock_folder(folder).map_err(RemoteError::at_path(folder))? else {
            return Ok(None);
        };
        let text = fs::read(folder.join("recorder.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<SpoolText>(&bytes).ok());
        let Some(text) = text.filter(|text| text.url == url) else { return Ok(None) };
        let recorder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = folder.to_owned();
        Ok(Some(Self { folder, recorder, file: text.recorder, _lock: lock }))
    }

    /// Returns the location of the recording whose log this is. Its file never exists.
    pub fn recording_location(&self) -> RecordingLocation {
        self.folder.join("recording.json").into()
    }

    /// Returns the length of the log in bytes.
    pub fn log_length(&self) -> u64 {
        let [log, _] = self.recording_location().log_files();
        fs::metadata(log).map_or(0, |found| found.len())
    }

    /// Cuts the log into the next segment, if there is anything in it. Returns events for people.
    /// This blocks.
    ///
    /// # Errors
    /// The storage fails, or the log is locked for too long.
    pub fn cut_next_segment(&self) -> Result<Vec<StoreEvent>, RemoteError> {
        let (last, _) = self.list_segments()?;
        let segment = self.segment_path(last + 1);
        Ok(cut_segment(&self.recording_location(), &segment)?.unwrap_or_default())
    }

    /// Returns how many segments wait to be uploaded; 1 if the folder cannot be read.
    pub(crate) fn waiting_count(&self) -> u64 {
        self.waiting_segments().map_or(1, |waiting| waiting.len() as u64)
    }

    /// Returns the segments that wait, in order.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn waiting_segments(&self) -> Result<Vec<WaitingSegment>, RemoteError> {
        self.list_segments().map(|(_, waiting)| waiting)
    }

    /// Returns the highest number that was used, and the segments that wait.
    fn list_segments(&self) -> Result<(u32, Vec<WaitingSegment>), RemoteError> {
        let folder = self.folder.join("segments");
        let (mut last, mut waiting) = (0, Vec::new());
        for entry in fs::read_dir(&folder).map_err(RemoteError::at_path(&folder))? {
            let path = entry.map_err(RemoteError::at_path(&folder))?.path();
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            let Some(number) = number else { continue };
            last = last.max(number);
            if path.extension().is_none() {
                waiting.push(WaitingSegment { number, path });
            }
        }
        waiting.retain(|segment| !sent_path(&segment.path).exists());
        waiting.sort_by_key(|segment| segment.number);
        Ok((last, waiting))
    }

    /// Notes that a segment is in the store, and removes it here.
    ///
    /// # Errors
    /// A file cannot be written or removed. The segment is uploaded again then, which does no harm.
    pub fn mark_sent(&self, segment: &WaitingSegment) -> Result<(), RemoteError> {
        let sent = sent_path(&segment.path);
        fs::write(&sent, "").map_err(RemoteError::at_path(sent))?;
        fs::remove_file(&segment.path).map_err(RemoteError::at_path(&segment.path))
    }

    fn segment_path(&self, number: u32) -> PathBuf {
        self.folder.join("segments").join(format!("{number:06}"))
    }

    /// Removes the folder, once everything in it is in the store.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove_folder(self) -> Result<(), RemoteError> {
        fs::remove_dir_all(&self.folder).map_err(RemoteError::at_path(&self.folder))
    }

    /// Returns the folder, for messages.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn sent_path(segment: &Path) -> PathBuf {
    segment.with_extension(SENT)
}

/// Returns the folder of a recording's spools.
fn spools_of(state: &Path, url: &str) -> PathBuf {
    let digits = ContentHash::from_bytes(url.as_bytes()).digits()[..16].to_owned();
    state.join("remote").join(digits)
}

/// Locks a recorder's folder. Returns `None` if another process has it.
fn lock_folder(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join("upload.lock");
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    match fs2::FileExt::try_lock_exclusive(&file) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
