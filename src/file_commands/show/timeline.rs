//! The chunk timeline: when each chunk arrived, how long after the one before, its size, and its
//! content.

use owo_colors::OwoColorize as _;

use loomrec_cli::terminal;
use loomrec_curation::inspection::event;
use loomrec_provider::Framing;
use loomrec_recording::Chunk;

/// Up to this many chunks are all shown.
const SHOWN: usize = 40;
/// If there are more, this many from the beginning are shown …
const FIRST: usize = 20;
/// … and this many from the end.
const LAST: usize = 10;
/// The columns before a chunk's text, including the indentation.
const BEFORE: usize = 33;
/// The characters of a chunk that are shown without a terminal.
const PREVIEW: usize = 90;
/// The least that are shown on a narrow terminal.
const LEAST: usize = 24;
/// The bytes that are shown of a chunk that is not text.
const HEX: usize = 16;

/// Formats a line for each chunk. The middle of a long stream is left out. In a binary framing, the
/// text of the messages is shown instead of the bytes.
pub(super) fn format_chunks(
    chunks: &[Chunk],
    framing: Option<Framing>,
    width: Option<usize>,
) -> String {
    let decoded = (framing == Some(Framing::EventStream)).then(|| event::chunk_texts(chunks));
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
            let shown = decoded.map_or_else(
                || chunk_preview(&chunk.data, room),
                |text| shorten_middle(text, room),
            );
            out.push_str(&format!("{ms:>10.1} {more:>+9.1} {bytes:>8}  {shown}\n"));
        }
        before = chunk.at_ms;
    }
    out
}

/// Returns the beginning and end of a chunk, in at most `room` characters.
fn chunk_preview(data: &[u8], room: usize) -> String {
    let text = String::from_utf8_lossy(data);
    // A chunk may begin or end inside a character. With more invalid bytes, it is not text.
    if text.chars().filter(|&character| character == '\u{fffd}').count() > 6 {
        let hex: Vec<String> = data.iter().take(HEX).map(|byte| format!("{byte:02x}")).collect();
        let more = if data.len() > HEX { " …" } else { "" };
        return format!("<{}{more}>", hex.join(" "));
    }
    shorten_middle(&text, room)
}

/// Returns the beginning and end of a text, in at most `room` columns. The chunks of a stream
/// mostly differ near their ends.
fn shorten_middle(text: &str, room: usize) -> String {
    let shown = terminal::printable_line(text);
    if terminal::column_count(&shown) <= room {
        return shown.into_owned();
    }
    let head = room / 3;
    let tail = terminal::fit_end(&shown, room - head - 1);
    format!("{}…{tail}", terminal::fit(&shown, head))
}
