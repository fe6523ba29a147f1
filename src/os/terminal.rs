//! The terminal: its size, its modes, whether it is still there.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};

/// How many characters a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Its lines; 0 where it does not say.
    pub rows: usize,
    /// Its columns; 0 where it does not say.
    pub columns: usize,
}

/// The modes of the terminal that stdin is, as they were found.
#[derive(Debug)]
pub struct TerminalModes(Termios);

/// The size of the terminal that stdout is; `None` where it is none.
pub fn terminal_size() -> Option<TerminalSize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(TerminalSize { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) })
}

/// Whether the other end of stdout is gone: the reader of a pipe, or the terminal.
pub fn is_stdout_closed() -> bool {
    let stdout = io::stdout();
    // Only what went wrong is asked for, which is always told.
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(gone)
}

/// Reads what was typed, as soon as something was; nothing is kept for a later read. Returns
/// how many bytes that is: 0 at the end.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] for a read that is to be repeated; a terminal that is gone.
pub fn read_typed(buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(io::stdin(), buffer)?)
}

impl TerminalModes {
    /// Reads the modes of the terminal that stdin is.
    ///
    /// # Errors
    /// No terminal, or one that is gone.
    pub fn read() -> io::Result<Self> {
        Ok(Self(tcgetattr(io::stdin())?))
    }

    /// Has the terminal give each key as it is typed and show none; Ctrl-C and Ctrl-Z are
    /// keys, too.
    ///
    /// # Errors
    /// A terminal that is gone.
    pub fn set_raw(&self) -> io::Result<()> {
        let mut modes = self.0.clone();
        modes.input_modes -= InputModes::IXON | InputModes::ICRNL;
        modes.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &modes)?)
    }

    /// Gives the terminal these modes again.
    ///
    /// # Errors
    /// A terminal that is gone.
    pub fn restore(&self) -> io::Result<()> {
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &self.0)?)
    }
}
