//! What a command says while it waits for a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use loomrec_remote::OnFetchProgress;
use tokio::task::JoinHandle;

use crate::progress;
use loomrec_cli::output::Output;

/// How long a command is silent before it says what it waits for.
const SILENT: Duration = Duration::from_secs(5);

/// How often it says so again where no line can be drawn.
const AGAIN: Duration = Duration::from_secs(60);

/// How often the line on a terminal is brought up to date.
const REDRAW: Duration = Duration::from_millis(500);

/// A notice that appears after five silent seconds: a live line on a terminal, a line in a log
/// elsewhere. It ends when this is dropped.
pub(super) struct TransferNotice {
    counts: Arc<TransferCounts>,
    task: JoinHandle<()>,
    line: Option<Arc<ProgressBar>>,
}

/// How many objects have arrived, and how many there are.
#[derive(Debug, Default)]
struct TransferCounts {
    done: AtomicU64,
    total: AtomicU64,
}

impl TransferNotice {
    /// Begins to wait for the store of a recording.
    pub(super) fn start(output: &Output, url: &str) -> Self {
        let counts = Arc::new(TransferCounts::default());
        let line = output.may_draw().then(progress::hidden_line);
        let (shown, output, url) = (line.clone(), output.clone(), url.to_owned());
        let counted = Arc::clone(&counts);
        let task = tokio::spawn(async move {
            tokio::time::sleep(SILENT).await;
            if let Some(line) = &shown {
                progress::show_line(line);
            }
            loop {
                let text = counted.progress_text(&url);
                match &shown {
                    Some(line) => {
                        line.set_message(text);
                        line.tick();
                        tokio::time::sleep(REDRAW).await;
                    }
                    None => {
                        output.info(&text);
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        });
        Self { counts, task, line }
    }

    /// Returns an output that prints above the live line.
    pub(super) fn output_above_line(&self, output: &Output) -> Output {
        self.line.iter().fold(output.clone(), |output, line| output.above_line(Arc::clone(line)))
    }

    /// Returns the callback that counts objects.
    pub(super) fn on_progress(&self) -> OnFetchProgress {
        let counts = Arc::clone(&self.counts);
        Arc::new(move |done, total| {
            counts.done.store(done, Ordering::Relaxed);
            counts.total.store(total, Ordering::Relaxed);
        })
    }
}

impl Drop for TransferNotice {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

impl TransferCounts {
    fn progress_text(&self, url: &str) -> String {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        match read(&self.total) {
            0 => format!("waiting for the store of {url}"),
            total => {
                format!("waiting for the store of {url}: objects: {} of {total}", read(&self.done))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_counts_objects_once_there_are_some() {
        let output = Output::new(crate::args::LogFormat::Human, false, false);
        let notice = TransferNotice::start(&output, "s3://bucket/agent");
        assert_eq!(notice.counts.progress_text("s3://b/a"), "waiting for the store of s3://b/a");
        (notice.on_progress())(3, 32);
        assert_eq!(
            notice.counts.progress_text("s3://b/a"),
            "waiting for the store of s3://b/a: objects: 3 of 32"
        );
    }
}
