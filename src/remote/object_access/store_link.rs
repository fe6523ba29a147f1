//! The way to a store: what its answers show of its clock.

use std::sync::Arc;

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};

use crate::store_clock::{StoreClock, machine_time};

/// The way to the store of a bucket.
#[derive(Debug)]
pub(crate) struct StoreLink {
    bucket: String,
    /// The store's clock.
    pub(crate) clock: StoreClock,
}

impl StoreLink {
    pub(super) fn new(bucket: &str) -> Arc<Self> {
        Arc::new(Self { bucket: bucket.to_owned(), clock: StoreClock::default() })
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
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(LinkedClient { client, link: Arc::clone(&self.0) }))
    }
}

/// A client that sends its requests over a link.
#[derive(Debug)]
struct LinkedClient {
    client: HttpClient,
    link: Arc<StoreLink>,
}

#[async_trait]
impl HttpService for LinkedClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_for_bucket = self.link.is_for_bucket(request.uri());
        let sent = machine_time();
        let response = self.client.execute(request).await?;
        let date = response.headers().get(http::header::DATE);
        if let Some(date) = date.filter(|_| is_for_bucket).and_then(|date| date.to_str().ok()) {
            self.link.clock.note_answer(sent, machine_time(), date);
        }
        Ok(response)
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
