//! The chunk timeline: when each chunk came, how long after the one before, how
//! large it was, and what stands in it.

use owo_colors::OwoColorize as _;

use super::super::terminal;
use crate::inspection::event;
use crate::provider::Framing;
use crate::recording::Chunk;

/// Chunks up to this many are all shown.
const SHOWN: usize = 40;
/// Of more chunks, so many from the beginning…
const FIRST: usize = 20;
/// … and so many from the end.
const LAST: usize = 10;
/// The indentation and the columns before a chunk's text.
const BEFORE: usize = 33;
/// Characters of a chunk that are shown where there is no terminal.
const PREVIEW: usize = 90;
/// … and on a terminal however narrow.
const LEAST: usize = 24;
/// Bytes of a chunk that is no text.
const HEX: usize = 16;

/// A line for each chunk; the middle of hundreds is folded. Where they are framed in
/// bytes, what their messages say stands there in place of these.
pub(super) fn text(chunks: &[Chunk], framing: Option<Framing>, width: Option<usize>) -> String {
    let decoded = (framing == Some(Framing::EventStream)).then(|| event::texts(chunks));
    let room = width.map_or(PREVIEW, |width| width.saturating_sub(BEFORE).max(LEAST));
    let head = format!("{:>10} {:>9} {:>8}  chunk", "ms", "+ms", "bytes");
    let mut out = format!("{}\n", head.dimmed());
    let folded = if chunks.len() > SHOWN { FIRST..chunks.len() - LAST } else { 0..0 };
    let mut before = 0.0;
    for (at, chunk) in chunks.iter().enumerate() {
        if folded.contains(&at) {
            if at == folded.start {
                let bytes: usize = chunks[folded.clone()].iter().map(|c| c.data.len()).sum();
                let note = format!("… {} more chunks, {bytes} bytes …", folded.len());
                out.push_str(&format!("{:>31}{}\n", "", note.dimmed()));
            }
        } else {
            let (ms, more, bytes) = (chunk.at_ms, chunk.at_ms - before, chunk.data.len());
            let decoded = decoded.as_ref().and_then(|texts| texts.get(at));
            let shown =
                decoded.map_or_else(|| preview(&chunk.data, room), |text| shortened(text, room));
            out.push_str(&format!("{ms:>10.1} {more:>+9.1} {bytes:>8}  {shown}\n"));
        }
        before = chunk.at_ms;
    }
    out
}

/// How a chunk begins and ends, in at most `room` characters.
fn preview(data: &[u8], room: usize) -> String {
    let text = String::from_utf8_lossy(data);
    // A chunk may begin or end inside a character; more than that is no text.
    if text.chars().filter(|&character| character == '\u{fffd}').count() > 6 {
        let hex: Vec<String> = data.iter().take(HEX).map(|byte| format!("{byte:02x}")).collect();
        let more = if data.len() > HEX { " …" } else { "" };
        return format!("<{}{more}>", hex.join(" "));
    }
    shortened(&text, room)
}

/// How a text begins and ends, in at most `room` columns. What tells the chunks
/// of a stream apart stands near their ends.
fn shortened(text: &str, room: usize) -> String {
    let shown = terminal::line(text);
    if terminal::columns(&shown) <= room {
        return shown.into_owned();
    }
    let head = room / 3;
    let tail = terminal::fit_end(&shown, room - head - 1);
    format!("{}…{tail}", terminal::fit(&shown, head))
}
