//! A recording that several threads append to, and that compacts its log itself.
//!
//! An append takes the appender's lock and no other. Compactions run on separate threads
//! ([`super::compactor`]). An append sends a message only if no compaction was scheduled before it,
//! or if there is an event.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::appender_event::OnAppenderEvent;
use super::compactor::{BackgroundCompactor, CompactorTask};
use super::error::StoreError;
use super::frame_encoder::{EncodedFrame, FrameEncoder};
use super::recorder::RecordingAppender;

/// A [`RecordingAppender`] for any number of threads.
pub struct SharedAppender {
    appender: Arc<Mutex<RecordingAppender>>,
    tasks: Sender<CompactorTask>,
    compactor: Mutex<Option<JoinHandle<BackgroundCompactor>>>,
}

impl SharedAppender {
    /// Shares an appender, and starts the thread that schedules its compactions.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub fn start(appender: RecordingAppender, on_event: OnAppenderEvent) -> std::io::Result<Self> {
        let appender = Arc::new(Mutex::new(appender));
        let (tasks, received) = mpsc::channel();
        let compactor = BackgroundCompactor::new(Arc::clone(&appender), on_event, tasks.clone());
        let thread = std::thread::Builder::new()
            .name("loomrec-compactor".to_owned())
            .spawn(move || compactor.run(&received))?;
        Ok(Self { appender, tasks, compactor: Mutex::new(Some(thread)) })
    }

    /// Returns an encoder of exchanges, as [`RecordingAppender::encoder`] does.
    pub fn encoder(&self, replace: bool) -> FrameEncoder {
        self.lock_appender().encoder(replace)
    }

    /// Appends a batch, as [`RecordingAppender::append_frames`] does. Waits for others if it has
    /// to.
    ///
    /// # Errors
    /// As for [`RecordingAppender::append_frames`].
    pub fn append_frames(&self, batch: &mut [impl AsMut<EncodedFrame>]) -> Result<(), StoreError> {
        self.append_by(|appender| Some(appender.append_frames(batch))).unwrap_or(Ok(()))
    }

    /// Appends a batch if that needs no wait and is sure to be quick. Returns `None` otherwise. See
    /// [`RecordingAppender::keep_now`].
    pub fn append_now(
        &self,
        batch: &mut [impl AsMut<EncodedFrame>],
    ) -> Option<Result<(), StoreError>> {
        self.append_by(|appender| appender.keep_now(batch))
    }

    fn append_by(
        &self,
        append: impl FnOnce(&mut RecordingAppender) -> Option<Result<(), StoreError>>,
    ) -> Option<Result<(), StoreError>> {
        let mut appender = self.lock_appender();
        let is_first = appender.can_compact() && appender.compaction_due().is_none();
        let outcome = append(&mut appender)?;
        let concerns_compactor = is_first || appender.has_notes();
        drop(appender);
        if concerns_compactor {
            // A compactor that is gone has closed the recording.
            let _ = self.tasks.send(CompactorTask::Appended);
        }
        Some(outcome)
    }

    /// Ends the compactions, compacts what is left in the log, and closes the recording.
    /// Later appends do nothing.
    ///
    /// # Errors
    /// As for [`RecordingAppender::close`], except that a recording which another process deleted
    /// or replaced is an event.
    pub fn close(&self) -> Result<(), StoreError> {
        let Some(mut compactor) = self.stop_compactor() else {
            return self.lock_appender().close();
        };
        compactor.close_recording()
    }

    /// Waits for the compactor's thread. Returns `None` if it has ended already or has panicked.
    fn stop_compactor(&self) -> Option<BackgroundCompactor> {
        let thread = self.compactor.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // If the thread has ended, there is nothing to stop.
        let _ = self.tasks.send(CompactorTask::Stop);
        // A panic has been printed.
        thread.join().ok()
    }

    fn lock_appender(&self) -> MutexGuard<'_, RecordingAppender> {
        self.appender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SharedAppender {
    fn drop(&mut self) {
        // The appender closes the recording when the last handle to it is dropped.
        drop(self.stop_compactor());
    }
}

#[cfg(test)]
#[path = "shared_appender_tests.rs"]
mod tests;
