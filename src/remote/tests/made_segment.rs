//! Segments for tests, made as recorders make them.

use bytes::Bytes;
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{RecordingAppender, RecordingLocation, RunChoice, cut_segment};

use crate::bucket::RecordingBucket;
use crate::content_hash::ContentHash;
use crate::listed_segment::ListedSegment;
use crate::recorder_file::RecorderFile;

/// A segment, made by a recorder: the bytes, and how it is named.
#[derive(Clone)]
pub(crate) struct MadeSegment {
    pub(crate) name: ListedSegment,
    pub(crate) file: RecorderFile,
    pub(crate) bytes: Bytes,
}

/// Makes the segments of three recorders, two of one run and one that began later.
pub(crate) fn make_segments(folder: &std::path::Path, sizes: [[u32; 2]; 3]) -> Vec<MadeSegment> {
    let mut segments = Vec::new();
    for (recorder, sizes) in (0_u32..).zip(sizes) {
        let path = folder.join(recorder.to_string()).join("recording.json");
        let rules = IdentityRules::default();
        let mut appender = RecordingAppender::open(&path, &RunChoice::New, &rules).unwrap();
        appender.leave_log();
        // The second recorder overlaps the first, the third does not.
        let began = [0, 5, 40][recorder as usize];
        let time = |second: u32| format!("2026-01-01T00:00:{second:02}.000000Z");
        let mut second = began;
        for (number, size) in (1_u32..).zip(sizes) {
            for take in 0..size {
                second += 1;
                let entry = Entry {
                    content: Some(format!("{recorder} {number} {take}")),
                    recorded_at: Some(time(second)),
                    ..Entry::default()
                };
                let name = EntryName::from_step_id(["a", "b"][(take % 2) as usize]).unwrap();
                appender.append_entries(vec![(name, entry)], true).unwrap();
            }
            let segment = folder.join(format!("{recorder}-{number}"));
            if cut_segment(&RecordingLocation::from(&path), &segment).unwrap().is_some() {
                let bytes: Bytes = std::fs::read(&segment).unwrap().into();
                let hash = Some(ContentHash::from_bytes(&bytes));
                let name = ListedSegment { recorder: format!("r{recorder}"), number, hash };
                let file = RecorderFile::new(None, time(began));
                segments.push(MadeSegment { name, file, bytes });
            }
        }
    }
    segments
}

pub(crate) async fn upload(bucket: &RecordingBucket, segment: &MadeSegment) {
    bucket.put_recorder(&segment.name.recorder, &segment.file).await.unwrap();
    bucket.put_segment(&segment.name, segment.bytes.clone()).await.unwrap();
}

/// Returns an entry that no other is equal to, and its name.
pub(crate) fn unique_entry(number: u32, length: usize) -> (EntryName, Entry) {
    let (minute, second) = (number / 60, number % 60);
    let (hour, minute) = (minute / 60, minute % 60);
    let digits = ContentHash::from_bytes(&number.to_le_bytes()).digits().repeat(length / 64 + 1);
    let entry = Entry {
        content: Some(format!("{number} {}", &digits[..length])),
        recorded_at: Some(format!("2026-01-01T{hour:02}:{minute:02}:{second:02}.000000Z")),
        ..Entry::default()
    };
    (EntryName::from_step_id(&format!("step-{number}")).unwrap(), entry)
}

/// Makes a segment of a recorder from these entries.
pub(crate) fn make_segment(
    folder: &std::path::Path,
    recorder: &str,
    number: u32,
    entries: Vec<(EntryName, Entry)>,
) -> MadeSegment {
    let folder = folder.join(format!("{recorder}-{number}"));
    let path = folder.join("recording.json");
    let rules = IdentityRules::default();
    let mut appender = RecordingAppender::open(&path, &RunChoice::New, &rules).unwrap();
    appender.leave_log();
    appender.append_entries(entries, true).unwrap();
    let segment = folder.join("segment");
    cut_segment(&RecordingLocation::from(&path), &segment).unwrap().unwrap();
    let bytes: Bytes = std::fs::read(&segment).unwrap().into();
    let hash = Some(ContentHash::from_bytes(&bytes));
    let name = ListedSegment { recorder: recorder.to_owned(), number, hash };
    let file = RecorderFile::new(None, "2026-01-01T00:00:00.000000Z".to_owned());
    MadeSegment { name, file, bytes }
}
