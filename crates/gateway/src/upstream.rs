//! The upstream: where it is, and what opens it.

use std::env;
use std::fmt;

use hyper::Uri;
use hyper::header::HeaderValue;
use taskwright_base::{Error, Result};

use crate::wire::Dialect;

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

    /// A path below the upstream's root, as a dialect has it; none if that is none.
    pub(crate) fn uri(&self, dialect: Dialect, path: &str, query: Option<&str>) -> Option<Uri> {
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
}
