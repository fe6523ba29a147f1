//! The URL under which clients reach the listener: given by the user, or the listener's address.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use url::Url;

use super::upstream_address::without_secrets;
use crate::args::ServeArgs;
use crate::exit::{CommandFailure, UNEXPECTED};

/// A value of `--public-url`.
#[derive(Clone, Debug)]
pub struct PublicUrl {
    /// The URL without a slash at its end.
    url: String,
    /// The name or address of its host.
    host: String,
}

impl PublicUrl {
    /// Reads the values of `--public-url` that are not empty.
    ///
    /// # Errors
    /// A text that is not a URL of a server, or that has more than a host, a port and a path.
    pub fn read_all(args: &ServeArgs) -> Result<Vec<Self>, CommandFailure> {
        let given = args.public_url.iter().filter(|text| !text.is_empty());
        given.map(|text| Self::parse(text)).collect()
    }

    /// Reads a value.
    fn parse(text: &str) -> Result<Self, CommandFailure> {
        let wrong = || {
            CommandFailure::usage(format!(
                "--public-url {}: it takes the URL under which clients reach loomrec, such as \
                 http://loomrec:4141, without a user, a query or a fragment",
                without_secrets(text)
            ))
        };
        let url = Url::parse(text).map_err(|_| wrong())?;
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|host| !host.is_empty() && is_plain);
        let host = host.filter(|_| matches!(url.scheme(), "http" | "https")).ok_or_else(wrong)?;
        let host = host.to_owned();
        Ok(Self { url: url.as_str().trim_end_matches('/').to_owned(), host })
    }

    /// Returns the URL, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Returns the name or the address of its host.
    pub fn host(&self) -> &str {
        &self.host
    }
}

/// The scheme of a listener's URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlScheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl UrlScheme {
    /// Returns the scheme as URLs have it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Returns the URL under which clients on this machine reach the listener.
///
/// # Errors
/// The system does not return the listener's address.
pub fn local_origin(listener: &TcpListener, scheme: UrlScheme) -> Result<String, CommandFailure> {
    let address = listener.local_addr().map_err(|error| {
        CommandFailure::new(UNEXPECTED, format!("failed to read the listener's address: {error}"))
    })?;
    Ok(local_url(address, scheme))
}

/// Returns the URL under which clients on this machine reach this address.
pub fn local_url(address: SocketAddr, scheme: UrlScheme) -> String {
    let scheme = scheme.as_str();
    if address.ip().is_unspecified() {
        return format!("{scheme}://{}:{}", Ipv4Addr::LOCALHOST, address.port());
    }
    format!("{scheme}://{address}")
}

/// Returns a note for a listener that other machines reach, if the printed URL is for this machine
/// only.
pub fn local_note(address: SocketAddr, public: Option<&PublicUrl>) -> Option<String> {
    (address.ip().is_unspecified() && public.is_none()).then(|| {
        "loomrec: this URL is for this machine; clients in containers or on other machines use \
         another, which --public-url URL sets"
            .to_owned()
    })
}
