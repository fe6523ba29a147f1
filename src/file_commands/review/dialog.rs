//! The interactive review: one change at a time, with one key for each decision.

use std::io;

use owo_colors::OwoColorize as _;
use tokio::sync::mpsc;

use super::apply::Verdict;
use super::changes::ReviewDesk;
use super::key::{KeyReader, ReviewKey};
use super::lines::wrap;
use super::screen::ReviewScreen;
use super::session::{NextStep, ReviewItem, ReviewState};
use super::view::View;
use crate::end_signals::{EndSignals, INTERRUPTED};
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::write_stdout;
use loomrec_cli::terminal;
use loomrec_cli::terminal::fit;
use loomrec_os::{ProcessSignal, SignalStream, read_typed, suspend_process};

const HELP: &str = "\
a  accept this change: the new entry has the place of the old one
r  reject it: the recording stays as it is
s  skip it: it goes on waiting
A  accept, R  reject, S  skip this one and all that are left
b  back to the change before
d  as JSON, line by line, or by what it means

space, page down   a screen on       u, page up   a screen back
j, down, Enter     a line on         k, up        a line back
g, home            to the beginning  G, end       to the end

q  quit: what was decided is carried out, all else goes on waiting
   (Ctrl-C does the same; the exit code is 130 then)
?  these lines, or back to the change
";

/// The decisions about one recording, and the exit code.
pub(super) struct ReviewEnd {
    pub(super) verdicts: Vec<Option<Verdict>>,
    pub(super) code: u8,
    /// Whether the recordings that follow are not reviewed.
    pub(super) is_last: bool,
}

/// The typed bytes, as they arrive.
pub(super) type TypedBytes = mpsc::Receiver<Vec<u8>>;

/// Returns the typed bytes. A blocking read of a terminal cannot be cancelled, so the thread ends with
/// the process.
pub(super) fn read_keys() -> TypedBytes {
    let (send, receive) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        loop {
            match read_typed(&mut buffer) {
                Ok(count @ 1..) => {
                    if send.blocking_send(buffer[..count].to_vec()).is_err() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    });
    receive
}

fn terminal_failure(error: io::Error) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("failed to use the terminal: {error}"))
}

fn watch_signal(signal: ProcessSignal) -> Result<SignalStream, CommandFailure> {
    signal.watch().map_err(terminal_failure)
}

fn initial_state(desk: &ReviewDesk) -> ReviewState {
    let item = |change| ReviewItem {
        change,
        is_conflict: desk.standings[change].is_conflict(),
        is_failure: desk.replaces_success_by_failure(change),
    };
    ReviewState::new(desk.open_changes().into_iter().map(item).collect())
}

/// Describes the state of the review in one line.
fn status_line(desk: &ReviewDesk, session: &ReviewState) -> String {
    let (accepted, rejected) = session.verdict_counts();
    let reason = session.shown_item().map_or("", |item| &desk.reasons[item.change]);
    let verdict = match session.shown_verdict() {
        Some(Verdict::Accept) => ", accepted",
        Some(Verdict::Reject) => ", rejected",
        None => "",
    };
    let (at, count, file) = (session.at + 1, session.len(), desk.file.display());
    let text = format!(
        "{file} · change {at} of {count}{verdict} · {reason} · {accepted} accepted, {rejected} rejected"
    );
    terminal::printable_line(&text).into_owned()
}

/// Returns the text to read: the change, or the explanation of the keys.
fn body_text(view: &View<'_>, session: &ReviewState) -> String {
    if session.help {
        return HELP.to_owned();
    }
    let Some(item) = session.shown_item() else { return String::new() };
    // If a change cannot be shown, the user can still skip it and keep earlier decisions.
    view.change_text(item.change, session.as_json)
        .unwrap_or_else(|failure| format!("{}\n", terminal::printable_line(&failure.message).red()))
}

/// The lines of the screen.
struct ScreenLines {
    /// The input from which the lines were made.
    made_of: Option<(usize, bool, bool, usize)>,
    lines: Vec<String>,
}

impl ScreenLines {
    /// Returns the lines of the text to read, no wider than `width`.
    fn wrapped_lines(&mut self, view: &View<'_>, session: &ReviewState, width: usize) -> &[String] {
        let made_of = Some((session.at, session.as_json, session.help, width));
        if self.made_of != made_of {
            self.lines = wrap(&body_text(view, session), width);
            self.made_of = made_of;
        }
        &self.lines
    }
}

/// Returns how many lines of a screen with this many rows are left for a change.
fn page_lines(rows: usize) -> usize {
    rows.saturating_sub(3).max(1)
}

/// Draws the screen.
fn draw_screen(
    screen: &ReviewScreen,
    desk: &ReviewDesk,
    view: &View<'_>,
    session: &ReviewState,
    shown: &mut ScreenLines,
) -> io::Result<()> {
    let (rows, columns) = ReviewScreen::screen_size();
    let lines = shown.wrapped_lines(view, session, columns);
    let page = page_lines(rows);
    let top = session.top.min(lines.len().saturating_sub(page));
    let end = lines.len().min(top + page);
    let mut out = vec![fit(&status_line(desk, session), columns).reversed().to_string()];
    out.extend_from_slice(&lines[top..end]);
    out.resize(page + 1, String::new());
    let note = match session.note {
        Some(note) => note.to_owned(),
        None if lines.len() > page => {
            let more = if end < lines.len() { ", space for more" } else { "" };
            format!("lines {} to {end} of {}{more}", top + 1, lines.len())
        }
        None => String::new(),
    };
    out.push(fit(&note, columns).yellow().to_string());
    let toggled = if session.as_json { "meaning" } else { "raw" };
    let keys = match session.help {
        true => "? back to the change  q quit".to_owned(),
        false => format!(
            "a accept  r reject  s skip  A R S all left  d {toggled}  b back  ? help  q quit"
        ),
    };
    out.push(fit(&keys, columns).bold().to_string());
    out.truncate(rows);
    screen.show(&out)
}

/// Reviews on the whole screen, with single keys.
pub(super) async fn on_screen(
    desk: &ReviewDesk,
    typed: &mut TypedBytes,
) -> Result<ReviewEnd, CommandFailure> {
    let view = View::from_desk(desk)?;
    let mut session = initial_state(desk);
    let mut outside = EndSignals::watch().map_err(terminal_failure)?;
    let mut resized = watch_signal(ProcessSignal::WindowChange)?;
    let mut stopped = watch_signal(ProcessSignal::Suspend)?;
    let mut goes_on = watch_signal(ProcessSignal::Continue)?;
    let mut screen = ReviewScreen::take_terminal().map_err(terminal_failure)?;
    let mut keys = KeyReader::default();
    let mut shown = ScreenLines { made_of: None, lines: Vec::new() };
    let mut is_away = false;
    let (code, is_last) = 'review: loop {
        if !is_away && draw_screen(&screen, desk, &view, &session, &mut shown).is_err() {
            break (129, true);
        }
        let mut leaves = false;
        tokio::select! {
            bytes = typed.recv() => {
                let Some(bytes) = bytes else { break (129, true) };
                for key in keys.read_keys(&bytes) {
                    let (rows, columns) = ReviewScreen::screen_size();
                    let lines = shown.wrapped_lines(&view, &session, columns).len();
                    match session.handle_key(key, page_lines(rows), lines) {
                        NextStep::Show => {}
                        NextStep::Suspend => leaves = true,
                        NextStep::End => break 'review (0, false),
                        NextStep::Quit => break 'review (0, true),
                        NextStep::Interrupted => break 'review (INTERRUPTED, true),
                    }
                }
            }
            code = outside.wait_for_signal() => break (code, true),
            () = resized.recv() => {}
            () = stopped.recv() => leaves = true,
            () = goes_on.recv() => {
                is_away = false;
                screen.enter().map_err(terminal_failure)?;
            }
        }
        if leaves && !is_away {
            screen.leave();
            is_away = suspend_process();
            if !is_away {
                screen.enter().map_err(terminal_failure)?;
            }
        }
    };
    drop(screen);
    Ok(ReviewEnd { verdicts: session.all_verdicts(desk.changes.len()), code, is_last })
}

/// Reviews line by line, for a terminal without screen control: a letter and Enter.
pub(super) async fn by_line(
    desk: &ReviewDesk,
    typed: &mut TypedBytes,
) -> Result<ReviewEnd, CommandFailure> {
    let view = View::from_desk(desk)?;
    let mut session = initial_state(desk);
    let mut outside = EndSignals::watch().map_err(terminal_failure)?;
    let mut line = Vec::new();
    let mut shows = true;
    let (code, is_last) = 'review: loop {
        let text = match shows {
            true => format!("\n{}\n\n{}", status_line(desk, &session), body_text(&view, &session)),
            false => String::new(),
        };
        let note = session.note.map_or(String::new(), |note| format!("{note}\n"));
        let ask = format!("{text}{note}[a,r,s,A,R,S,d,b,?,q] ");
        if write_stdout(&ask).is_err() {
            break (129, true);
        }
        tokio::select! {
            bytes = typed.recv() => match bytes {
                Some(bytes) => line.extend_from_slice(&bytes),
                // Ctrl-D, as at any prompt.
                None => break (0, true),
            },
            code = outside.wait_for_signal() => break (code, true),
        }
        shows = false;
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            let answer: Vec<u8> = line.drain(..=end).collect();
            let answer = String::from_utf8_lossy(&answer);
            let mut letters = answer.trim().chars();
            let key = match (letters.next(), letters.next()) {
                // Enter alone shows the change again.
                (None, _) => ReviewKey::Redraw,
                (Some(letter), None) => ReviewKey::Char(letter),
                _ => ReviewKey::Other,
            };
            match session.handle_key(key, usize::MAX, 0) {
                NextStep::Show | NextStep::Suspend => {}
                NextStep::End => break 'review (0, false),
                NextStep::Quit => break 'review (0, true),
                NextStep::Interrupted => break 'review (INTERRUPTED, true),
            }
            shows = session.note.is_none();
        }
    };
    Ok(ReviewEnd { verdicts: session.all_verdicts(desk.changes.len()), code, is_last })
}
