//! The objects of recorders in a bucket: their files and their segments.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use object_store::ObjectMeta;
use object_store::path::Path;

use super::{LARGEST_NOTE, RecordingBucket};
use crate::listed_segment::ListedSegment;
use crate::object_access::note_text;
use crate::recorder_file::RecorderFile;
use crate::remote_error::RemoteError;
use crate::store_clock::{ClockBounds, machine_time};

/// The most bytes of a segment. One is cut at 8 MiB, but its last call may be as large as any.
const LARGEST_SEGMENT: u64 = 2 << 30;

/// Clocks that differ by less than this agree, in microseconds. The dates of answers are in
/// seconds.
const AGREEMENT: i64 = 1_000_000;

/// How well the difference of clocks that do not agree is measured, in microseconds, and with how
/// many requests at most.
const PRECISION: i64 = 50_000;
const CLOCK_REQUESTS: usize = 8;

impl RecordingBucket {
    /// Creates the file of a recorder that begins. Proves that the store has conditional writes.
    ///
    /// # Errors
    /// The store fails or refuses, or has no conditional writes.
    pub async fn begin_recorder(&self, id: &str, file: &RecorderFile) -> Result<(), RemoteError> {
        self.put_recorder(id, file).await?;
        self.objects.prove_conditions(&self.recorder_path(id), note_text(file).into()).await
    }

    /// Creates the file of a recorder, if it is not there. This shows that this identity may write.
    ///
    /// # Errors
    /// The store fails or refuses.
    pub async fn put_recorder(&self, id: &str, file: &RecorderFile) -> Result<(), RemoteError> {
        self.objects.create_object(&self.recorder_path(id), note_text(file)).await.map(drop)
    }

    /// Writes the file of a recorder again, so that a collection of garbage finds it young.
    ///
    /// # Errors
    /// The store fails or refuses.
    pub(crate) async fn renew_recorder(
        &self,
        id: &str,
        file: &RecorderFile,
    ) -> Result<(), RemoteError> {
        self.objects.replace_object(&self.recorder_path(id), note_text(file).into()).await
    }

    /// Reads the file of a recorder; `None` if it is not there.
    ///
    /// # Errors
    /// The store fails, or the file has another form.
    pub async fn read_recorder(&self, id: &str) -> Result<Option<RecorderFile>, RemoteError> {
        let path = self.recorder_path(id);
        let Some((bytes, _)) = self.objects.get_if_there(&path, LARGEST_NOTE).await? else {
            return Ok(None);
        };
        let file: RecorderFile = self.objects.read_note(&path, &bytes)?;
        self.objects.check_format(&path, &file.format, RecorderFile::FORMAT)?;
        Ok(Some(file))
    }

    /// Returns the error of a recorder whose file is missing although it has segments.
    pub(crate) fn missing_recorder(&self, id: &str) -> RemoteError {
        RemoteError::Object {
            path: self.recorder_path(id).to_string(),
            url: self.objects.url.clone(),
            problem: "the store does not have it, but segments of this recorder".to_owned(),
        }
    }

    /// Returns by how many microseconds the clock of the store is ahead of this machine's. 0 if
    /// they agree, or if the answers of the store have no date. If they do not agree, this takes
    /// some requests, which are a second apart at most.
    pub async fn clock_ahead(&self) -> i64 {
        let clock = self.objects.store_clock();
        let differing = || clock.known_bounds().filter(|bounds| bounds.exceed(AGREEMENT));
        for _ in 0..CLOCK_REQUESTS {
            let Some(bounds) = differing().filter(|bounds| bounds.width() > PRECISION) else {
                break;
            };
            let pause = bounds.wait_for_next(machine_time());
            tokio::time::sleep(Duration::from_micros(pause)).await;
            // Every answer has a date, also that there is no reference. If the store fails now,
            // what is known has to do.
            let _ = self.read_ref().await;
        }
        differing().map_or(0, ClockBounds::middle)
    }

    fn recorder_path(&self, id: &str) -> Path {
        self.objects.object_path(&format!("runs/{id}/recorder.json"))
    }

    /// Makes sure that a segment is there. Only its recorder calls this, so other bytes under its
    /// name are damaged, and are replaced.
    ///
    /// # Errors
    /// The store fails. The segment may have been created or not.
    pub async fn put_segment(
        &self,
        segment: &ListedSegment,
        bytes: Bytes,
    ) -> Result<(), RemoteError> {
        let path = self.objects.object_path(&segment.object_path());
        if self.objects.create_object(&path, bytes.clone()).await? {
            return Ok(());
        }
        match self.get_segment(segment).await? {
            Some(found) if found != bytes => self.objects.replace_object(&path, bytes).await,
            // The answer to an earlier attempt was lost, and it may have been merged since.
            _ => Ok(()),
        }
    }

    /// Reads a segment; `None` if it has been removed since it was listed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn get_segment(&self, segment: &ListedSegment) -> Result<Option<Bytes>, RemoteError> {
        let found = self
            .objects
            .get_if_there(&self.objects.object_path(&segment.object_path()), LARGEST_SEGMENT)
            .await?;
        Ok(found.map(|(bytes, _)| bytes))
    }

    /// Lists the segments, sorted by recorder and number, each with the time at which it was
    /// written.
    ///
    /// # Errors
    /// The store fails. [`RemoteError::TwinSegments`] if a recorder has two of one number.
    pub async fn list_segments(&self) -> Result<BTreeMap<ListedSegment, SystemTime>, RemoteError> {
        let listed = self.objects.list_objects("runs").await?;
        let segment = |meta: &ObjectMeta| {
            let parts = meta.location.prefix_match(&self.objects.object_path("runs"))?;
            let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
            Some((ListedSegment::parse(&parts)?, meta.last_modified.into()))
        };
        let listed: BTreeMap<ListedSegment, SystemTime> =
            listed.iter().filter_map(segment).collect();
        let mut names = listed.keys().zip(listed.keys().skip(1));
        match names.find(|(one, other)| one.contradicts(other)) {
            None => Ok(listed),
            Some((one, other)) => Err(RemoteError::TwinSegments {
                url: self.objects.url.clone(),
                one: self.objects.object_path(&one.object_path()).to_string(),
                other: self.objects.object_path(&other.object_path()).to_string(),
            }),
        }
    }

    /// Removes segments, and the files of recorders.
    ///
    /// # Errors
    /// As [`Self::remove_objects`].
    pub async fn remove_segments(
        &self,
        segments: &[ListedSegment],
        recorders: &[String],
    ) -> Result<(), RemoteError> {
        let segments =
            segments.iter().map(|segment| self.objects.object_path(&segment.object_path()));
        let recorders = recorders.iter().map(|id| self.recorder_path(id));
        self.objects.remove_objects(segments.chain(recorders).collect()).await
    }
}
