//! The tasks of the benchmark with the crate async-lsp.

use std::cell::Cell;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::async_lsp::lsp_types::request::Request;
use ::async_lsp::{AnyEvent, AnyNotification, AnyRequest, Error, ErrorCode, LspService, MainLoop, ResponseError};
use anyhow::{Result, bail};
use futures_util::io::{BufReader, sink};
use memchr::memmem;
use serde_json::Value;
use tokio::io::BufWriter;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::LocalSet;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};
use tower_service::Service;

use super::Echo;
use crate::decode::CHUNK;

/// Changes requests into notifications of the same length, by renaming the member `id`. The decoder of async-lsp runs
/// only in its main loop, which would also answer requests.
pub(crate) fn without_requests(mut stream: Vec<u8>) -> Vec<u8> {
    let positions: Vec<usize> = memmem::find_iter(&stream, br#","id":"#).collect();
    for position in positions {
        if let Some(letter) = stream.get_mut(position + 2) {
            *letter = b'x';
        }
    }
    stream
}

pub(crate) fn decode(stream: &[u8]) -> Result<usize> {
    let count = Rc::new(Cell::new(0));
    let (main_loop, _socket) = MainLoop::new_server(|_| Counting(Rc::clone(&count)));
    let result =
        Builder::new_current_thread().build()?.block_on(main_loop.run(BufReader::with_capacity(CHUNK, stream), sink()));
    match result {
        Err(Error::Eof) => Ok(count.get()),
        other => bail!("the main loop must end at the end of the stream, got {other:?}"),
    }
}

/// Serves on a socket. With `buffers`, the output is buffered. Without `buffers`, a message needs several writes.
pub(crate) fn serve(socket: &Path, buffers: bool) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = UnixListener::bind(socket)?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(serve_one(stream, buffers));
        }
    })
}

async fn serve_one(stream: UnixStream, buffers: bool) -> ::async_lsp::Result<()> {
    let (main_loop, _socket) = MainLoop::new_server(|_| EchoService);
    let (reader, writer) = stream.into_split();
    if buffers {
        main_loop.run_buffered(reader.compat(), BufWriter::new(writer).compat_write()).await
    } else {
        main_loop.run_buffered(reader.compat(), writer.compat_write()).await
    }
}

pub(crate) fn call(socket: &Path, count: usize, depth: usize) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let (reader, writer) = UnixStream::connect(socket).await?.into_split();
        let (main_loop, server) = MainLoop::new_client(|_| EchoService);
        let run = main_loop.run_buffered(reader.compat(), BufWriter::new(writer).compat_write());
        let running = tokio::task::spawn_local(run);
        let permits = Arc::new(Semaphore::new(depth));
        let mut calls = Vec::with_capacity(count);
        for number in 0..count as u64 {
            let permit = Arc::clone(&permits).acquire_owned().await?;
            let server = server.clone();
            calls.push(tokio::spawn(async move {
                let echo = server.request::<EchoRequest>(Echo::new(number)).await;
                drop(permit);
                echo
            }));
        }
        for (number, call) in calls.into_iter().enumerate() {
            let echo = call.await??;
            if echo.number != number as u64 {
                bail!("the result must have the number {number}, got {echo:?}");
            }
        }
        running.abort();
        Ok(())
    })
}

enum EchoRequest {}

impl Request for EchoRequest {
    type Params = Echo;
    type Result = Echo;
    const METHOD: &'static str = "echo";
}

struct EchoService;

impl Service<AnyRequest> for EchoService {
    type Response = Value;
    type Error = ResponseError;
    type Future = Ready<Result<Value, ResponseError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ResponseError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: AnyRequest) -> Self::Future {
        if request.method != "echo" {
            return ready(Err(ResponseError::new(ErrorCode::METHOD_NOT_FOUND, request.method)));
        }
        let echo = serde_json::from_value::<Echo>(request.params).and_then(serde_json::to_value);
        ready(echo.map_err(|problem| ResponseError::new(ErrorCode::INVALID_PARAMS, problem)))
    }
}

impl LspService for EchoService {
    fn notify(&mut self, _: AnyNotification) -> ControlFlow<::async_lsp::Result<()>> {
        ControlFlow::Continue(())
    }

    fn emit(&mut self, _: AnyEvent) -> ControlFlow<::async_lsp::Result<()>> {
        ControlFlow::Continue(())
    }
}

/// Counts the notifications of a stream.
struct Counting(Rc<Cell<usize>>);

impl Service<AnyRequest> for Counting {
    type Response = Value;
    type Error = ResponseError;
    type Future = Ready<Result<Value, ResponseError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ResponseError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: AnyRequest) -> Self::Future {
        ready(Ok(Value::Null))
    }
}

impl LspService for Counting {
    fn notify(&mut self, notification: AnyNotification) -> ControlFlow<::async_lsp::Result<()>> {
        black_box(notification);
        self.0.set(self.0.get() + 1);
        ControlFlow::Continue(())
    }

    fn emit(&mut self, _: AnyEvent) -> ControlFlow<::async_lsp::Result<()>> {
        ControlFlow::Continue(())
    }
}
