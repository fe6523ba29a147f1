//! The text of a manifest, one take in each line.

use std::io::{BufReader, Read as _};

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::packed_text::LARGEST_MANIFEST;

use super::{ManifestRecorder, ManifestTake, StateManifest};

/// The format that this version writes and reads.
const FORMAT: &str = "loomrec-manifest/1";

/// The most bytes of the member `about`.
const LARGEST_ABOUT: usize = 8 << 20;

/// What is wrong with the text of a manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not JSON of the right shape.
    #[error("it is no manifest")]
    Shape(#[from] serde_json::Error),
    /// A newer loomrec wrote it.
    #[error("its format is {found:?}; this version reads {FORMAT:?}")]
    Format {
        /// The format that it names.
        found: String,
    },
    /// What it says of the recording is too long. Values need many times the memory of their text.
    #[error("its member about has {bytes} bytes; the most is {LARGEST_ABOUT}")]
    About {
        /// How many bytes it has.
        bytes: usize,
    },
}

#[derive(Deserialize)]
struct ManifestText {
    about: Box<RawValue>,
    recorders: Vec<ManifestRecorder>,
    takes: Vec<ManifestTake>,
}

#[derive(Deserialize)]
struct ManifestFormat {
    format: String,
}

impl StateManifest {
    /// Reads a manifest from its packed text, which is never in memory as a whole. Its hash has been
    /// checked.
    ///
    /// # Errors
    /// The text has another form, or is of a newer format.
    pub fn from_packed(packed: &[u8]) -> Result<Self, ManifestError> {
        let text = || BufReader::new(GzDecoder::new(packed).take(LARGEST_MANIFEST));
        let ManifestFormat { format } = serde_json::from_reader(text())?;
        if format != FORMAT {
            return Err(ManifestError::Format { found: format });
        }
        let read: ManifestText = serde_json::from_reader(text())?;
        let about = read.about.get();
        if about.len() > LARGEST_ABOUT {
            return Err(ManifestError::About { bytes: about.len() });
        }
        let about = serde_json::from_str(about)?;
        let mut manifest = Self { about, recorders: read.recorders, takes: Vec::new() };
        manifest.recorders.sort_by(|one, other| one.id.cmp(&other.id));
        let (pushed, recorded): (Vec<_>, Vec<_>) =
            read.takes.into_iter().partition(|take| take.recorder.is_none());
        manifest.takes = pushed;
        manifest.add_segments(Vec::new(), recorded);
        Ok(manifest)
    }

    /// Returns the text. Equal manifests have equal texts.
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = b"{\n\"format\": \"".to_vec();
        out.extend_from_slice(FORMAT.as_bytes());
        out.extend_from_slice(b"\",\n\"about\": ");
        write_json(&mut out, &self.about);
        out.extend_from_slice(b",\n\"recorders\": ");
        write_lines(&mut out, &self.recorders);
        out.extend_from_slice(b",\n\"takes\": ");
        write_lines(&mut out, &self.takes);
        out.extend_from_slice(b"\n}\n");
        out
    }
}

fn write_lines(out: &mut Vec<u8>, rows: &[impl Serialize]) {
    out.push(b'[');
    for (number, row) in rows.iter().enumerate() {
        out.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
        write_json(out, row);
    }
    out.extend_from_slice(if rows.is_empty() { b"]" } else { b"\n]" });
}

/// Writes a value. Strings, numbers and objects with text keys are always JSON.
fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    if let Ok(mut text) = serde_json::to_vec(value) {
        out.append(&mut text);
    }
}
