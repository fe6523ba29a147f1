//! The lines of journals: of one file, which may still grow, and of a whole journal.

mod followed_file;
mod whole_journal;

pub use followed_file::{FollowedFile, NextLine};
pub use whole_journal::{JournalRead, WholeJournal};
