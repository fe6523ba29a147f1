//! A terminal for a process, with what it shows and what is typed.

use std::fs::File;
use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::gate::PATIENCE;
use super::loomrec::signal;

/// The output on the terminal, and whether it is complete.
type Seen = Arc<(Mutex<(Vec<u8>, bool)>, Condvar)>;

/// A process on a terminal.
pub(crate) struct Terminal {
    keyboard: Option<File>,
    /// Keeps the other side open, so that its modes can be read.
    side: Option<File>,
    child: Child,
    seen: Seen,
    /// The position in the output from which the next text is searched.
    read: usize,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Starts a command on a terminal of 24 lines and 100 columns; with `typing`, its stdin is the
    /// terminal as well.
    pub(crate) fn spawn(mut command: Command, typing: bool) -> Self {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        // Without NOCTTY, a test run that leads its session would get this terminal as its
        // controlling one, and its background processes would be stopped when they read from there.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let side = || File::from(open(&name, flags, Mode::empty()).unwrap());
        let terminal = File::from(terminal);
        tcsetwinsize(&terminal, size(24, 100)).unwrap();
        let stdin = if typing { Stdio::from(side()) } else { Stdio::null() };
        let kept = typing.then(side);
        let child = command.stdin(stdin).stdout(side()).stderr(side()).spawn().unwrap();
        drop(command);
        let seen = Seen::default();
        let (own, mut screen) = (Arc::clone(&seen), terminal.try_clone().unwrap());
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The read fails once the last handle of the other side is closed.
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                own.0.lock().unwrap().0.extend_from_slice(&buffer[..count]);
                own.1.notify_all();
            }
            own.0.lock().unwrap().1 = true;
            own.1.notify_all();
        });
        let keyboard = Some(terminal);
        Self { keyboard, side: kept, child, seen, read: 0, reader: Some(reader) }
    }

    /// Types.
    pub(crate) fn types(&self, keys: &str) {
        self.keyboard.as_ref().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this text appears after the text of the last wait. Returns the output up to it.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let new = String::from_utf8_lossy(&seen.0[self.read..]).into_owned();
            if let Some(at) = find(&seen.0[self.read..], text.as_bytes()) {
                self.read += at + text.len();
                return new;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.1, "{text:?} did not come:\n{new}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Types, and waits for this text to appear.
    #[track_caller]
    pub(crate) fn ask(&mut self, keys: &str, text: &str) -> String {
        self.types(keys);
        self.wait_for(text)
    }

    /// Changes the size of the terminal, and signals it.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        tcsetwinsize(self.keyboard.as_ref().unwrap(), size(rows, columns)).unwrap();
        self.signal("WINCH");
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, &self.child.id().to_string());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The current modes of the terminal.
    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(self.side.as_ref().unwrap()).unwrap()
    }

    /// Waits for the end of the process. Returns its exit code and all output on the terminal.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let until = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(Instant::now() < until, "the process does not end");
            std::thread::sleep(Duration::from_millis(2));
        };
        drop(self.side.take());
        self.reader.take().unwrap().join().unwrap();
        let seen = self.seen.0.lock().unwrap();
        (code, String::from_utf8_lossy(&seen.0).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
