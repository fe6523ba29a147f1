//! The names of segments.

/// The name of a segment in its bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedSegment {
    /// The id of its recorder.
    pub recorder: String,
    /// Its number, from 1.
    pub number: u32,
}

impl ListedSegment {
    /// Returns the object's path below the recording's.
    pub(crate) fn name(&self) -> String {
        format!("runs/{}/{:06}", self.recorder, self.number)
    }

    /// Reads the parts of a path below `runs`. Returns `None` for other objects.
    pub(crate) fn parse(parts: &[String]) -> Option<Self> {
        let [recorder, number] = parts else { return None };
        let digits = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|&number| digits && number > 0)?;
        Some(Self { recorder: recorder.clone(), number })
    }
}
