//! The tasks of the benchmark with Portway.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use ::portway::codec::content_length::Decoder;
use ::portway::codec::frame::Event;
use ::portway::codec::json;
use ::portway::profile::Profile;
use ::portway::{Client, Context, Framing, Limits, Listener, RpcError, Transport};
use anyhow::{Context as _, Result, bail};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

use super::Echo;
use crate::decode::CHUNK;

pub(crate) fn decode(stream: &[u8]) -> Result<usize> {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut count = 0;
    for mut chunk in stream.chunks(CHUNK) {
        while let Some(event) = decoder.next(&mut chunk) {
            let Event::Body(body) = event else { bail!("the stream must contain only messages, got {event:?}") };
            black_box(json::decode(body, &Profile::GENERIC, &Limits::DEFAULT));
            count += 1;
        }
    }
    Ok(count)
}

pub(crate) fn serve(socket: &Path) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = Listener::unix(socket, Framing::ContentLength).await?;
        listener
            .serve(|peer| {
                peer.method("echo", |params: Echo, _: Context| async move { Ok::<_, RpcError>(params) });
            })
            .await
    })?;
    Ok(())
}

pub(crate) fn call(socket: &Path, count: usize, depth: usize) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let client = Client::new(Transport::unix(socket, Framing::ContentLength).await?);
        let permits = Arc::new(Semaphore::new(depth));
        let mut calls = Vec::with_capacity(count);
        for number in 0..count as u64 {
            let permit = Arc::clone(&permits).acquire_owned().await?;
            let call = client.call::<Echo>("echo", &Echo::new(number)).start();
            calls.push(tokio::spawn(async move {
                let echo = call.await;
                drop(permit);
                echo
            }));
        }
        for (number, call) in calls.into_iter().enumerate() {
            let echo = call.await?.context("no answer")?;
            if echo.number != number as u64 {
                bail!("the result must have the number {number}, got {echo:?}");
            }
        }
        Ok(())
    })
}
