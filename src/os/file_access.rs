//! Access to files: reads and writes at offsets, options for opening, permissions.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use rustix::fs::OFlags;

/// Reads bytes at an offset of a file without moving its cursor. Returns how many were read: 0 at
/// the end.
///
/// # Errors
/// If the file cannot be read.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(buffer, at)
}

/// Fills a buffer from an offset of a file.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the file ends before, or an error if it cannot be read.
pub fn read_exact_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(buffer, at)
}

/// Writes all bytes at an offset of a file.
///
/// # Errors
/// If the file cannot be written. Some of the bytes may have been written then.
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

/// Makes opening fail if the last part of the path is a symbolic link.
pub fn refuse_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
}

/// Makes opening fail as [`refuse_links`] does, and never block: a named pipe opens even if nothing
/// has its other end open.
pub fn refuse_links_and_waits(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
}

/// Sets the permissions of a file that opening creates, as in `0o600`.
pub fn set_creation_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    options.mode(mode)
}

/// Creates a folder that only its owner may enter, and the folders above it that do not exist. It
/// is no error if there is one.
///
/// # Errors
/// If it cannot be created.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether this user may run a file as a program. Some systems permit none in folders for temporary
/// files.
pub fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Sets the permissions of a file, as in `0o600`.
///
/// # Errors
/// If the file belongs to another user, or the storage fails.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_at_places_leave_the_place_of_the_file() {
        use std::io::{Read as _, Write as _};
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abcdef").unwrap();
        write_all_at(&file, b"XY", 1).unwrap();
        let mut bytes = [0; 4];
        read_exact_at(&file, &mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"aXYd");
        assert_eq!(read_at(&file, &mut bytes, 4).unwrap(), 2);
        assert_eq!(read_at(&file, &mut bytes, 6).unwrap(), 0);
        let short = read_exact_at(&file, &mut bytes, 4).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(file.read(&mut bytes).unwrap(), 0, "its own place is behind what was written");
    }

    #[test]
    fn links_are_not_followed_and_pipes_are_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("real"), "").unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), kind, mode, 0).unwrap();
        let open = |name, refuse: fn(&mut OpenOptions) -> &mut OpenOptions| {
            refuse(OpenOptions::new().read(true)).open(at(name)).is_ok()
        };
        assert!(open("real", refuse_links) && !open("link", refuse_links));
        assert!(open("real", refuse_links_and_waits) && !open("link", refuse_links_and_waits));
        assert!(open("pipe", refuse_links_and_waits));
    }
}
