//! The journal: one line for each call, in memory for the control endpoint and,
//! if asked for, in a file of JSON lines. A thread does the writing.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

/// Lines kept in memory.
const KEPT: usize = 1000;

/// Where lines go.
#[derive(Debug, Default)]
pub struct Journal {
    recent: Mutex<VecDeque<Value>>,
    file: Mutex<Option<Writer>>,
}

/// The thread that writes, and the way to it.
type Writer = (Sender<String>, JoinHandle<std::io::Result<()>>);

impl Journal {
    /// A journal in memory, and in `file` where one is given.
    pub fn new(file: Option<File>) -> Self {
        let file = file.map(|file| {
            let (sender, receiver) = channel();
            (sender, std::thread::spawn(move || write(file, &receiver)))
        });
        Self { recent: Mutex::default(), file: Mutex::new(file) }
    }

    /// Adds a line.
    pub fn add(&self, line: Value) {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((sender, _)) = file.as_ref() {
            // A writer that has failed says so when the journal is closed.
            drop(sender.send(line.to_string()));
        }
        drop(file);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == KEPT {
            recent.pop_front();
        }
        recent.push_back(line);
    }

    /// The latest lines, oldest first.
    pub fn recent(&self) -> Vec<Value> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().cloned().collect()
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// When lines could not be written.
    pub fn close(&self) -> std::io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((sender, thread)) = file else { return Ok(()) };
        drop(sender);
        thread.join().unwrap_or(Ok(()))
    }
}

/// The thread: writes lines as they come, flushing whenever none is waiting.
fn write(file: File, lines: &Receiver<String>) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    while let Ok(line) = lines.recv() {
        writeln!(out, "{line}")?;
        while let Ok(line) = lines.try_recv() {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
    }
    Ok(())
}
