//! The way to a store: how many requests it bears, how long they may be silent, and what answers show
//! of the store's clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService, ReqwestConnector,
};

use super::patient_body::PatientBody;
use super::request_room::{PARALLEL, RequestPlace, RequestRoom};
use super::store_silence::{StoreSilence, answer_patience};
use crate::store_clock::{StoreClock, machine_time};

/// How long a request for credentials may take.
const CREDENTIALS: Duration = Duration::from_secs(60);

/// The way to the store of a bucket.
#[derive(Debug)]
pub(crate) struct StoreLink {
    bucket: String,
    /// The store's clock.
    pub(crate) clock: StoreClock,
    room: Arc<RequestRoom>,
}

impl StoreLink {
    pub(super) fn new(bucket: &str) -> Arc<Self> {
        let (clock, room) = (StoreClock::default(), RequestRoom::new(PARALLEL));
        Arc::new(Self { bucket: bucket.to_owned(), clock, room })
    }

    /// Whether a request goes to the bucket. Others ask for credentials, from other machines.
    fn is_for_bucket(&self, uri: &http::Uri) -> bool {
        let host = uri.host().unwrap_or_default();
        let in_host = host.strip_prefix(&self.bucket).is_some_and(|rest| rest.starts_with('.'));
        in_host || uri.path().split('/').nth(1) == Some(&self.bucket)
    }
}

/// Makes clients that send their requests over a link.
#[derive(Clone, Debug)]
pub(super) struct LinkConnector(pub(super) Arc<StoreLink>);

impl HttpConnector for LinkConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // A limit on whole requests would be one on the size of what is sent over a slow link.
        let options = options.clone().with_timeout_disabled();
        let client = ReqwestConnector::default().connect(&options)?;
        Ok(LinkedClient::connect(client, &self.0))
    }
}

/// A client that sends its requests over a link.
#[derive(Debug)]
pub(super) struct LinkedClient {
    client: HttpClient,
    link: Arc<StoreLink>,
}

impl LinkedClient {
    /// Returns a client that sends its requests over a link.
    pub(super) fn connect(client: HttpClient, link: &Arc<StoreLink>) -> HttpClient {
        HttpClient::new(Self { client, link: Arc::clone(link) })
    }

    /// Sends a request to the bucket that has its place.
    async fn send_request(
        &self,
        request: HttpRequest,
        place: &RequestPlace,
    ) -> Result<HttpResponse, HttpError> {
        let patience = answer_patience(request.body().content_length());
        let (sent, began) = (machine_time(), Instant::now());
        let silent = |after| StoreSilence::new(after, place.note_timeout()).into_error();
        let response = match tokio::time::timeout(patience, self.client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.kind() == HttpErrorKind::Timeout => {
                return Err(silent(began.elapsed()));
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(silent(patience)),
        };
        place.note_answer();
        let date = response.headers().get(http::header::DATE);
        if let Some(date) = date.and_then(|date| date.to_str().ok()) {
            self.link.clock.note_answer(sent, machine_time(), date);
        }
        Ok(response)
    }
}

#[async_trait]
impl HttpService for LinkedClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if !self.link.is_for_bucket(request.uri()) {
            let answer = tokio::time::timeout(CREDENTIALS, self.client.execute(request)).await;
            return answer
                .unwrap_or_else(|_| Err(StoreSilence::new(CREDENTIALS, false).into_error()));
        }
        let place = self.link.room.wait_for_place().await;
        let response = self.send_request(request, &place).await?;
        Ok(response.map(|body| HttpResponseBody::new(PatientBody::new(body, place))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_to_the_bucket_show_its_clock() {
        let link = StoreLink::new("my.bucket");
        for (uri, expected) in [
            ("https://my.bucket.s3.eu-central-1.amazonaws.com/agent/ref", true),
            ("http://127.0.0.1:9000/my.bucket/agent/ref", true),
            ("http://127.0.0.1:9000/my.bucket", true),
            ("https://storage.googleapis.com/my.bucket/agent", true),
            ("http://127.0.0.1:9000/my.bucket2/agent", false),
            ("https://my.bucket2.s3.amazonaws.com/my/my.bucket", false),
            ("http://169.254.169.254/latest/api/token", false),
            ("https://sts.amazonaws.com/?Action=AssumeRoleWithWebIdentity", false),
        ] {
            assert_eq!(link.is_for_bucket(&uri.parse().unwrap()), expected, "{uri}");
        }
    }
}
