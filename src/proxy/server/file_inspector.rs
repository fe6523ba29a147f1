//! The inspector server for files: shows recordings and journals to a browser on this machine.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::control_access::ControlAccess;
use super::inspector_route::{self as route, InspectorPage, RequestOrigin};
use super::peer::ConnectionPeer;
use super::respond::ResponseBody;
use crate::inspector::file::ShownFile;
use crate::inspector::query::{CallsQuery, QueryTurns, answer_query};
use crate::inspector::questions::{LineNumbers, read_questions};
use crate::inspector::{AT_ONCE, ReadHistories, look_up};
use loomrec_recording::entry::RecordedCut;
use loomrec_telemetry::journal::follow::JournalQuery;

/// How long a client may take to send the head of a request, or to read lines.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a journal is checked for new lines.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// At most this many pieces of lines wait for their reader.
const AHEAD: usize = 2;
/// About how many bytes of an answer wait in a connection.
const BUFFER: usize = 64 << 10;
/// At most this many clients are sent lines at once.
const MOST: usize = 64;

/// The state that requests share.
struct UiState {
    shown: Arc<ShownFile>,
    turns: Semaphore,
    question_turn: Semaphore,
    histories: Arc<Mutex<ReadHistories>>,
    /// One permit for each client that is sent lines.
    places: Arc<Semaphore>,
}

/// Serves connections of `listener` until it is dropped.
pub async fn serve_connections(listener: TcpListener, shown: ShownFile) {
    let state = Arc::new(UiState {
        shown: Arc::new(shown),
        turns: Semaphore::new(AT_ONCE),
        question_turn: Semaphore::new(1),
        histories: Arc::default(),
        places: Arc::new(Semaphore::new(MOST)),
    });
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of file descriptors, or a client that left before it was accepted.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (state, stuck) = (Arc::clone(&state), Arc::<Notify>::default());
        let peer = Arc::new(ConnectionPeer::new(peer, stream.local_addr().ok()));
        let caller = InspectorClient { peer, stuck: Arc::clone(&stuck) };
        let service = service_fn(move |request: Request<Incoming>| {
            let (state, caller, request) = (Arc::clone(&state), caller.clone(), request.map(drop));
            async move {
                Ok::<_, std::convert::Infallible>(answer_request(&state, &caller, request).await)
            }
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            tokio::select! {
                // How a connection ends is the client's business.
                _ = serving => {}
                () = stuck.notified() => {}
            }
        });
    }
}

/// The client of a request.
#[derive(Clone)]
struct InspectorClient {
    peer: Arc<ConnectionPeer>,
    /// Notified when its connection must end because the client does not read.
    stuck: Arc<Notify>,
}

async fn answer_request(
    state: &UiState,
    caller: &InspectorClient,
    request: Request<()>,
) -> Response<InspectorBody> {
    let path = if request.uri().path() == "/" { "/__loomrec" } else { request.uri().path() };
    let Some(asked) = route::requested_page(path) else {
        let why = "there is nothing here: see /__loomrec/";
        return route::error_reply(StatusCode::NOT_FOUND, why).map(InspectorBody::Whole);
    };
    let access = ControlAccess { token: None, policy: None };
    let from = RequestOrigin { access, caller: caller.peer.control_caller().await };
    if let Some(reply) =
        route::answer_without_data(from, asked, request.method(), request.headers())
    {
        return reply.map(InspectorBody::Whole);
    }
    let query = request.uri().query().unwrap_or_default();
    match asked {
        InspectorPage::Journal => answer_lines(state, query, caller),
        InspectorPage::Call => {
            let shown = Arc::clone(&state.shown);
            let found = look_up(query, &state.turns, move |which| shown.find_call(which)).await;
            route::call_reply(found).map(InspectorBody::Whole)
        }
        InspectorPage::Questions => {
            let reply = match LineNumbers::from_query(query) {
                Err(why) => route::error_reply(StatusCode::BAD_REQUEST, &why),
                Ok(numbers) => {
                    let shown = Arc::clone(&state.shown);
                    let read = move |numbers: &_| shown.read_questions(numbers);
                    route::data_reply(&read_questions(numbers, &state.question_turn, read).await)
                }
            };
            reply.map(InspectorBody::Whole)
        }
        InspectorPage::Query(kind) => {
            let (shown, histories) = (Arc::clone(&state.shown), Arc::clone(&state.histories));
            let answer = move |query: &CallsQuery| query.answer(&*shown, &histories);
            let turns = QueryTurns { calls: &state.turns, scans: &state.question_turn };
            let found = answer_query(kind, query, turns, answer).await;
            route::call_reply(found).map(InspectorBody::Whole)
        }
        _ => route::data_reply(&state.shown.describe_subject()).map(InspectorBody::Whole),
    }
}

/// Sends the lines that the query asks for, or all lines if it asks for nothing in particular.
fn answer_lines(state: &UiState, query: &str, caller: &InspectorClient) -> Response<InspectorBody> {
    let wanted = match JournalQuery::from_query(query) {
        Ok(wanted) => wanted.unwrap_or_default(),
        Err(why) => {
            return route::error_reply(StatusCode::BAD_REQUEST, &why).map(InspectorBody::Whole);
        }
    };
    let Ok(place) = Arc::clone(&state.places).try_acquire_owned() else {
        let why = "the journal has too many followers";
        return route::error_reply(StatusCode::SERVICE_UNAVAILABLE, why).map(InspectorBody::Whole);
    };
    let (sender, receiver) = mpsc::channel(AHEAD);
    let (shown, stuck) = (Arc::clone(&state.shown), Arc::clone(&caller.stuck));
    tokio::spawn(async move {
        if send_lines(shown, wanted, sender).await.is_err() {
            stuck.notify_one();
        }
    });
    route::lines_reply(ResponseBody::empty())
        .map(|_| InspectorBody::Lines { lines: receiver, _place: place })
}

/// Sends lines, and optionally those to come, until their reader has gone.
///
/// # Errors
/// [`Elapsed`] if the reader does not read for too long.
async fn send_lines(
    shown: Arc<ShownFile>,
    mut wanted: JournalQuery,
    sender: mpsc::Sender<Bytes>,
) -> Result<(), Elapsed> {
    loop {
        let reading = Arc::clone(&shown);
        let read =
            tokio::task::spawn_blocking(move || (reading.next_lines(&mut wanted), wanted)).await;
        let Ok((piece, reached)) = read else { return Ok(()) };
        let moved = reached.after > wanted.after;
        wanted = reached;
        if !piece.is_empty() && timeout(PATIENCE, sender.send(piece.into())).await?.is_err() {
            return Ok(());
        }
        if moved {
            continue;
        }
        if !wanted.follow || !shown.may_grow() {
            return Ok(());
        }
        tokio::select! {
            () = sender.closed() => return Ok(()),
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
        }
    }
}

/// The body of a response.
enum InspectorBody {
    /// A body that is complete.
    Whole(ResponseBody),
    /// Lines, sent as they become available.
    Lines {
        lines: mpsc::Receiver<Bytes>,
        /// Held for as long as lines are to be sent.
        _place: OwnedSemaphorePermit,
    },
}

impl Body for InspectorBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx),
            Self::Lines { lines, .. } => {
                lines.poll_recv(cx).map(|piece| Some(Ok(Frame::data(piece?))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Lines { .. } => false,
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Lines { .. } => http_body::SizeHint::new(),
        }
    }
}
