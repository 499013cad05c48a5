//! The upstream: where it is, what opens it, and how a request is sent there.

use std::env;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use taskwright_base::{Error, Result};

use crate::body::Whole;
use crate::config::{Patience, seconds};
use crate::request::headers::credential;
use crate::wire::Dialect;
use crate::wire::refusal::{Kind, Refusal};

/// How long a connection that nobody uses is kept.
const KEPT: Duration = Duration::from_secs(30);
/// How many of them.
const MOST_KEPT: usize = 256;

/// The upstream's key. Nothing prints it.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// From its text.
    ///
    /// # Errors
    /// It is empty, or cannot stand in a header.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() || HeaderValue::from_str(text).is_err() {
            return Err(Error::new("the upstream's key is empty, or has a character that no key has"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text, for whoever makes sure that it goes nowhere else.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

/// Where the upstream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Scheme and authority.
    origin: String,
    /// What stands before OpenAI's paths.
    openai: String,
    /// What stands before the paths of the others, which name their version themselves.
    root: String,
}

impl Address {
    /// From a base URL, as the clients of any dialect have it: with `/v1` at its end or without.
    ///
    /// # Errors
    /// It is none.
    pub fn new(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::new(format!("the upstream's address is not one: {why}"))
                .hint("write it like `https://api.openai.com/v1`")
        };
        let uri: Uri = text.trim().parse().map_err(|_| wrong("it cannot be read"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong("it needs a scheme and a host"));
        };
        if !["http", "https"].contains(&scheme) {
            return Err(wrong("it is neither http nor https"));
        }
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(wrong("it holds more than a scheme, a host and a path"));
        }
        let path = uri.path().trim_end_matches('/');
        let root = path.strip_suffix("/v1").or_else(|| path.strip_suffix("/v1beta")).unwrap_or(path);
        // As OpenAI's clients have it, the path is complete; only where there is none, it is that of everybody.
        let openai = if path == root && path.is_empty() || path.ends_with("/v1beta") {
            format!("{root}/v1")
        } else {
            path.to_owned()
        };
        Ok(Self { origin: format!("{scheme}://{authority}"), openai, root: root.to_owned() })
    }

    fn uri(&self, dialect: Dialect, path: &str, query: Option<&str>) -> Option<Uri> {
        let Self { origin, openai, root } = self;
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        match dialect {
            Dialect::OpenAi => format!("{origin}{openai}/{path}{query}"),
            Dialect::Anthropic => format!("{origin}{root}/v1/{path}{query}"),
            Dialect::Gemini => format!("{origin}{root}/v1beta/{path}{query}"),
        }
        .parse()
        .ok()
    }
}

/// Where the upstream is, and what opens it.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Where it is.
    pub address: Address,
    /// What opens it.
    pub key: Key,
}

impl Upstream {
    /// From two variables of the environment.
    ///
    /// # Errors
    /// One is missing, or does not hold what it should.
    pub fn from_env(address: &str, key: &str) -> Result<Self> {
        let value = |name: &str| {
            env::var(name).map_err(|_| {
                Error::new(format!("the variable `{name}` is not set"))
                    .hint("set it where the gateway is started: it is read nowhere else")
            })
        };
        Ok(Self {
            address: Address::new(&value(address)?).map_err(|error| error.within(format!("`{address}`")))?,
            key: Key::new(&value(key)?).map_err(|error| error.within(format!("`{key}`")))?,
        })
    }
}

/// A client of the upstream, which keeps its connections.
pub struct Sender {
    upstream: Upstream,
    client: Client<HttpsConnector<HttpConnector>, Whole>,
    patience: Duration,
}

/// What is sent to the upstream.
pub struct Outgoing<'a> {
    /// In whose words.
    pub dialect: Dialect,
    /// How.
    pub method: Method,
    /// To which path, below the upstream's root.
    pub path: &'a str,
    /// With which query.
    pub query: Option<&'a str>,
    /// With which headers, but those that say who we are.
    pub headers: HeaderMap,
    /// With which body.
    pub body: Whole,
}

impl Sender {
    /// A client of an upstream.
    ///
    /// # Errors
    /// The certificates that `SSL_CERT_FILE` names cannot be read.
    pub fn new(upstream: Upstream, patience: &Patience) -> Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(seconds(patience.connect)));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(env::var_os("SSL_CERT_FILE").as_deref().map(Path::new))?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .pool_max_idle_per_host(MOST_KEPT)
            .build(https);
        Ok(Self { upstream, client, patience: seconds(patience.answer) })
    }

    /// The key, for whoever looks that it does not pass.
    pub fn secret(&self) -> &str {
        self.upstream.key.reveal()
    }

    /// Sends a request and waits for the answer to begin. What cannot be passed on is a refusal.
    pub async fn send(&self, outgoing: Outgoing<'_>) -> Result<Response<Incoming>, Refusal> {
        let Outgoing { dialect, method, path, query, headers, body } = outgoing;
        let failed = |message: &str| Refusal::new(Kind::Upstream, message);
        let uri = self.upstream.address.uri(dialect, path, query);
        let uri = uri.ok_or_else(|| Refusal::new(Kind::Bad, "the path or its query is not understood"))?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let (name, before) = credential(dialect);
        let mut key = HeaderValue::try_from(format!("{before}{}", self.secret()))
            .map_err(|_| failed("the gateway's own key cannot be sent"))?;
        key.set_sensitive(true);
        request.headers_mut().insert(name, key);
        let answer = tokio::time::timeout(self.patience, self.client.request(request)).await;
        let answer = answer
            .map_err(|_| Refusal::new(Kind::UpstreamSlow, "the upstream did not answer in time"))?
            .map_err(|error| {
                let what = if error.is_connect() { "cannot be reached" } else { "broke off" };
                failed(&format!("the upstream {what}"))
            })?;
        if answer.status().is_redirection() {
            return Err(failed("the upstream points to another place, which is not followed"));
        }
        if answer.status() == hyper::StatusCode::UNAUTHORIZED {
            let message =
                "the upstream does not accept the gateway's own key: whoever runs it must set another";
            return Err(Refusal::new(Kind::UpstreamKey, message));
        }
        let encoding = answer.headers().get(hyper::header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(failed("the upstream answers in an encoding that was not asked for"));
        }
        Ok(answer)
    }
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
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn a_base_url_serves_every_dialect() {
        for (base, openai, anthropic) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/x", "https://api.openai.com/v1/x"),
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/x", "https://api.anthropic.com/v1/x"),
            ("http://proxy:4000/", "http://proxy:4000/v1/x", "http://proxy:4000/v1/x"),
            ("http://h/a/b/v1/", "http://h/a/b/v1/x", "http://h/a/b/v1/x"),
            ("https://h/v1beta/openai/", "https://h/v1beta/openai/x", "https://h/v1beta/openai/v1/x"),
            ("https://h/api/paas/v4", "https://h/api/paas/v4/x", "https://h/api/paas/v4/v1/x"),
            ("https://h/v1beta", "https://h/v1/x", "https://h/v1/x"),
        ] {
            let address = Address::new(base).unwrap();
            let uri = |dialect| address.uri(dialect, "x", None).unwrap().to_string();
            assert_eq!(
                (uri(Dialect::OpenAi).as_str(), uri(Dialect::Anthropic).as_str()),
                (openai, anthropic)
            );
        }
        let gemini =
            Address::new("https://h/v1").unwrap().uri(Dialect::Gemini, "models/m:x", Some("alt=sse"));
        assert_eq!(gemini.unwrap(), "https://h/v1beta/models/m:x?alt=sse");
        for wrong in ["", "h", "ftp://h/", "https://user:pass@h/", "https://h/?key=x", "/v1"] {
            assert!(Address::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_not_printed() {
        let upstream =
            Upstream { address: Address::new("http://h").unwrap(), key: Key::new(" secret\n").unwrap() };
        assert!(!format!("{upstream:?}").contains("secret"));
        assert_eq!(upstream.key.reveal(), "secret");
        assert!(Key::new(" ").is_err() && Key::new("a\nb").is_err());
    }

    #[test]
    fn certificates_of_a_file_are_added_and_a_wrong_file_is_an_error() {
        assert!(tls(None).is_ok());
        assert!(tls(Some(Path::new("/nowhere"))).unwrap_err().to_string().contains("SSL_CERT_FILE"));
    }
}
