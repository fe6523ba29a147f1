//! Which log a recorder appends to, and how long its lines are.

/// Which file the recording is: its inode and its length; `None` where there is none.
pub(crate) type RunTarget = Option<(u64, u64)>;

/// No line but the first is longer than this.
pub(super) const LONGEST_LINE: u64 = 256;

/// A larger file is of no run: it would name more entries than a recording of 4 GiB holds.
pub(super) const LARGEST: u64 = 512 << 20;
