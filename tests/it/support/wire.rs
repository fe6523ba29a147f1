//! A reader of HTTP/1.1 as bytes: heads, bodies and how they end, without validation.

use std::io::{ErrorKind, Read};

/// Bytes from a socket; surplus bytes are kept for the next read.
pub(crate) struct Wire<R> {
    inner: R,
    ahead: Vec<u8>,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The peer closed.
    Eof,
    /// The peer reset.
    Reset,
}

/// The head of a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// The request or status line.
    pub(crate) line: String,
    /// The headers, with their names as they came.
    pub(crate) headers: Vec<(String, String)>,
    /// Every byte, the blank line included.
    pub(crate) raw: Vec<u8>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let same = |(n, _): &&(String, String)| n.eq_ignore_ascii_case(name);
        self.headers.iter().find(same).map(|(_, value)| value.as_str())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let same = |(n, _): &&(String, String)| n.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.all("transfer-encoding").iter().any(|v| v.to_ascii_lowercase().contains("chunked"))
    }

    pub(crate) fn length(&self) -> Option<usize> {
        self.header("content-length").map(|value| value.trim().parse().unwrap())
    }
}

impl<R: Read> Wire<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, ahead: Vec::new() }
    }

    pub(crate) fn get_ref(&self) -> &R {
        &self.inner
    }

    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The surplus bytes.
    pub(crate) fn take_ahead(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ahead)
    }

    pub(crate) fn into_inner(self) -> R {
        self.inner
    }

    /// The next bytes, as the socket gives them.
    pub(crate) fn some(&mut self) -> Result<Vec<u8>, Stop> {
        if !self.ahead.is_empty() {
            return Ok(std::mem::take(&mut self.ahead));
        }
        let mut buffer = vec![0; 64 * 1024];
        let read = loop {
            match self.inner.read(&mut buffer) {
                // A machine that was paused and resumed interrupts reads.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Ok(0) => Err(Stop::Eof),
            Ok(n) => {
                buffer.truncate(n);
                Ok(buffer)
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(Stop::Reset),
            Err(error) => panic!("reading from a socket: {error}"),
        }
    }

    /// Reads up to and including `mark`; bytes before a stop are kept for `some`.
    fn until(&mut self, mark: &[u8]) -> Result<Vec<u8>, Stop> {
        let mut read = Vec::new();
        loop {
            match self.some() {
                Ok(more) => read.extend(more),
                Err(stop) => {
                    self.ahead = read;
                    return Err(stop);
                }
            }
            if let Some(at) = read.windows(mark.len()).position(|window| window == mark) {
                self.ahead = read.split_off(at + mark.len());
                return Ok(read);
            }
        }
    }

    /// Exactly `n` bytes, or those that came and why there were no more.
    pub(crate) fn exactly(&mut self, n: usize) -> (Vec<u8>, Option<Stop>) {
        let mut read = Vec::new();
        while read.len() < n {
            match self.some() {
                Ok(more) => read.extend(more),
                Err(stop) => return (read, Some(stop)),
            }
        }
        self.ahead = read.split_off(n);
        (read, None)
    }

    pub(crate) fn head(&mut self) -> Result<Head, Stop> {
        let raw = self.until(b"\r\n\r\n")?;
        let text = String::from_utf8_lossy(&raw).into_owned();
        let mut lines = text.trim_end().split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let pair = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name.to_owned(), value.trim().to_owned())
        };
        Ok(Head { line, headers: lines.map(pair).collect(), raw })
    }

    /// One chunk of a chunked body: `Ok(None)` at its end, trailers in `trailers`.
    pub(crate) fn chunk(&mut self, trailers: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Stop> {
        let size = self.until(b"\r\n")?;
        let text = String::from_utf8_lossy(&size).trim().to_owned();
        let digits = text.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(digits, 16)
            .unwrap_or_else(|_| panic!("not a chunk size: {text:?}"));
        if size > 0 {
            let (mut data, stop) = self.exactly(size + 2);
            if let Some(stop) = stop {
                return Err(stop);
            }
            assert_eq!(data.split_off(size), b"\r\n", "a chunk must end with CRLF");
            return Ok(Some(data));
        }
        loop {
            let line = self.until(b"\r\n")?;
            if line == b"\r\n" {
                return Ok(None);
            }
            trailers.extend(line);
        }
    }
}
