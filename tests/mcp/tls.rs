//! The client over HTTPS. The certificate of the server is signed by a certificate authority of the test.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use portway::mcp::{Client, Era, Error};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use crate::http_site::{Recorded, modern, result};
use crate::remote::{Test, options};
use crate::wire::TEST_TIMEOUT;

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            if let Ok((stream, address)) = self.listener.accept().await
                && let Ok(stream) = self.acceptor.accept(stream).await
            {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Starts a server of the modern era for `localhost`. Returns its port, and the certificate of its authority in PEM.
async fn serve() -> Result<(u16, String), Box<dyn std::error::Error>> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(["localhost".to_owned()])?.signed_by(&key, &issuer)?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der())?)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let router = axum::Router::new().fallback(|request: Request<Body>| async {
        let (head, body) = request.into_parts();
        let message = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap_or_default()).unwrap_or_default();
        let request = Recorded { method: head.method, headers: head.headers, message };
        modern(&request).unwrap_or_else(|| result(&request, &json!({ "text": "x".repeat(100_000) })))
    });
    tokio::spawn(async move { axum::serve(TlsListener { listener, acceptor }, router).await });
    Ok((port, pem))
}

#[tokio::test]
async fn only_a_certificate_of_a_trusted_authority_for_the_host_is_accepted() -> Test {
    let (port, pem) = serve().await?;
    let url = format!("https://localhost:{port}/mcp?key=secret");
    let trusting = || options().root_certificates(pem.clone());
    let client = timeout(TEST_TIMEOUT, Client::connect_http(&url, trusting())).await??;
    assert_eq!(client.era(), Era::Modern);
    let calls: Vec<_> = (0..8).map(|_| tokio::spawn(client.call::<Value>("tools/call", &()).into_future())).collect();
    for call in calls {
        assert_eq!(call.await??["text"].as_str().map(str::len), Some(100_000));
    }
    let other_host = format!("https://127.0.0.1:{port}/mcp?key=secret");
    for (url, options) in [(&url, options()), (&other_host, trusting())] {
        let error = timeout(TEST_TIMEOUT, Client::connect_http(url, options)).await?.err();
        let problem = error.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(matches!(error, Some(Error::Http { status: None, .. })), "{problem}");
        assert!(problem.contains("certificate") && !problem.contains("secret"), "{problem}");
    }
    let error = Client::connect_http(&url, options().root_certificates("no PEM")).await.err();
    assert!(matches!(error, Some(Error::Start(_))), "{error:?}");
    Ok(())
}
