//! The terminal as a whole screen with single keys, and as it was before.

use std::io::{self, Write as _};

use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};

/// Another screen, without a cursor, on which long lines end at its edge.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
/// The screen that was there.
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// The terminal, ours until this goes.
pub(super) struct ReviewScreen {
    before: Termios,
    is_ours: bool,
    has_colours: bool,
}

impl ReviewScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// A terminal that does not let itself be taken.
    pub(super) fn take() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let has_colours =
            anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let mut screen = Self { before, is_ours: false, has_colours };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes it again, after someone else had it.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.input_modes -= InputModes::IXON | InputModes::ICRNL;
        // Each key as it is typed, shown by nobody; Ctrl-C and Ctrl-Z are keys, too.
        modes.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.is_ours = true;
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        write(ENTER)
    }

    /// Gives it back as it was.
    pub(super) fn leave(&mut self) {
        if std::mem::replace(&mut self.is_ours, false) {
            // A terminal that is gone needs nothing.
            let _ = write(LEAVE);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        }
    }

    /// Lines and columns; those of old where the terminal does not say.
    pub(super) fn size() -> (usize, usize) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                (usize::from(size.ws_row), usize::from(size.ws_col))
            }
            _ => (24, 80),
        }
    }

    /// Shows lines from the top of the screen.
    ///
    /// # Errors
    /// A terminal that is gone.
    pub(super) fn show(&self, lines: &[String]) -> io::Result<()> {
        let mut out = String::from("\u{1b}[H");
        for (at, line) in lines.iter().enumerate() {
            let end = if at + 1 < lines.len() { "\r\n" } else { "" };
            match self.has_colours {
                true => out.push_str(&format!("{line}\u{1b}[0m\u{1b}[K{end}")),
                false => {
                    let line = anstream::adapter::strip_str(line);
                    out.push_str(&format!("{line}\u{1b}[K{end}"));
                }
            }
        }
        out.push_str("\u{1b}[J");
        write(&out)
    }
}

impl Drop for ReviewScreen {
    fn drop(&mut self) {
        self.leave();
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Stops this process where a shell is there to let it go on; gives whether it does.
pub(super) fn stop() -> bool {
    let is_cared_for = (|| {
        let (group, session) = job(getpid())?;
        let (parents, of_parent) = job(getppid()?)?;
        Some(session == of_parent && group != parents)
    })();
    is_cared_for == Some(true) && kill_process(getpid(), Signal::STOP).is_ok()
}

/// The process group and the session of a process; 0 where they began outside of this
/// container, which the calls of the system tell no safe way.
#[cfg(target_os = "linux")]
fn job(pid: Pid) -> Option<(i32, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // Behind the name, which may hold anything: state, parent, group, session.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(not(target_os = "linux"))]
fn job(pid: Pid) -> Option<(Pid, Pid)> {
    use rustix::process::{getpgid, getsid};
    Some((getpgid(Some(pid)).ok()?, getsid(Some(pid)).ok()?))
}
