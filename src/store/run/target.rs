//! The file that a run's recording is, and the limits of the run's file.

/// Which file the recording is: its inode and its length; `None` if there is no file.
pub(crate) type RunTarget = Option<(u64, u64)>;

/// The most bytes of a line, except the first.
pub(super) const LONGEST_LINE: u64 = 256;

/// The most bytes of a run's file. A larger one would name more entries than a recording of 4 GiB
/// holds.
pub(super) const LARGEST: u64 = 512 << 20;
