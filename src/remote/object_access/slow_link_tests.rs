//! Tests of slow links, with a store whose requests share the speed of the link.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::path::Path;
use object_store::{ClientOptions, RetryConfig};
use tokio::time::Instant;

use super::store_link::{LinkedClient, StoreLink};
use super::{ObjectAccess, PARALLEL};

/// A store behind a slow link, whose requests share its speed.
#[derive(Debug)]
struct SlowStore {
    /// In bytes a second.
    speed: usize,
    under_way: AtomicUsize,
    requests: AtomicUsize,
    written: Mutex<BTreeSet<String>>,
}

/// Makes clients of a slow store.
#[derive(Debug)]
struct SlowConnector {
    store: Arc<SlowStore>,
    link: Arc<StoreLink>,
}

#[derive(Debug)]
struct SlowClient(Arc<SlowStore>);

impl HttpConnector for SlowConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = HttpClient::new(SlowClient(Arc::clone(&self.store)));
        Ok(LinkedClient::connect(client, &self.link))
    }
}

/// A request that is under way, until it is dropped.
struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl HttpService for SlowClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let store = &self.0;
        store.requests.fetch_add(1, Ordering::Relaxed);
        store.under_way.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay(&store.under_way);
        let mut left = request.body().content_length();
        while left > 0 || store.speed == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            left = left.saturating_sub(store.speed / under_way.0.load(Ordering::Relaxed));
        }
        store.written.lock().unwrap().insert(request.uri().path().to_owned());
        let mut response = HttpResponse::new(HttpResponseBody::from(Bytes::new()));
        response.headers_mut().insert("etag", http::HeaderValue::from_static("\"1\""));
        Ok(response)
    }
}

/// Returns a recording in a store behind a link of this speed.
fn behind_link(speed: usize) -> (ObjectAccess, Arc<SlowStore>) {
    let (under_way, requests) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let written = Mutex::default();
    let store = Arc::new(SlowStore { speed, under_way, requests, written });
    let link = StoreLink::new("bucket");
    let connector = SlowConnector { store: Arc::clone(&store), link: Arc::clone(&link) };
    let client = AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_region("us-east-1")
        .with_access_key_id("key")
        .with_secret_access_key("secret")
        .with_retry(RetryConfig::default())
        .with_http_connector(connector)
        .build()
        .unwrap();
    let access = ObjectAccess::in_store(Arc::new(client));
    (ObjectAccess { link, ..access }, store)
}

/// Creates `count` objects of 600 KB at the same time. Returns the first error.
async fn create(access: &ObjectAccess, count: usize) -> Option<String> {
    let creations = (0..count).map(|number| async move {
        let path = Path::from(format!("agent/objects/{number}"));
        access.create_object(&path, vec![b'x'; 600_000]).await
    });
    let created = futures_util::stream::iter(creations).buffer_unordered(PARALLEL);
    created.try_for_each(|_| async { Ok(()) }).await.err().map(|error| error.chain())
}

#[tokio::test(start_paused = true)]
async fn objects_arrive_over_slow_links_and_fewer_at_a_time_over_slower_ones() {
    for (speed, requests) in [(150_000, 32), (50_000, 80), (15_000, 100)] {
        let (access, store) = behind_link(speed);
        let began = Instant::now();
        assert_eq!(create(&access, 32).await, None, "{speed}");
        assert_eq!(store.written.lock().unwrap().len(), 32);
        let sent = store.requests.load(Ordering::Relaxed);
        assert!(sent <= requests, "{sent} requests at {speed} bytes a second");
        assert!(began.elapsed() < Duration::from_secs(4 * 19_200_000 / speed as u64));
    }
}

#[tokio::test(start_paused = true)]
async fn store_that_never_answers_is_given_up() {
    let (access, store) = behind_link(0);
    let began = Instant::now();
    let error = create(&access, 1).await.unwrap();
    assert!(error.contains("nothing arrived for 322 s"), "{error}");
    assert_eq!(began.elapsed().as_secs(), 322);
    assert_eq!(store.requests.load(Ordering::Relaxed), 1);
    assert!(create(&access, 32).await.is_some());
    assert_eq!(began.elapsed().as_secs(), 4 * 322);
}
