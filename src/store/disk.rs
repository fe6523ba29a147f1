//! The seam for everything in the store that changes something on disk. Tests make storage fail
//! here.
//!
//! Reading needs no seam and uses the files directly. A [`Disk`] is passed by value; the real one
//! costs nothing.

#[cfg(test)]
pub(super) mod failing;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::regular_file;
use loomrec_os::set_creation_mode;

/// New files are readable by their owner only.
const MODE: u32 = 0o600;

/// The storage that recordings are on.
#[derive(Clone, Debug)]
pub(super) struct Disk(DiskKind);

#[derive(Clone, Debug)]
enum DiskKind {
    Real,
    #[cfg(test)]
    Failing(failing::Plan),
}

/// An operation that changes something, for the failing disk.
#[cfg(test)]
enum DiskChange<'a> {
    /// A write of bytes to a file, some of which may arrive.
    Write(&'a mut dyn FnMut(&[u8]) -> io::Result<()>, &'a [u8]),
    /// An operation that is done in full or not at all.
    Other(&'static str),
}

impl Disk {
    /// Returns the real disk.
    pub(super) fn real() -> Self {
        Self(DiskKind::Real)
    }

    /// Returns a disk that fails as planned.
    #[cfg(test)]
    pub(super) fn failing(plan: &failing::Plan) -> Self {
        Self(DiskKind::Failing(plan.clone()))
    }

    /// Creates a folder and its missing parents.
    pub(super) fn create_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.permit_change("create folder")?;
        fs::create_dir_all(path)
    }

    /// Creates a file that must not exist yet, for reading and writing.
    pub(super) fn create_new(&self, path: &Path) -> io::Result<File> {
        self.permit_change("create")?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        set_creation_mode(&mut options, MODE).open(path)
    }

    /// Opens a file for reading, and for writing at given offsets. Creates it if it is missing.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        self.open_as(path, options.read(true).write(true))
    }

    /// Opens a file for reading, and for writing at its end. Creates it if it is missing.
    pub(super) fn open_to_append(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        self.open_as(path, options.read(true).append(true))
    }

    fn open_as(&self, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        match regular_file::open_existing(path, options)? {
            Some(file) => Ok(file),
            None => {
                self.permit_change("create")?;
                regular_file::open_checked(path, set_creation_mode(options.create(true), MODE))
            }
        }
    }

    /// Writes all bytes at the file's cursor.
    pub(super) fn write_all(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let mut file = file;
        self.write_through(&mut |bytes| file.write_all(bytes), bytes)
    }

    /// Writes all bytes at an offset.
    pub(super) fn write_all_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_through(&mut |bytes| loomrec_os::write_all_at(file, bytes, at), bytes)
    }

    /// Returns a writer for a file.
    pub(super) fn writer<'a>(&'a self, file: &'a File) -> DiskWriter<'a> {
        DiskWriter { disk: self, file }
    }

    /// Truncates or extends a file.
    pub(super) fn set_len(&self, file: &File, length: u64) -> io::Result<()> {
        self.permit_change("set length")?;
        file.set_len(length)
    }

    /// Sets the permissions of a file.
    pub(super) fn set_mode(&self, file: &File, mode: u32) -> io::Result<()> {
        self.permit_change("set mode")?;
        loomrec_os::set_mode(file, mode)
    }

    /// Returns when all of the file is on the device.
    pub(super) fn sync_all(&self, file: &File) -> io::Result<()> {
        self.permit_change("sync")?;
        file.sync_all()
    }

    /// Returns when a folder's names are on the device.
    pub(super) fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.permit_change("sync folder")?;
        File::open(path)?.sync_all()
    }

    /// Renames a file, and replaces whatever has the new name.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.permit_change("rename")?;
        fs::rename(from, to)
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.permit_change("remove")?;
        fs::remove_file(path)
    }

    /// Removes whatever has a temporary file's name, and creates the file.
    pub(super) fn create_temporary(&self, path: &Path) -> io::Result<File> {
        self.permit_change("remove")?;
        regular_file::remove_temporary(path)?;
        self.create_new(path)
    }

    /// Removes a file. A file that does not exist is no error.
    pub(super) fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        match self.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn permit_change(&self, what: &'static str) -> io::Result<()> {
        match &self.0 {
            DiskKind::Real => {
                let _ = what;
                Ok(())
            }
            #[cfg(test)]
            DiskKind::Failing(plan) => plan.meet(DiskChange::Other(what)),
        }
    }

    fn write_through(
        &self,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
        bytes: &[u8],
    ) -> io::Result<()> {
        match &self.0 {
            DiskKind::Real => write(bytes),
            #[cfg(test)]
            DiskKind::Failing(plan) => plan.meet(DiskChange::Write(write, bytes)),
        }
    }
}

/// A file that is written through a [`Disk`].
pub(super) struct DiskWriter<'a> {
    disk: &'a Disk,
    file: &'a File,
}

impl Write for DiskWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_all(self.file, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
