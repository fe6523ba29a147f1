//! TLS in front of a scripted upstream, under a certificate that only these tests trust.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// For localhost and 127.0.0.1, for a hundred years.
const CERTIFICATE: &str = "\
    MIIBnjCCAUSgAwIBAgIUIWmV1G+ddE9Q/hQ4WA4JaCxlHD0wCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwMbG9vbXJlYy\
    B0ZXN0MCAXDTI2MTEyMzAzMDQ0MFoYDzIxMjYxMDMwMDMwNDQwWjAXMRUwEwYDVQQDDAxsb29tcmVjIHRlc3QwWTAT\
    BgcqhkjOPQIBBggqhkjOPQMBBwNCAAQKfBFtTuDSi6nn7qOBQA4AT9fccVVicjnQ3KDz3hYMuUbpfxsRp4T/uwn+BQ\
    fgA8NhiplKXezPdvjfuejtkJ/0o2wwajAdBgNVHQ4EFgQUD2+WeC8xizScua1Xia6xcC4zp9owHwYDVR0jBBgwFoAU\
    D2+WeC8xizScua1Xia6xcC4zp9owGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAwGA1UdEwEB/wQCMAAwCgYIKo\
    ZIzj0EAwIDSAAwRQIgSddQ/35hJ+2iXGCAZoIo3Hbkt4MDY4wbFALB/Vo2irMCIQDqEWT21zEeIL4iCQajb0neNb26\
    jx5q7IGLI3nZ/t4i1g==\
";

/// Its key: of no use to anybody else.
const KEY: &str = "\
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEjeS/ju7raDCP1TgIC9ONFndPE1loJtleGkQY0Nh58\
    WhRANCAAQKfBFtTuDSi6nn7qOBQA4AT9fccVVicjnQ3KDz3hYMuUbpfxsRp4T/uwn+BQfgA8NhiplKXezPdvjfuejt\
    kJ/0\
";

/// A listener that hands each request on in the clear, and the answer back until it is over.
pub(crate) struct TlsFront {
    address: SocketAddr,
}

impl TlsFront {
    /// TLS in front of `upstream`, the answers of which must close their connections.
    pub(crate) fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let config = Arc::new(config());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                std::thread::spawn(move || {
                    // What is wrong here is seen at the other end.
                    let _ = exchange(stream, upstream, config);
                });
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

/// Writes the certificate into a folder, for `SSL_CERT_FILE`.
pub(crate) fn write_certificate(folder: &Path) -> PathBuf {
    let path = folder.join("trusted.pem");
    let body = CERTIFICATE.trim();
    let text = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    std::fs::write(&path, text).unwrap();
    path
}

fn config() -> ServerConfig {
    let der = |text: &str| STANDARD.decode(text.trim()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der(KEY)));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(der(CERTIFICATE))], key)
        .unwrap()
}

fn exchange(
    stream: TcpStream,
    upstream: SocketAddr,
    config: Arc<ServerConfig>,
) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut outer = StreamOwned::new(connection, stream);
    let request = request(&mut outer)?;
    let mut inner = TcpStream::connect(upstream)?;
    inner.write_all(&request)?;
    std::io::copy(&mut inner, &mut outer)?;
    outer.conn.send_close_notify();
    outer.flush()?;
    outer.sock.shutdown(Shutdown::Write)
}

/// All of a request, which announces its length.
fn request(stream: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let Some(end) = text.find("\r\n\r\n") else {
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let length = text[..end].split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length || read == 0 {
            return Ok(bytes);
        }
    }
}
