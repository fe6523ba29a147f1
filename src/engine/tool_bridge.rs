//! Bridges: processes of `loomrec mcp` that make a server of tools, which speaks over stdio, reachable
//! at a socket in a folder of the run.

use std::path::PathBuf;

use http::HeaderMap;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::upstream::socket_url;

/// The header in which a bridge names its socket.
pub const BRIDGE_HEADER: &str = "x-loomrec-bridge";

/// The most characters of the name of a socket.
const LONGEST_NAME: usize = 32;

/// The folder with the sockets of a run's bridges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeFolder(PathBuf);

/// The name of a bridge's socket: letters and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeName(String);

impl BridgeFolder {
    /// Returns the folder at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the address of a bridge; `None` if the folder's path is not text.
    pub fn bridge_url(&self, bridge: &BridgeName) -> Option<Url> {
        let path = self.0.join(&bridge.0);
        let path = utf8_percent_encode(path.to_str()?, NON_ALPHANUMERIC);
        socket_url(&format!("unix://{path}"))?.ok()
    }
}

impl BridgeName {
    /// Parses a name; `None` if the text is not a valid name.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = (1..=LONGEST_NAME).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_name.then(|| Self(text.to_owned()))
    }

    /// Returns the bridge that sent a request; `None` if it is from another program.
    pub fn of_sender(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(BRIDGE_HEADER)?.to_str().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::origin_words;

    #[test]
    fn name_never_leads_out_of_the_folder() {
        for text in ["", "..", "a/b", "a.sock", "a b", "\u{e9}", &"a".repeat(33)] {
            assert_eq!(BridgeName::parse(text), None, "{text}");
        }
        let folder = BridgeFolder::new("/tmp/a folder%20/x");
        let address = folder.bridge_url(&BridgeName::parse("aB3").unwrap()).unwrap();
        assert_eq!(origin_words(&address), "unix:/tmp/a folder%20/x/aB3");
    }
}
