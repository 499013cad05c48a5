//! Where a store is: in S3, GCS, Azure, or a folder. Credentials come from the environment, by the names that each provider has.

use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, Result, RetryConfig};

use crate::connect::Connector;

/// A store, and the folder in it that is ours.
pub type Place = (Arc<dyn ObjectStore>, Path);

/// The place that `taskwright.toml` names: a folder starts from the root.
pub fn open(named: &str, root: &Utf8Path) -> Result<Place> {
    let Some((scheme, rest)) = named.split_once("://") else {
        let folder = root.join(named);
        return Ok((Arc::new(LocalFileSystem::new_with_prefix(folder)?), Path::default()));
    };
    let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
    let folder = Path::parse(folder.trim_matches('/'))?;
    let store: Arc<dyn ObjectStore> = match scheme {
        "gs" => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .with_http_connector(Connector)
                .build()?,
        ),
        "az" => Arc::new(
            MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_retry(retry())
                .with_http_connector(Connector)
                .build()?,
        ),
        _ => Arc::new(
            AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .with_http_connector(Connector)
                .build()?,
        ),
    };
    Ok((store, folder))
}

/// A server that stumbles once is asked once more; a build does not wait for one that is down.
fn retry() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: 2, retry_timeout: Duration::from_secs(5) }
}
