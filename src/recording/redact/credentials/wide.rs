//! The layer of the UTF-16 and UTF-32 in a text.

use super::super::wide_text::{WideEncoding, wide_runs};
use super::layer::{LayerSpelling, TextLayer};

/// Decodes the runs of UTF-16 and of UTF-32 in a text, with a NUL between them. Returns `None` if
/// there are none.
pub(super) fn decode_wide(text: &[u8]) -> Option<TextLayer> {
    memchr::memchr(0, text)?;
    let mut layer = TextLayer::default();
    for run in wide_runs(text) {
        let unit = if run.encoding == WideEncoding::Utf16Le { 2 } else { 4 };
        let mut at = run.range.start;
        while at < run.range.end {
            let ascii = text[at..run.range.end].iter().step_by(unit);
            let ascii = ascii.take_while(|byte| byte.is_ascii()).count();
            layer.begin_piece(at, LayerSpelling::Wide(unit));
            for byte in text[at..run.range.end].iter().step_by(unit).take(ascii) {
                layer.extend(&[*byte]);
            }
            at += ascii * unit;
            if at < run.range.end {
                let (letter, length) = run.encoding.first_character(&text[at..run.range.end]);
                layer.begin_piece(at, LayerSpelling::Escape(1));
                layer.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
                at += length;
            }
        }
        layer.extend(&[0]);
    }
    Some(layer).filter(|layer| !layer.decoded_text().is_empty())
}
