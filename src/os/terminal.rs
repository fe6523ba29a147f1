//! The terminal: its size and its modes.

use std::io;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};

/// How many characters a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Its lines; 0 if unknown.
    pub rows: usize,
    /// Its columns; 0 if unknown.
    pub columns: usize,
}

/// The modes of the terminal on stdin, as they were read.
#[derive(Debug)]
pub struct TerminalModes(Termios);

/// The size of the terminal on stdout; `None` if stdout is no terminal.
pub fn terminal_size() -> Option<TerminalSize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(TerminalSize { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) })
}

/// Whether the terminal on stderr is in raw mode: a program reads each key as it is typed, and often
/// draws a page of its own. `None` if stderr is no terminal.
pub fn is_terminal_raw() -> Option<bool> {
    let modes = tcgetattr(io::stderr()).ok()?;
    Some(!modes.local_modes.contains(LocalModes::ICANON))
}

/// Reads typed input as soon as there is some. It is not buffered. Returns how many bytes were
/// read: 0 at the end.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if the read must be repeated, or an error if the terminal is
/// gone.
pub fn read_typed(buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(io::stdin(), buffer)?)
}

impl TerminalModes {
    /// Reads the modes of the terminal on stdin.
    ///
    /// # Errors
    /// If stdin is no terminal, or the terminal is gone.
    pub fn read() -> io::Result<Self> {
        Ok(Self(tcgetattr(io::stdin())?))
    }

    /// Makes the terminal deliver each key as it is typed and echo none; Ctrl-C and Ctrl-Z are
    /// keys, too.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn set_raw(&self) -> io::Result<()> {
        let mut modes = self.0.clone();
        modes.input_modes -= InputModes::IXON | InputModes::ICRNL;
        modes.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &modes)?)
    }

    /// Restores these modes.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn restore(&self) -> io::Result<()> {
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &self.0)?)
    }
}
