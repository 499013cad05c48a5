//! The client of HTTP that goes out to other machines: which certificates it trusts, and how long it keeps a connection.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

use std::env;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use taskwright_base::{Error, Result};

pub use hyper_util::client::legacy::Error as ClientError;

/// How long a connection that nobody uses is kept.
const KEPT: Duration = Duration::from_secs(30);
/// How many of them.
const MOST_KEPT: usize = 256;

/// A client that keeps its connections.
pub type Client<B> = legacy::Client<HttpsConnector<HttpConnector>, B>;

/// A client that waits so long for a connection. It follows no redirection.
///
/// # Errors
/// The certificates that `SSL_CERT_FILE` names cannot be read.
pub fn client<B>(connect: Duration) -> Result<Client<B>>
where
    B: Body + Send,
    B::Data: Send,
{
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls(env::var_os("SSL_CERT_FILE").as_deref().map(Path::new))?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEPT)
        .pool_max_idle_per_host(MOST_KEPT)
        .build(https))
}

/// Which certificates are trusted: those that everybody has, carried along, and those of a file.
fn tls(file: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = file {
        let wrong = |what: &dyn fmt::Display| {
            Error::new(format!("reading the certificates of `SSL_CERT_FILE`, `{}`: {what}", file.display()))
        };
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))? {
            // A system's file may hold some that are not understood.
            let _ = roots.add(certificate.map_err(|error| wrong(&error))?);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(format!("preparing TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_of_a_file_are_added_and_a_wrong_file_is_an_error() {
        assert!(tls(None).is_ok());
        assert!(tls(Some(Path::new("/nowhere"))).unwrap_err().to_string().contains("SSL_CERT_FILE"));
    }
}
