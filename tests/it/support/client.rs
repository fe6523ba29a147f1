//! A client on raw sockets: it sends exact bytes, and sees each chunk as it comes and how the
//! connection ended.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::gate::PATIENCE;
use super::wire::{Head, Stop, Wire};

/// A request to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: String,
    target: String,
    headers: Vec<String>,
    body: Option<Vec<u8>>,
}

impl Call {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        let (method, target) = (method.to_owned(), target.to_owned());
        Self { method, target, headers: Vec::new(), body: None }
    }

    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST of JSON text.
    pub(crate) fn post(target: &str, body: impl AsRef<[u8]>) -> Self {
        Self::new("POST", target).header("content-type: application/json").body(body)
    }

    pub(crate) fn header(mut self, line: &str) -> Self {
        self.headers.push(line.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    /// Its body.
    pub(crate) fn body_bytes(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    /// Its request line and headers.
    pub(crate) fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let names = |name: &str| {
            let same = |line: &&String| {
                line.split(':').next().is_some_and(|n| n.eq_ignore_ascii_case(name))
            };
            self.headers.iter().find(same).is_some()
        };
        if !names("host") {
            head.push_str("host: localhost\r\n");
        }
        self.headers.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        let framed = names("content-length") || names("transfer-encoding");
        if let (Some(body), false) = (&self.body, framed) {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head + "\r\n"
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By its own framing: length reached, or the chunked terminator.
    Complete,
    /// The connection was closed before the framing said that the answer was over; also the normal
    /// end of an answer without framing.
    Closed,
    /// The connection was reset.
    Reset,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: Head,
    /// The body as it came: transfer chunks, or reads if there is no chunked framing.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// The lines after a chunked body, sorted.
    pub(crate) trailers: Vec<String>,
    pub(crate) end: End,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body()).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let parsed = serde_json::from_slice(&self.body());
        parsed.unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    /// Fails with the whole answer unless it has this status and a complete end.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        let seen = (self.status, self.end);
        assert_eq!(seen, (status, End::Complete), "{:?} {}", self.head, self.text());
        self
    }
}

/// How the rest of an answer's body is framed.
enum Rest {
    Chunked,
    Length(usize),
    UntilClose,
    Nothing,
}

/// A connection to the server under test.
pub(crate) struct Client {
    wire: Wire<TcpStream>,
    rest: Rest,
    no_body: bool,
    trailers: Vec<u8>,
    ended: Option<End>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap()
    }

    /// A connection; `None` if no server listens.
    pub(crate) fn try_connect(address: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (wire, rest) = (Wire::new(stream), Rest::Nothing);
        Some(Self { wire, rest, no_body: false, trailers: Vec::new(), ended: None })
    }

    /// Makes one call on a new connection.
    #[track_caller]
    pub(crate) fn call(address: SocketAddr, call: &Call) -> Response {
        Self::connect(address).exchange(call)
    }

    #[track_caller]
    pub(crate) fn exchange(&mut self, call: &Call) -> Response {
        self.send(call);
        let head = self.head();
        self.collect(head)
    }

    pub(crate) fn send(&mut self, call: &Call) {
        self.no_body = call.method == "HEAD";
        self.write(call.head());
        self.write(call.body.as_deref().unwrap_or_default());
    }

    /// Closes the side that sends. Answers can still come.
    pub(crate) fn close_sending(&mut self) {
        self.wire.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        // The server may have answered and closed early; its answer is read next.
        let _ = self.wire.get_ref().write_all(bytes.as_ref());
    }

    /// The next head; it may be an interim `100 Continue`.
    #[track_caller]
    pub(crate) fn any_head(&mut self) -> Head {
        self.wire.head().unwrap_or_else(|stop| panic!("no answer: {stop:?}"))
    }

    /// The final head; the body comes from `chunk`.
    #[track_caller]
    pub(crate) fn head(&mut self) -> Head {
        let mut head = self.any_head();
        while status(&head) < 200 {
            head = self.any_head();
        }
        self.begin(&head);
        head
    }

    /// Sets the framing of the body after this head.
    fn begin(&mut self, head: &Head) {
        let bare = self.no_body || matches!(status(head), 204 | 304);
        self.rest = match head.length() {
            _ if bare => Rest::Nothing,
            _ if head.is_chunked() => Rest::Chunked,
            Some(length) => Rest::Length(length),
            None => Rest::UntilClose,
        };
        self.ended = None;
    }

    /// The answer, or how the connection ended without one.
    pub(crate) fn answer(&mut self) -> Result<Response, End> {
        match self.wire.head() {
            Ok(head) => {
                self.begin(&head);
                Ok(self.collect(head))
            }
            Err(Stop::Eof) => Err(End::Closed),
            Err(Stop::Reset) => Err(End::Reset),
        }
    }

    /// Whether an answer begins.
    pub(crate) fn begins(&mut self) -> bool {
        self.wire.head().is_ok_and(|head| {
            self.begin(&head);
            true
        })
    }

    /// The next piece of the body; `None` once it is over (see `ended`).
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let next = match &mut self.rest {
            Rest::Nothing | Rest::Length(0) => Ok(None),
            Rest::Chunked => self.wire.chunk(&mut self.trailers),
            Rest::UntilClose => self.wire.some().map(Some),
            Rest::Length(left) => self.wire.some().map(|bytes| {
                assert!(bytes.len() <= *left, "more bytes than the content-length");
                *left -= bytes.len();
                Some(bytes)
            }),
        };
        match next {
            Ok(Some(bytes)) => return Some(bytes),
            Ok(None) => self.ended = Some(End::Complete),
            Err(Stop::Eof) => self.ended = Some(End::Closed),
            Err(Stop::Reset) => self.ended = Some(End::Reset),
        }
        None
    }

    /// Reads until `text` has come; returns everything that came.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> Vec<u8> {
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains(text) {
            let so_far = String::from_utf8_lossy(&read).into_owned();
            let more = self.chunk();
            read.extend(more.unwrap_or_else(|| panic!("over before {text:?}: {so_far}")));
        }
        read
    }

    /// The rest of the body, and how it ended.
    pub(crate) fn collect(&mut self, head: Head) -> Response {
        let chunks: Vec<_> = std::iter::from_fn(|| self.chunk()).collect();
        let end = self.ended.unwrap_or(End::Closed);
        let trailers = String::from_utf8(std::mem::take(&mut self.trailers)).unwrap();
        let mut trailers: Vec<String> = trailers.lines().map(str::to_owned).collect();
        trailers.sort();
        Response { status: status(&head), head, chunks, trailers, end }
    }

    /// The answer, if it comes in full: the server may die at any moment.
    pub(crate) fn try_collect(&mut self) -> Option<Response> {
        let head = self.wire.head().ok()?;
        self.rest = match head.is_chunked() {
            true => Rest::Chunked,
            false => Rest::Length(head.length()?),
        };
        let answer = self.collect(head);
        (answer.end == End::Complete).then_some(answer)
    }

    /// Every byte until the connection ends, framing included, and how it ends.
    pub(crate) fn everything(&mut self) -> (Vec<u8>, End) {
        let mut read = Vec::new();
        loop {
            match self.wire.some() {
                Ok(bytes) => read.extend(bytes),
                Err(Stop::Eof) => return (read, End::Closed),
                Err(Stop::Reset) => return (read, End::Reset),
            }
        }
    }

    /// How the connection ended without any answer.
    pub(crate) fn silence(&mut self) -> End {
        match self.wire.head() {
            Err(Stop::Eof) => End::Closed,
            Err(Stop::Reset) => End::Reset,
            Ok(head) => panic!("an answer where none was due: {head:?}"),
        }
    }

    /// How the last answer ended, once it has.
    pub(crate) fn ended(&self) -> Option<End> {
        self.ended
    }

    /// This side's port.
    pub(crate) fn port(&self) -> u16 {
        self.wire.get_ref().local_addr().unwrap().port()
    }

    /// Waits for answers up to this time, instead of the usual limit.
    pub(crate) fn wait_up_to(&self, time: Duration) {
        self.wire.get_ref().set_read_timeout(Some(time)).unwrap();
    }

    /// Whether nothing comes within this time, to prove that something waits.
    pub(crate) fn is_quiet_for(&mut self, time: Duration) -> bool {
        let stream = self.wire.get_ref();
        stream.set_read_timeout(Some(time)).unwrap();
        let quiet = stream.peek(&mut [0]).is_err();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        quiet
    }
}

fn status(head: &Head) -> u16 {
    head.line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}
