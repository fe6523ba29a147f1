//! The cost of observation: loomrec with observers, compared with loomrec without.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::fault::Fault;

/// How often the scraper reads the metrics: more often than usual.
const SCRAPED_EVERY: Duration = Duration::from_secs(1);
/// When the scraper reads for the first time: in the middle of the measurement.
const FIRST_SCRAPE: Duration = Duration::from_millis(300);
/// How long a watcher waits for an answer, or for the first span.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a loomrec is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// It writes a journal.
    Journal,
    /// Its metrics are scraped each second.
    Scraper,
    /// Both of these.
    Both,
    /// A client follows its journal.
    Follower,
    /// It sends traces to a collector.
    Traced,
    /// Journal, scraper and traces.
    All,
}

impl Watch {
    /// Returns the additional arguments for loomrec.
    pub fn words(self, folder: &Path) -> Vec<OsString> {
        let mut words = Vec::new();
        if matches!(self, Self::Journal | Self::Both | Self::All) {
            words.extend(["--journal".into(), folder.join("journal.jsonl").into()]);
        }
        if self.is_traced() {
            words.push("--otel".into());
        }
        words
    }

    /// Whether it sends traces.
    pub fn is_traced(self) -> bool {
        matches!(self, Self::Traced | Self::All)
    }

    /// Returns the environment variables for sending traces to this collector, if it sends any.
    pub fn settings(self, collector: &str) -> Vec<(&'static str, String)> {
        match self.is_traced() {
            true => vec![
                ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}")),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned()),
            ],
            false => Vec::new(),
        }
    }

    /// Starts the observers, if any are needed.
    ///
    /// # Errors
    /// A server that cannot be observed.
    pub fn begin(
        self,
        name: &'static str,
        address: &str,
        collector: &str,
    ) -> Result<Vec<Watcher>, Fault> {
        let failed = |error: std::io::Error| wrong(name, error);
        let mut watchers = Vec::new();
        if matches!(self, Self::Scraper | Self::Both | Self::All) {
            watchers.push(Watcher::scrape(name, address).map_err(failed)?);
        }
        if self == Self::Follower {
            watchers.push(Watcher::follow(name, address).map_err(failed)?);
        }
        if self.is_traced() {
            watchers.push(Watcher::trace(name, collector).map_err(failed)?);
        }
        Ok(watchers)
    }
}

fn wrong(name: &'static str, detail: impl ToString) -> Fault {
    Fault::Child { name, detail: format!("it cannot be watched: {}", detail.to_string()) }
}

/// An observer.
pub struct Watcher {
    name: &'static str,
    stream: TcpStream,
    /// Dropped when the observer must stop.
    stop: Option<Sender<()>>,
    /// Returns how often something was read.
    thread: Option<JoinHandle<std::io::Result<u64>>>,
}

impl Watcher {
    fn connect(address: &str) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Starts an observer that reads the metrics each second.
    fn scrape(name: &'static str, address: &str) -> std::io::Result<Self> {
        let stream = Self::connect(address)?;
        let (mut own, (stop, stopped)) = (stream.try_clone()?, channel());
        let thread = std::thread::spawn(move || {
            let (mut scrapes, mut wait) = (0, FIRST_SCRAPE);
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                own.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
                let text = answer(&mut own)?;
                if !text.contains("\nloomrec_requests_total{") {
                    return Err(std::io::Error::other("its metrics name no calls"));
                }
                (scrapes, wait) = (scrapes + 1, SCRAPED_EVERY);
            }
            Ok(scrapes)
        });
        Ok(Self { name, stream, stop: Some(stop), thread: Some(thread) })
    }

    /// Starts an observer that reads the journal as it grows.
    fn follow(name: &'static str, address: &str) -> std::io::Result<Self> {
        let mut stream = Self::connect(address)?;
        let request = "GET /__loomrec/journal?follow=1 HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes())?;
        let mut own = stream.try_clone()?;
        let thread = std::thread::spawn(move || {
            let (mut reads, mut piece) = (0, vec![0; 64 << 10]);
            while own.read(&mut piece)? > 0 {
                reads += 1;
            }
            Ok(reads)
        });
        Ok(Self { name, stream, stop: None, thread: Some(thread) })
    }

    /// Starts an observer that asks the collector for the spans of the measurement.
    fn trace(name: &'static str, collector: &str) -> std::io::Result<Self> {
        let stream = Self::connect(collector)?;
        let (mut own, (stop, stopped)) = (stream.try_clone()?, channel::<()>());
        // Discards the spans of earlier measurements.
        spans(&mut own)?;
        let thread = std::thread::spawn(move || {
            // Nothing is ever sent. The sender is dropped when the measurement is over.
            let _ = stopped.recv();
            let end = Instant::now() + PATIENCE;
            loop {
                // A few spans wait for a while until there are more.
                let came = spans(&mut own)?;
                if came > 0 || Instant::now() > end {
                    return Ok(came);
                }
                std::thread::sleep(FIRST_SCRAPE);
            }
        });
        Ok(Self { name, stream, stop: Some(stop), thread: Some(thread) })
    }

    /// Stops observing.
    ///
    /// # Errors
    /// An observer that saw nothing.
    pub fn end(mut self) -> Result<(), Fault> {
        let name = self.name;
        match self.join() {
            Some(Ok(0)) => Err(wrong(name, "it told nothing")),
            Some(Err(error)) => Err(wrong(name, error)),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    fn join(&mut self) -> Option<std::io::Result<u64>> {
        if self.stop.take().is_none() {
            drop(self.stream.shutdown(Shutdown::Both));
        }
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // After a failed run, it does not matter what the observer saw.
        drop(self.join());
    }
}

/// Returns how many spans the collector has accepted since the last question.
fn spans(collector: &mut TcpStream) -> std::io::Result<u64> {
    collector.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
    let text = answer(collector)?;
    text.parse().map_err(|_| std::io::Error::other(format!("its spans are none: {text}")))
}

/// Returns the text of an answer of known length.
fn answer(stream: &mut TcpStream) -> std::io::Result<String> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.split_once("\r\n\r\n").filter(|(head, body)| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            length.and_then(|(_, length)| length.parse().ok()) == Some(body.len())
        });
        if let Some((_, body)) = whole {
            return Ok(body.to_owned());
        }
        match stream.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            some => bytes.extend_from_slice(&piece[..some]),
        }
    }
}
