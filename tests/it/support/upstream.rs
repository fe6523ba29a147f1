//! A scripted upstream on raw sockets: it reads each whole request, sends exact bytes at the
//! scripted times, and counts.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustls::ServerConfig;

use super::gate::{Gate, PATIENCE};
use super::socket::ServerSocket;
use super::wire::{Head, Stop, Wire};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) head: Head,
    /// The body without its chunked framing.
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One step of an answer.
#[derive(Clone)]
enum Step {
    Bytes(Vec<u8>),
    Wait(Gate),
    Pause(Duration),
    Reset,
    Close,
    Truncate,
}

/// An answer as a sequence of steps. The connection stays open after them, unless a step ends it.
#[derive(Clone, Default)]
pub(crate) struct Answer(Vec<Step>);

impl Answer {
    /// The same answer with one more header, `name: value`.
    pub(crate) fn header(mut self, line: &str) -> Self {
        if let Some(Step::Bytes(head)) = self.0.first_mut() {
            let at = head.windows(2).position(|two| two == b"\r\n").unwrap() + 2;
            head.splice(at..at, format!("{line}\r\n").into_bytes());
        }
        self
    }

    /// Raw bytes without a head; more may follow.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::default().bytes(bytes)
    }

    /// A status line and headers, each `name: value`; later steps send the body.
    pub(crate) fn head(status: u16, headers: &[&str]) -> Self {
        let mut head = format!("HTTP/1.1 {status} Some Reason\r\n");
        headers.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        Self::raw(head + "\r\n")
    }

    /// A complete body with its length.
    pub(crate) fn whole(status: u16, headers: &[&str], body: impl AsRef<[u8]>) -> Self {
        let length = format!("content-length: {}", body.as_ref().len());
        let headers: Vec<&str> = headers.iter().copied().chain([length.as_str()]).collect();
        Self::head(status, &headers).bytes(body.as_ref())
    }

    pub(crate) fn json(status: u16, body: impl AsRef<[u8]>) -> Self {
        Self::whole(status, &["content-type: application/json"], body)
    }

    /// The head of an event stream in chunked framing; `chunk` and `end` follow.
    pub(crate) fn stream() -> Self {
        Self::head(200, &["content-type: text/event-stream", "transfer-encoding: chunked"])
    }

    /// A whole event stream, one chunk per event.
    pub(crate) fn events<T: AsRef<[u8]>>(chunks: &[T]) -> Self {
        chunks.iter().fold(Self::stream(), |answer, chunk| answer.chunk(chunk)).end()
    }

    pub(crate) fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.push(Step::Bytes(bytes.into()));
        self
    }

    pub(crate) fn chunk(self, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref();
        let mut framed = format!("{:x}\r\n", data.len()).into_bytes();
        framed.extend_from_slice(data);
        framed.extend_from_slice(b"\r\n");
        self.bytes(framed)
    }

    pub(crate) fn end(self) -> Self {
        self.bytes("0\r\n\r\n")
    }

    /// Continues only when the test opens the gate.
    pub(crate) fn wait(mut self, gate: &Gate) -> Self {
        self.0.push(Step::Wait(gate.clone()));
        self
    }

    /// Waits before all other steps, so that a client can leave before the answer begins.
    pub(crate) fn late(mut self, milliseconds: u64) -> Self {
        self.0.insert(0, Step::Pause(Duration::from_millis(milliseconds)));
        self
    }

    /// Waits, to make recorded times differ; never to achieve an order.
    pub(crate) fn pause(mut self, milliseconds: u64) -> Self {
        self.0.push(Step::Pause(Duration::from_millis(milliseconds)));
        self
    }

    pub(crate) fn reset(mut self) -> Self {
        self.0.push(Step::Reset);
        self
    }

    pub(crate) fn close(mut self) -> Self {
        self.0.push(Step::Close);
        self
    }

    /// Closes without `close_notify` over TLS.
    pub(crate) fn truncate(mut self) -> Self {
        self.0.push(Step::Truncate);
        self
    }

    /// Plays the steps; returns false if the connection is over.
    fn play(&self, socket: &mut ServerSocket) -> bool {
        for step in &self.0 {
            let going = match step {
                Step::Bytes(bytes) => socket.write_all(bytes).and_then(|()| socket.flush()).is_ok(),
                Step::Wait(gate) => gate.wait(),
                Step::Pause(time) => {
                    std::thread::sleep(*time);
                    true
                }
                Step::Reset => {
                    socket.reset_on_drop();
                    return false;
                }
                Step::Close => {
                    socket.close();
                    return false;
                }
                Step::Truncate => {
                    socket.truncate();
                    return false;
                }
            };
            if !going {
                return false;
            }
        }
        true
    }
}

type Handler = dyn Fn(&Received) -> Answer + Send + Sync;

struct Shared {
    /// Its TLS settings, if it uses TLS.
    tls: Option<Arc<ServerConfig>>,
    handler: Box<Handler>,
    /// Whether requests are kept for inspection; in a long run they would fill the memory.
    remembers: bool,
    received: Mutex<Vec<Received>>,
    arrived: Condvar,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

/// The listening upstream; stops when dropped.
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Upstream {
    /// Answers each request with `handler`.
    pub(crate) fn start(handler: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(None, Box::new(handler), true)
    }

    /// Always gives the same answer, over TLS if there is a certificate.
    pub(crate) fn always_over(tls: Option<Arc<ServerConfig>>, answer: Answer) -> Self {
        Self::listen(tls, Box::new(move |_| answer.clone()), true)
    }

    /// Answers each request with `handler` and forgets it.
    pub(crate) fn forgetful(handler: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(None, Box::new(handler), false)
    }

    fn listen(tls: Option<Arc<ServerConfig>>, handler: Box<Handler>, remembers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            tls,
            handler,
            remembers,
            received: Mutex::default(),
            arrived: Condvar::new(),
            connections: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if own.stopped.load(Ordering::SeqCst) {
                    return;
                }
                own.connections.fetch_add(1, Ordering::SeqCst);
                let own = Arc::clone(&own);
                std::thread::spawn(move || own.serve(stream));
            }
        });
        Self { address, shared }
    }

    /// Gives the answers in order of arrival, and a 500 to later requests.
    pub(crate) fn script(answers: Vec<Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter());
        Self::start(move |_| {
            let next = answers.lock().unwrap().next();
            next.unwrap_or_else(|| Answer::json(500, r#"{"error":"the script is over"}"#))
        })
    }

    /// Always gives the same answer.
    pub(crate) fn always(answer: Answer) -> Self {
        Self::always_over(None, answer)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.shared.received.lock().unwrap().len()
    }

    /// How many connections were accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Waits until `n` requests have come in full.
    #[track_caller]
    pub(crate) fn wait_for(&self, n: usize) {
        let received = self.shared.received.lock().unwrap();
        let few = |received: &mut Vec<Received>| received.len() < n;
        let (received, _) =
            self.shared.arrived.wait_timeout_while(received, PATIENCE, few).unwrap();
        assert!(received.len() >= n, "only {} of {n} requests came", received.len());
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE * 4)).unwrap();
        let Some(socket) = ServerSocket::accept(stream, self.tls.clone()) else { return };
        let mut wire = Wire::new(socket);
        while let Ok(request) = receive(&mut wire) {
            let answer = (self.handler)(&request);
            if self.remembers {
                self.received.lock().unwrap().push(request);
                self.arrived.notify_all();
            }
            if !answer.play(wire.get_mut()) {
                return;
            }
        }
    }
}

fn receive(wire: &mut Wire<ServerSocket>) -> Result<Received, Stop> {
    let head = wire.head()?;
    if head.header("expect").is_some() {
        let _ = wire.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    let mut body = Vec::new();
    if head.is_chunked() {
        while let Some(chunk) = wire.chunk(&mut Vec::new())? {
            body.extend(chunk);
        }
    } else {
        let (data, stop) = wire.exactly(head.length().unwrap_or(0));
        if let Some(stop) = stop {
            return Err(stop);
        }
        body = data;
    }
    let mut words = head.line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Ok(Received { method, target, head, body })
}
