//! The texts of small entries, many in one allocation. An allocation for each would take more than
//! the text.

/// The size of an allocation, in bytes.
const PIECE: usize = 1 << 20;

/// Texts that are kept as long as the recording is open.
#[derive(Debug, Default)]
pub(super) struct EntryTexts {
    pieces: Vec<Vec<u8>>,
}

/// The place of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPlace {
    piece: u32,
    start: u32,
    length: u32,
}

impl EntryTexts {
    /// Adds a text. Returns `None` if it is too long.
    pub(super) fn push(&mut self, text: &[u8]) -> Option<TextPlace> {
        if text.len() > PIECE {
            return None;
        }
        let has_room = |piece: &Vec<u8>| piece.capacity() - piece.len() >= text.len();
        if !self.pieces.last().is_some_and(has_room) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let number = u32::try_from(self.pieces.len() - 1).ok()?;
        let piece = self.pieces.last_mut()?;
        let start = piece.len() as u32;
        piece.extend_from_slice(text);
        Some(TextPlace { piece: number, start, length: text.len() as u32 })
    }

    /// Returns the text at a place.
    pub(super) fn get(&self, place: TextPlace) -> &[u8] {
        let TextPlace { piece, start, length } = place;
        let piece = self.pieces.get(piece as usize).map_or(&[][..], Vec::as_slice);
        piece.get(start as usize..).and_then(|rest| rest.get(..length as usize)).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_added() {
        let mut texts = EntryTexts::default();
        let all: Vec<Vec<u8>> = (0..300).map(|at| vec![at as u8; at * 61]).collect();
        let places: Vec<TextPlace> = all.iter().map(|text| texts.push(text).unwrap()).collect();
        for (text, place) in all.iter().zip(places) {
            assert_eq!(texts.get(place), text);
        }
        assert!(texts.pieces.len() > 2 && texts.pieces.iter().all(|p| p.capacity() == PIECE));
        assert!(texts.push(&vec![1; PIECE + 1]).is_none());
    }
}
