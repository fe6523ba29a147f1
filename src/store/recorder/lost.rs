//! The check whether another process deleted or replaced the recording while it is recorded.

use super::*;

impl RecordingAppender {
    /// Returns how many names the recording held that are gone, if a compaction found another file
    /// than this run left, because another process deleted or replaced it. Returns `None` if nothing
    /// happened. The number may be 0: another recording of the same names holds other answers.
    ///
    /// The names of this recorder that are gone go to `gone`. Reported once.
    pub(super) fn count_lost_names(
        &mut self,
        found: Option<FileVersion>,
        gone: &mut Vec<NameFingerprint>,
    ) -> Option<usize> {
        let run = self.run.as_mut()?;
        let found = found.map(FileVersion::file_id);
        // If there was no recording before this compaction, nothing of it can be gone.
        let was_there = run.has_made_any();
        // What cannot be read now proves nothing.
        run.read_new_lines().ok()?;
        if run.has_made(found) {
            return None;
        }
        run.accept(found);
        let now = compaction_job::recorded_names(&self.path)?;
        *gone = self.own.iter().filter(|name| !now.contains(name)).copied().collect();
        let now: HashSet<u64> = now.into_iter().map(compaction_job::half_fingerprint).collect();
        let mut lost: HashSet<u64> =
            gone.iter().copied().map(compaction_job::half_fingerprint).collect();
        lost.extend(self.held.iter().filter(|name| !now.contains(name)));
        self.held.retain(|name| now.contains(name));
        (was_there || !lost.is_empty()).then_some(lost.len())
    }
}
