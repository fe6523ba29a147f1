//! The tracking of what other processes do to the log while a recorder works.

use super::*;
use crate::error::StoreError;
use crate::log_appender::LogState;
use crate::rotation;

/// How many bytes of a log that another process removed are rewritten at one time.
const AT_ONCE: usize = 16 << 20;

impl RecordingAppender {
    /// Learns what others have done to the log and the run. Only under the lock.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        let at_log = |source| StoreError::write_failed(self.paths.log.clone(), source);
        let at_run = |source| StoreError::write_failed(self.paths.run.clone(), source);
        let Some(run) = &mut self.run else { return Ok(()) };
        let seen = self.tail.check_file().map_err(at_log)?;
        if self.lock.file_id() != self.settled || seen == LogState::Other {
            run.rejoin_if_removed().map_err(at_run)?;
            self.settled = self.lock.file_id();
        }
        match seen {
            // A log that came and went while none was open here has left its names in the run.
            LogState::Same if self.tail.open_log().is_none() => {
                run.read_new_lines().map_err(at_run)?
            }
            LogState::Same => {}
            LogState::Longer => self.read_on()?,
            LogState::Shorter => {
                self.suspicious = true;
                self.notes.push(StoreEvent::Cut { log: self.paths.log.clone() });
                if let Some(open) = self.tail.open_log() {
                    open.end = 0;
                    open.is_stated = false;
                }
                run.forget_log();
                self.read_on()?;
            }
            LogState::Other => {
                run.read_new_lines().map_err(at_run)?;
                let former = self.tail.reopen(run.rotation_count()).map_err(at_log)?;
                let rotated = |open: &OpenLog| run.has_rotated(open.id, open.rotations);
                self.orphans.extend(former.filter(|open| open.end > 0 && !rotated(open)));
                run.forget_log();
                self.read_on()?;
            }
        }
        if self.orphans.is_empty() { Ok(()) } else { self.recover_orphans() }
    }

    /// Reads the names that others have added to the log, and moves a torn tail out of the way.
    fn read_on(&mut self) -> Result<(), StoreError> {
        let (Some(open), Some(run)) = (self.tail.open_log(), &mut self.run) else { return Ok(()) };
        let at_log = |source| StoreError::read_failed(self.paths.log.clone(), source);
        let scanned = log::scan_from(&open.file, open.end).map_err(at_log)?;
        if scanned.newer {
            return Err(StoreError::NewerLog { path: self.paths.log.clone() });
        }
        for frame in &scanned.frames {
            run.count_logged(frame.name);
        }
        self.notes.extend(rotation::set_aside(&self.paths, &self.disk, &open.file, &scanned)?);
        open.end = scanned.whole;
        open.is_stated |= self.key_variables.is_within(&scanned.key_variables);
        Ok(())
    }

    /// Writes the entries of logs that another process removed again, except those that another
    /// recorder has saved already.
    fn recover_orphans(&mut self) -> Result<(), StoreError> {
        let at_log = |source| StoreError::write_failed(self.paths.log.clone(), source);
        while let Some(orphan) = self.orphans.last() {
            let there: HashSet<_> = match self.tail.open_log() {
                Some(open) => log::scan_frames(&open.file).map_err(at_log)?.frames,
                None => Vec::new(),
            }
            .iter()
            .map(|frame| (frame.name, frame.sum, frame.len))
            .collect();
            let mut frames = Vec::new();
            let Some(run) = &mut self.run else { return Ok(()) };
            let (mut entries, rotations) = (0, run.rotation_count());
            for frame in log::scan_frames(&orphan.file).map_err(at_log)?.frames {
                if there.contains(&(frame.name, frame.sum, frame.len)) {
                    continue;
                }
                let bytes = log::read_payload(&orphan.file, frame).map_err(at_log)?;
                if log::write_frame(frame.name, &bytes, &mut frames).is_ok() {
                    run.count_logged(frame.name);
                    entries += 1;
                }
                // A log may be large. What is there already is not written twice.
                if frames.len() > AT_ONCE {
                    self.tail.append_frames(&self.about, &mut frames, rotations).map_err(at_log)?;
                    frames.clear();
                }
            }
            if entries > 0 {
                self.tail.append_frames(&self.about, &mut frames, rotations).map_err(at_log)?;
                self.schedule.note_append(Instant::now(), false);
                self.notes.push(StoreEvent::Recovered { log: self.paths.log.clone(), entries });
            }
            self.orphans.pop();
        }
        Ok(())
    }
}
