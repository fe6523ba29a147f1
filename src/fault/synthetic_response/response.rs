//! An answer made by a fault.

/// An answer made by a fault. Its length is not among the headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntheticResponse {
    /// The status.
    pub status: u16,
    /// The headers, the media type first.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl SyntheticResponse {
    pub(super) fn of(status: u16, media: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), media.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// Whether there is a header of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Puts a header in place of any of its name.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.headers.iter_mut().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            Some((_, own)) => *own = value,
            None => self.headers.push((name.to_owned(), value)),
        }
    }
}
