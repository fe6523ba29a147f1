//! A reader that fails if a single exchange is too large to be held.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// The most bytes of a file that one exchange may have.
pub(super) const LIMIT: u64 = 128 << 20;

/// The bytes read since the last exchange, shared with the code that finds the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadMeter {
    read: Rc<Cell<u64>>,
    over: Rc<Cell<bool>>,
}

impl ReadMeter {
    /// Begins a new exchange: the bytes that follow belong to it.
    pub(super) fn reset(&self) {
        self.read.set(0);
    }

    /// Whether an exchange was too large.
    pub(super) fn is_over(&self) -> bool {
        self.over.get()
    }
}

/// Reads from `inner` as long as the meter allows.
pub(super) struct BoundedReader<R> {
    inner: R,
    meter: ReadMeter,
    limit: u64,
}

impl<R: Read> BoundedReader<R> {
    pub(super) fn new(inner: R, meter: ReadMeter) -> Self {
        Self { inner, meter, limit: LIMIT }
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.meter.read.get() > self.limit {
            self.meter.over.set(true);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "an exchange is too large"));
        }
        let length = self.inner.read(buffer)?;
        self.meter.read.set(self.meter.read.get() + length as u64);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_goes_on_as_long_as_exchanges_end_and_stops_where_one_does_not() {
        let meter = ReadMeter::default();
        let mut reader =
            BoundedReader { inner: io::repeat(b'x'), meter: meter.clone(), limit: 100 };
        let mut buffer = [0; 60];
        for _ in 0..10 {
            reader.read_exact(&mut buffer).unwrap();
            meter.reset();
        }
        reader.read_exact(&mut buffer).unwrap();
        assert!(!meter.is_over());
        reader.read_exact(&mut buffer).unwrap();
        assert!(reader.read_exact(&mut buffer).is_err() && meter.is_over());
    }
}
