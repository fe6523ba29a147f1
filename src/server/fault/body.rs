//! A body as its fault has it, on its way out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::super::Proxy;
use super::super::respond::AnyBody;
use super::super::socket::ConnectionHandle;
use super::active_fault::{ActiveFault, NotApplied};
use super::delayed_call::DelayedCall;
use super::no_response;
use super::recovery_tracker::{self, SessionKey};
use super::take_lease::TakeLease;
use crate::fault::{self, BodyStep, BodyTransform};
use crate::recording::entry::RecordedCut;

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body that something happens to, or whose good end is waited for.
pub struct FaultBody {
    body: AnyBody,
    proxy: Arc<Proxy>,
    connection: Arc<ConnectionHandle>,
    work: Option<Work>,
    /// Answered well to its end, it ends the faults of these calls.
    heals: Option<SessionKey>,
    /// The take that it is made of.
    claim: Option<TakeLease>,
    /// What is undone where the client does not wait for its end.
    late: Option<DelayedCall>,
    /// The length that its head announces, if the body is as long as that.
    announced: Option<u64>,
    sent: u64,
    wait: Option<Wait>,
    /// Nothing follows before the system has got all there was then.
    unflushed: Option<u64>,
    /// How the body behind it has ended.
    ended: Option<Result<(), RecordedCut>>,
    /// How this one has.
    over: Option<Result<(), RecordedCut>>,
}

/// What happens to a body.
struct Work {
    distort: BodyTransform,
    mark: ActiveFault,
    /// A step that was looked at before its turn.
    ahead: Option<BodyStep>,
}

/// What comes next.
enum Next {
    /// This goes out.
    Data(Bytes),
    /// The body is over.
    End(Result<(), RecordedCut>),
    /// Something was done, or is waited for.
    Again,
    /// Nothing is left of what came.
    Nothing,
}

impl FaultBody {
    /// `body`, of which `announced` bytes are announced and to which `distort` happens.
    pub(super) fn new(
        body: AnyBody,
        (proxy, connection): (Arc<Proxy>, Arc<ConnectionHandle>),
        distort: Option<(BodyTransform, ActiveFault)>,
        heals: Option<SessionKey>,
        announced: Option<u64>,
    ) -> Self {
        let work = distort.map(|(distort, mark)| Work { distort, mark, ahead: None });
        Self {
            body,
            proxy,
            connection,
            work,
            heals,
            claim: None,
            late: None,
            announced,
            sent: 0,
            wait: None,
            unflushed: None,
            ended: None,
            over: None,
        }
    }

    /// The same, made of this take, and late.
    pub(super) fn claiming(mut self, claims: (Option<TakeLease>, Option<DelayedCall>)) -> Self {
        (self.claim, self.late) = claims;
        self
    }

    /// Takes the next step.
    fn step(&mut self) -> Next {
        let Some(work) = &mut self.work else { return Next::Nothing };
        let step = work.step();
        if let Some(BodyStep::Send(data)) = step {
            // Whoever knows the body's length does not ask for more than that.
            work.ahead = work.step();
            if let Some(BodyStep::Behind(_)) = work.ahead
                && let Some(BodyStep::Behind(data)) = work.ahead.take()
            {
                self.connection.send_behind(data);
            }
            return Next::Data(data);
        }
        match step {
            Some(BodyStep::Wait(ms)) => {
                let proxy = Arc::clone(&self.proxy);
                self.wait = Some(Box::pin(async move { proxy.faults.pause(ms).await }));
            }
            Some(BodyStep::Stall) => {
                let proxy = Arc::clone(&self.proxy);
                self.wait = Some(Box::pin(async move { proxy.faults.stopped().await }));
                work.ahead = Some(BodyStep::Cut(fault::ConnectionCut::Close));
            }
            Some(BodyStep::Behind(data)) => self.connection.send_behind(data),
            Some(BodyStep::Cut(cut)) => return Next::End(Err(no_response::cut(cut))),
            Some(BodyStep::End) => return Next::End(Ok(())),
            Some(BodyStep::Send(_)) | None => return Next::Nothing,
        }
        Next::Again
    }

    /// Hands what came of the true body to the fault.
    fn take(&mut self, frame: Option<Result<Frame<Bytes>, RecordedCut>>) {
        let Some(work) = &mut self.work else { return };
        match frame {
            Some(Ok(frame)) => {
                // Trailers are no part of a body.
                if let Ok(data) = frame.into_data() {
                    work.distort.feed(data);
                }
            }
            Some(Err(cut)) => {
                work.distort.release();
                self.ended = Some(Err(cut));
            }
            None => {
                work.distort.finish();
                self.ended = Some(Ok(()));
            }
        }
        work.note();
    }

    /// Whether the client has got all there was to get.
    fn is_whole(&self) -> bool {
        matches!(self.over, Some(Ok(())))
            || self.announced.is_some_and(|announced| announced <= self.sent)
            || (self.work.is_none() && self.over.is_none() && self.body.is_end_stream())
    }
}

impl Work {
    fn step(&mut self) -> Option<BodyStep> {
        let step = self.ahead.take().or_else(|| self.distort.step());
        self.note();
        step
    }

    /// Notes that the fault has happened, once it has.
    fn note(&mut self) {
        if self.distort.struck() {
            self.mark.fired();
        }
    }
}

impl Body for FaultBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let this = &mut *self;
        loop {
            if let Some(wait) = &mut this.wait {
                ready!(wait.as_mut().poll(cx));
                this.wait = None;
            }
            if let Some(since) = this.unflushed {
                ready!(this.connection.poll_flushed(since, cx));
                this.unflushed = None;
            }
            if this.over.is_some() {
                return Poll::Ready(None);
            }
            let next = match (this.step(), this.ended) {
                (Next::Nothing, Some(end)) => Next::End(end),
                (next, _) => next,
            };
            match next {
                Next::Data(data) => {
                    this.sent += data.len() as u64;
                    let paced = this.work.as_ref().is_some_and(|work| work.distort.is_paced());
                    this.unflushed = paced.then(|| this.connection.flushes());
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Next::End(end) => {
                    this.over = Some(end);
                    return Poll::Ready(end.err().map(Err));
                }
                Next::Again => continue,
                Next::Nothing => {}
            }
            let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
            if this.work.is_some() {
                this.take(frame);
                continue;
            }
            match &frame {
                Some(Ok(frame)) => {
                    this.sent += frame.data_ref().map_or(0, |data| data.len() as u64);
                }
                Some(Err(cut)) => this.over = Some(Err(*cut)),
                None => this.over = Some(Ok(())),
            }
            return Poll::Ready(frame);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.over.is_some() || (self.work.is_none() && self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self.work {
            Some(_) => SizeHint::new(),
            None => self.body.size_hint(),
        }
    }
}

impl Drop for FaultBody {
    fn drop(&mut self) {
        let whole = self.is_whole();
        if let (true, Some(line)) = (whole, &self.heals) {
            recovery_tracker::recovered(&self.proxy, line);
        }
        if whole {
            self.late.take().into_iter().for_each(DelayedCall::answer_sent);
        }
        let spares = |work: &Work| work.mark.decided.fault.only_delays() || !work.distort.struck();
        // Any other claim goes with this.
        if whole && self.work.as_ref().is_none_or(spares) {
            self.claim.take().into_iter().for_each(TakeLease::answered);
        }
        if let Some(Work { distort, mark, .. }) = &mut self.work
            && (whole || self.ended.is_some())
            && !distort.struck()
        {
            mark.missed(&NotApplied::EndedBefore);
        }
    }
}
