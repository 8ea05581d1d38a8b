//! The server of Portway.

use ::portway::{CallError, Context, Listener, RpcError, WebSocketPolicy};
use anyhow::{Context as _, Result};

use super::{ADDRESS, Echo, Flood, MAX_CONNECTIONS, print_port};

/// The number of notifications after which the handler lets the link write.
const BURST: u64 = 512;

pub(crate) async fn serve() -> Result<()> {
    let max = MAX_CONNECTIONS as usize;
    let policy = WebSocketPolicy::new().max_connections(max).max_connections_per_address(max);
    let listener = Listener::websocket_with(ADDRESS, policy).await?;
    print_port(listener.address().context("no address")?);
    listener
        .serve(|peer| {
            peer.method("echo", |params: Echo, _: Context| async move { Ok::<_, RpcError>(params) });
            peer.method("flood", flood);
        })
        .await?;
    Ok(())
}

async fn flood(Flood { count }: Flood, context: Context) -> Result<(), RpcError> {
    for number in 0..count {
        if number % BURST == 0 {
            context.yield_now().await;
        }
        let params = Echo { text: "hello".into(), number };
        while let Err(error) = context.notify("tick", &params) {
            if !matches!(error, CallError::Congested) {
                return Err(RpcError::internal(error.to_string()));
            }
            context.yield_now().await;
        }
    }
    Ok(())
}
