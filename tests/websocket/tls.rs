//! Connections with TLS to a server with a self-signed certificate.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use portway::{Client, Peer, Transport, WebSocketOptions, WebSocketPolicy};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::raw::{Test, register_methods, within};

/// Starts a server with TLS. Returns its address, and its certificate in PEM.
async fn serve() -> Result<(SocketAddr, String), Box<dyn std::error::Error>> {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der())?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, remote)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let transport = WebSocketPolicy::new().accept(acceptor.accept(stream).await?, address, remote).await?;
                let peer = Peer::new(transport);
                register_methods(&peer);
                peer.run().await;
                io::Result::Ok(())
            });
        }
    });
    Ok((address, signed.cert.pem()))
}

#[tokio::test]
async fn only_a_trusted_certificate_for_the_host_of_the_url_is_accepted() -> Test {
    let (address, pem) = serve().await?;
    let port = address.port();
    let options = WebSocketOptions::new().root_certificates(pem.clone());
    let client = Client::new(within(options.connect(&format!("wss://localhost:{port}/"))).await??);
    let text = "x".repeat(200_000);
    assert!(client.call::<(String,)>("echo", &(&text,)).await?.0 == text);
    let error = within(Transport::websocket(&format!("wss://localhost:{port}/"))).await?.err();
    let error = error.ok_or("a certificate without a trusted root was accepted")?.to_string();
    assert!(error.starts_with(&format!("localhost:{port}: ")) && error.contains("certificate"), "{error}");
    // The certificate is for `localhost`. The URL below has a different host, so the client must refuse the
    // certificate.
    let options = WebSocketOptions::new().root_certificates(pem);
    let error = within(options.connect(&format!("wss://127.0.0.1:{port}/"))).await?.err();
    let error = error.ok_or("a certificate for another host was accepted")?.to_string();
    assert!(error.contains("certificate"), "{error}");
    Ok(())
}

#[tokio::test]
async fn text_that_is_not_a_certificate_is_an_error() -> Test {
    let options = WebSocketOptions::new().root_certificates("no PEM");
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let error = within(options.connect(&format!("wss://{}/", listener.local_addr()?))).await?.err();
    let error = error.ok_or("the text was accepted as a certificate")?.to_string();
    assert!(error.ends_with("root certificates must be in PEM, found none"), "{error}");
    Ok(())
}
