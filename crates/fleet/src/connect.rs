//! How requests of the object store's client go out: over our own client of HTTP, and in the clear only where nobody listens.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Uri;
use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use taskwright_https::Client;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Where clouds answer their own machines, by a name.
const METADATA: &str = "metadata.google.internal";

/// Makes the client.
#[derive(Debug)]
pub struct Connector;

struct Service {
    client: Client<HttpRequestBody>,
    /// Whether the environment allows plain HTTP to everywhere.
    plain: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = taskwright_https::client(CONNECT).map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: error.to_string().into(),
        })?;
        let plain =
            options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        Ok(HttpClient::new(Service { client, plain }))
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Service")
    }
}

impl HttpService for Service {
    // As `async_trait` has it.
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            if !self.plain && !is_private(request.uri()) {
                let what = "credentials are not sent over plain HTTP; `AWS_ALLOW_HTTP=true` allows it";
                return Err(HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(what)));
            }
            let answer = self.client.request(request).await.map_err(|error| {
                let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
                HttpError::new(kind, error)
            })?;
            let (head, body) = answer.into_parts();
            let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
            Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
        })
    }
}

/// Whether what is sent there reaches nobody else: by TLS, or because it does not leave the machine or its host.
fn is_private(uri: &Uri) -> bool {
    if uri.scheme_str() == Some("https") {
        return true;
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_near = |address: IpAddr| match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback(),
    };
    host == "localhost" || host == METADATA || host.parse().is_ok_and(is_near)
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn what_is_secret_goes_out_encrypted() {
        for (uri, private) in [
            ("https://s3.example.com/b", true),
            ("http://s3.example.com/b", false),
            ("http://127.0.0.1:9000/b", true),
            ("http://[::1]:9000/b", true),
            ("http://localhost:9000/b", true),
            ("http://localhost.example.com/b", false),
            ("http://169.254.169.254/latest", true),
            ("http://10.0.0.1/b", false),
        ] {
            assert_eq!(is_private(&uri.parse().unwrap()), private, "{uri}");
        }
    }
}
