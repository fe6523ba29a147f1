//! Logs made of an input: its bytes, or frames of its pieces.

use loomrec_recording::{CallScope, Entry, EntryName, log_codec};

/// Returns the bytes of a log. The kind says what they are made of.
pub fn log(kind: u8, data: &[u8]) -> Vec<u8> {
    match kind % 4 {
        0 => data.to_vec(),
        1 => pieces(data).flat_map(|piece| frame(2, piece)).collect(),
        _ => pieces(data).enumerate().flat_map(|(at, piece)| entry(at, piece)).collect(),
    }
}

/// Splits the input into pieces, from each of which a frame is made.
fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0xfe).take(64)
}

/// Returns a frame as the store writes it.
fn frame(name: u128, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x8b, b'L', b'R', b'\n', 1, 0, 0, 0];
    out.extend_from_slice(&(16 + payload.len() as u32).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&out[4..]);
    sum.update(&name.to_le_bytes());
    sum.update(payload);
    out.extend_from_slice(&sum.finalize().to_le_bytes());
    out.extend_from_slice(&name.to_le_bytes());
    out.extend_from_slice(payload);
    out
}

/// Returns the frame of an entry, or the piece itself if it is not an entry, as a torn write.
fn entry(at: usize, piece: &[u8]) -> Vec<u8> {
    let value = serde_json::from_slice(piece).ok();
    let Some(entry) = value.and_then(|value| Entry::parse(&value).ok()) else {
        return piece.to_vec();
    };
    let step = format!("step {}", at % 3);
    let Ok(name) = EntryName::from_step_id(&step) else { return Vec::new() };
    let mut payload = Vec::new();
    let standing = match at.is_multiple_of(5) {
        true => log_codec::TakePrecedence::Replacing(log_codec::RunPosition::default()),
        false => log_codec::TakePrecedence::Further,
    };
    log_codec::pack_to(&mut payload, &name, standing, &CallScope::from_entry(&entry), &entry);
    frame(u128::from(2 + (at % 3) as u64), &payload)
}
