//! The value of `--listen`.

use std::net::{Ipv4Addr, SocketAddr};

/// Reads an address with a port, or only a port, which is one of this machine.
///
/// # Errors
/// A text that is neither.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if port.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(port) = port.parse::<u16>()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        "give an IP address and a port, such as 127.0.0.1:4141, or only the port of this machine"
            .to_owned()
    })
}

/// Reads an address that only this machine can reach.
///
/// # Errors
/// A text that is no address, or another one.
pub(super) fn loopback_address(text: &str) -> Result<SocketAddr, String> {
    let address = listen_address(text)?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("other machines could reach it: give a port, or an address of this machine \
                      such as 127.0.0.1:8080"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_alone_is_one_of_this_machine() {
        let read = |text| listen_address(text).map(|address| address.to_string()).ok();
        for (text, address) in [
            ("4141", "127.0.0.1:4141"),
            ("0", "127.0.0.1:0"),
            ("localhost:80", "127.0.0.1:80"),
            ("0.0.0.0:4141", "0.0.0.0:4141"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(read(text).as_deref(), Some(address), "{text}");
        }
        for text in ["", "+1", "65536", ":4141", "127.0.0.1", "loomrec:4141", "localhost:"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
