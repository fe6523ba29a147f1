//! The clients of the stores, made from the variables of the environment.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};

use super::store_link::{LinkConnector, StoreLink};
use crate::address::RemoteAddress;

/// A client, and what messages say of its store.
pub(super) struct StoreClient {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) endpoint: String,
    pub(super) hint: &'static str,
    pub(super) link: Arc<StoreLink>,
}

/// How long a connection may take to open.
const CONNECT_TIMEOUT: (ClientConfigKey, &str) = (ClientConfigKey::ConnectTimeout, "5s");

/// Connects to the store of a recording.
pub(super) fn connect_store(address: &RemoteAddress) -> Result<StoreClient, object_store::Error> {
    let link = StoreLink::new(address.bucket_name());
    match address.scheme() {
        "gs" => connect_google(address, link),
        "az" => connect_azure(address, link),
        _ => connect_amazon(address, link),
    }
}

fn connect_amazon(
    address: &RemoteAddress,
    link: Arc<StoreLink>,
) -> Result<StoreClient, object_store::Error> {
    let builder = AmazonS3Builder::from_env()
        .with_bucket_name(address.bucket_name())
        .with_retry(retry_config())
        .with_http_connector(LinkConnector(Arc::clone(&link)));
    let (key, value) = CONNECT_TIMEOUT;
    let builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
    let variables = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    let named = variables.into_iter().find_map(|name| std::env::var(name).ok());
    let store = Arc::new(builder.build()?);
    let endpoint = named.map_or_else(|| "Amazon S3".to_owned(), without_user);
    Ok(StoreClient { store, endpoint, hint: "AWS_ENDPOINT_URL names another address", link })
}

fn connect_google(
    address: &RemoteAddress,
    link: Arc<StoreLink>,
) -> Result<StoreClient, object_store::Error> {
    let builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(address.bucket_name())
        .with_retry(retry_config())
        .with_http_connector(LinkConnector(Arc::clone(&link)));
    let (key, value) = CONNECT_TIMEOUT;
    let builder = builder.with_config(GoogleConfigKey::Client(key), value);
    let store = Arc::new(builder.build()?);
    let hint = "check the network of this machine";
    Ok(StoreClient { store, endpoint: "Google Cloud Storage".to_owned(), hint, link })
}

fn connect_azure(
    address: &RemoteAddress,
    link: Arc<StoreLink>,
) -> Result<StoreClient, object_store::Error> {
    let builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(address.bucket_name())
        .with_retry(retry_config())
        .with_http_connector(LinkConnector(Arc::clone(&link)));
    let (key, value) = CONNECT_TIMEOUT;
    let builder = builder.with_config(AzureConfigKey::Client(key), value);
    let named = std::env::var("AZURE_STORAGE_ENDPOINT").ok().map(without_user);
    let store = Arc::new(builder.build()?);
    let endpoint = named.unwrap_or_else(|| "Azure Blob Storage".to_owned());
    Ok(StoreClient { store, endpoint, hint: "AZURE_STORAGE_ENDPOINT names another address", link })
}

/// Returns a URL without the user and the password that it may have.
fn without_user(text: String) -> String {
    match url::Url::parse(&text) {
        Ok(mut url) => {
            // A URL that cannot have a user has none.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.to_string()
        }
        Err(_) => "an address that is no URL".to_owned(),
    }
}

/// A request that fails is sent again for a short time: the user waits for it.
fn retry_config() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 4,
        retry_timeout: Duration::from_secs(20),
    }
}
