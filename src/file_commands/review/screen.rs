//! Full-screen mode of the terminal with single keys, and the restoring of the terminal.

use std::io::{self, Write as _};

use loomrec_os::{TerminalModes, terminal_size};

/// Enters the alternate screen, hides the cursor, and turns off line wrapping.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
/// Restores the original screen.
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// The terminal in full-screen mode, until this is dropped.
pub(super) struct ReviewScreen {
    before: TerminalModes,
    is_ours: bool,
    has_colours: bool,
}

impl ReviewScreen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// A terminal whose modes cannot be changed.
    pub(super) fn take_terminal() -> io::Result<Self> {
        let before = TerminalModes::read()?;
        let has_colours =
            anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let mut screen = Self { before, is_ours: false, has_colours };
        screen.enter()?;
        Ok(screen)
    }

    /// Enters full-screen mode again, after another program had the terminal.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        self.is_ours = true;
        self.before.set_raw()?;
        write(ENTER)
    }

    /// Restores the terminal.
    pub(super) fn leave(&mut self) {
        if std::mem::replace(&mut self.is_ours, false) {
            // If the terminal has gone, there is nothing to restore.
            let _ = write(LEAVE);
            let _ = self.before.restore();
        }
    }

    /// Returns the rows and columns of the terminal. The default is 24 by 80.
    pub(super) fn screen_size() -> (usize, usize) {
        match terminal_size() {
            Some(size) if size.rows > 0 && size.columns > 0 => (size.rows, size.columns),
            _ => (24, 80),
        }
    }

    /// Shows lines from the top of the screen.
    ///
    /// # Errors
    /// A terminal that has gone.
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
