//! The HTTP server of the inspector. It listens on 127.0.0.1 only, and serves only requests with its token.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::files::OpenedFile;
use super::history::History;
use super::page::Page;
use crate::accept::RETRY_INTERVAL;
use crate::limits::{INSPECTOR_HEAD_BYTES, INSPECTOR_HEAD_TIMEOUT, MAX_INSPECTOR_CONNECTIONS, MAX_INSPECTOR_PAGES};
use crate::output::Failure;
use crate::program::UNREACHABLE;

/// The number of random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// The policy of the page, one directive a line. `www/serve.mjs` reads the same file.
const POLICY: &str = include_str!("policy.txt");

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The content of the server.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) page: Page,
    pub(super) files: Vec<OpenedFile>,
    pub(super) history: Arc<History>,
    /// The name of the command that the page shows: `portway tap` or `portway inspect`.
    pub(super) command: &'static str,
}

/// A listening server.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    site: Site,
    token: String,
    port: u16,
    policy: HeaderValue,
    /// The permits of pages that read records.
    readers: Arc<Semaphore>,
    silent: Silent,
}

/// The connections without a complete request, in the order in which they were accepted.
#[derive(Debug, Default)]
struct Silent(Mutex<BTreeMap<u64, Arc<Notify>>>);

impl Silent {
    /// Closes the oldest connection without a complete request, to make room for another one.
    fn close_oldest(&self) {
        if let Some((_, closed)) = self.lock().pop_first() {
            closed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Listens on a port of 127.0.0.1. With port 0, the system selects a free port.
    pub(super) async fn listen(port: u16, site: Site) -> Result<Self, Failure> {
        let failure =
            |error: io::Error| Failure::new(UNREACHABLE, format!("cannot listen on 127.0.0.1:{port}: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failure)?;
        let port = listener.local_addr().map_err(failure)?.port();
        let policy = POLICY.lines().collect::<Vec<_>>().join("; ");
        let policy = HeaderValue::from_str(&policy).map_err(|error| failure(io::Error::other(error)))?;
        let readers = Arc::new(Semaphore::new(MAX_INSPECTOR_PAGES));
        let token = token().map_err(failure)?;
        Ok(Self {
            listener,
            shared: Arc::new(Shared { site, token, port, policy, readers, silent: Silent::default() }),
        })
    }

    /// Returns the address with the token.
    pub(super) fn address(&self) -> String {
        let Shared { token, port, .. } = &*self.shared;
        format!("http://127.0.0.1:{port}/{token}/")
    }

    /// Serves until `stop` is set, and then until all responses are complete.
    pub(super) async fn serve(self, mut stop: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(MAX_INSPECTOR_CONNECTIONS));
        let mut connections = JoinSet::new();
        let accepting = async {
            for number in 0.. {
                match self.listener.accept().await {
                    Ok((stream, _)) => {
                        if permits.available_permits() == 0 {
                            self.shared.silent.close_oldest();
                        }
                        // The semaphore is never closed.
                        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
                        connections.spawn(Arc::clone(&self.shared).serve(number, stream, permit));
                        // Finished connections are removed.
                        while connections.try_join_next().is_some() {}
                    }
                    // Most errors concern only one connection, so the server continues.
                    Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
                }
            }
        };
        tokio::select! {
            () = accepting => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        drop(self.listener);
        while connections.join_next().await.is_some() {}
    }
}

impl Shared {
    async fn serve(self: Arc<Self>, number: u64, stream: TcpStream, permit: OwnedSemaphorePermit) {
        let closed = Arc::new(Notify::new());
        self.silent.lock().insert(number, Arc::clone(&closed));
        let service = service_fn(|request| {
            self.silent.lock().remove(&number);
            let response = self.answer(&request);
            async { Ok::<_, Infallible>(response) }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.keep_alive(false).max_buf_size(INSPECTOR_HEAD_BYTES);
        http.timer(TokioTimer::new()).header_read_timeout(INSPECTOR_HEAD_TIMEOUT);
        // An error concerns only this connection.
        tokio::select! {
            _ = http.serve_connection(TokioIo::new(stream), service) => {}
            () = closed.notified() => {}
        }
        self.silent.lock().remove(&number);
        drop(permit);
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let mut response = self.respond(request);
        let headers = response.headers_mut();
        for (name, value) in [
            // The responses have messages of programs, which must not stay in a cache.
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // The address has the token, which other sites must not receive.
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        response
    }

    fn respond(&self, request: &Request<Incoming>) -> Response<Body> {
        let headers = request.headers();
        if !self.is_own_host(request) {
            return refuse(StatusCode::FORBIDDEN, "Host must be the host and the port of the printed address");
        }
        let path = match self.path_after_token(request.uri().path()) {
            _ if !self.has_own_origin(headers) => {
                return refuse(StatusCode::FORBIDDEN, "Origin must be the origin of the printed address");
            }
            None => return refuse(StatusCode::FORBIDDEN, "the address must have the token of the printed address"),
            Some(path) => path,
        };
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "the method must be GET or HEAD");
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let Some(path) = path.strip_prefix('/') else {
            // The paths in the page are relative, so its address must end with a slash.
            let mut response = refuse(StatusCode::PERMANENT_REDIRECT, "the address must end with /");
            if let Ok(location) = HeaderValue::from_str(&format!("/{}/", self.token)) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            return response;
        };
        if path == "records" {
            return self.records(request.method());
        }
        let found = match path {
            "session.json" => Some((self.session(), "application/json; charset=utf-8")),
            _ => self.opened_file(path).or_else(|| self.site.page.file(path)),
        };
        found.map_or_else(
            || refuse(StatusCode::NOT_FOUND, "the inspector does not have this file"),
            |(bytes, content_type)| full(StatusCode::OK, content_type, bytes),
        )
    }

    /// Returns whether `Host` is the IP address and the port of this server. Names are refused, because the name of
    /// another site may resolve to 127.0.0.1. `localhost` may resolve to [::1], where another program could listen and
    /// receive the token.
    fn is_own_host(&self, request: &Request<Incoming>) -> bool {
        let Some(host) = single(request.headers(), &header::HOST).filter(|host| *host == self.host()) else {
            return false;
        };
        // A request may also name the host in its target, as requests to proxies do. Both hosts must be equal.
        request.uri().authority().is_none_or(|authority| authority.as_str() == host)
    }

    /// Returns whether the request has no `Origin`, or the origin of this server.
    fn has_own_origin(&self, headers: &HeaderMap) -> bool {
        !headers.contains_key(header::ORIGIN)
            || single(headers, &header::ORIGIN).and_then(|origin| origin.strip_prefix("http://")) == Some(&*self.host())
    }

    /// Returns the only accepted `Host`.
    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the part of the path after the token, or `None` if the token is missing or wrong.
    fn path_after_token<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (token, rest) = path.strip_prefix('/')?.split_at_checked(self.token.len())?;
        // The time of this comparison does not depend on the position of a difference.
        let difference = token.bytes().zip(self.token.bytes()).fold(0, |all, (left, right)| all | (left ^ right));
        (difference == 0 && (rest.is_empty() || rest.starts_with('/'))).then_some(rest)
    }

    /// Returns the facts that the page reads at its start.
    fn session(&self) -> Bytes {
        let Site { command, files, .. } = &self.site;
        let names: Vec<&str> = files.iter().map(|file| &*file.name).collect();
        json!({ "command": command, "files": names }).to_string().into()
    }

    /// Returns a file of `--open`. Its path is `files/` and the index of the file.
    fn opened_file(&self, path: &str) -> Option<(Bytes, &'static str)> {
        let index: usize = path.strip_prefix("files/")?.parse().ok()?;
        Some((self.site.files.get(index)?.text.clone(), "text/plain; charset=utf-8"))
    }

    /// Returns the records, one JSON object a line. The response ends when the command ends.
    fn records(&self, method: &Method) -> Response<Body> {
        let content_type = "application/jsonl; charset=utf-8";
        if method == Method::HEAD {
            return full(StatusCode::OK, content_type, Bytes::new());
        }
        let Ok(permit) = Arc::clone(&self.readers).try_acquire_owned() else {
            let reason = format!("at most {MAX_INSPECTOR_PAGES} pages can read the records; close another page first");
            return refuse(StatusCode::SERVICE_UNAVAILABLE, &reason);
        };
        let reader = self.site.history.reader();
        let lines = stream::unfold((reader, permit), |(mut reader, permit)| async move {
            let lines = reader.next().await?;
            Some((Ok::<_, Infallible>(Frame::data(lines)), (reader, permit)))
        });
        with_body(StatusCode::OK, content_type, StreamBody::new(lines).boxed_unsync())
    }
}

/// Returns the only value of a header.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn refuse(status: StatusCode, reason: &str) -> Response<Body> {
    full(status, "text/plain; charset=utf-8", format!("{reason}\n").into())
}

fn full(status: StatusCode, content_type: &'static str, bytes: Bytes) -> Response<Body> {
    with_body(status, content_type, Full::new(bytes).boxed_unsync())
}

fn with_body(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns a new random token of 128 bits, in hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let mut token = String::new();
    for byte in bytes {
        write!(token, "{byte:02x}").map_err(io::Error::other)?;
    }
    Ok(token)
}
