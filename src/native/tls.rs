//! TLS for `wss://` and `https://`, by rustls.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Returns a configuration that trusts the certificates of the system and the certificates in `pems`.
///
/// # Errors
/// If a certificate is invalid, a text in `pems` has no certificate, or no certificate is available.
pub(super) fn config(pems: &[Vec<u8>]) -> io::Result<Arc<ClientConfig>> {
    let invalid = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
    let mut roots = RootCertStore::empty();
    // Like other programs, this function ignores the certificates of the system that cannot be parsed.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for pem in pems {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate =
                certificate.map_err(|error| invalid(format!("a root certificate is invalid: {error}")))?;
            roots.add(certificate).map_err(|error| invalid(format!("a root certificate is invalid: {error}")))?;
        }
        if roots.len() == before {
            return Err(invalid("root certificates must be in PEM, found none".into()));
        }
    }
    if roots.is_empty() {
        return Err(invalid("the system has no root certificates; add them with root_certificates".into()));
    }
    // The provider is named explicitly, because rustls has no default provider if a program contains several providers.
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// Begins TLS with a server of this name.
pub(super) async fn connect(
    config: Arc<ClientConfig>,
    host: &str,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the host must be a DNS name or an IP address"))?;
    TlsConnector::from(config).connect(name, stream).await
}
