//! The server of jsonrpsee. Its notifications belong to subscriptions, so `flood` is a subscription.

use ::jsonrpsee::core::{SubscriptionResult, to_json_raw_value};
use ::jsonrpsee::server::{PendingSubscriptionSink, RpcModule, Server, ServerConfig};
use ::jsonrpsee::types::{ErrorObjectOwned, Params};
use anyhow::Result;

use super::{ADDRESS, Echo, Flood, MAX_CONNECTIONS, print_port};

pub(crate) async fn serve() -> Result<()> {
    let config = ServerConfig::builder().ws_only().max_connections(MAX_CONNECTIONS).set_tcp_no_delay(true).build();
    let server = Server::builder().set_config(config).build(ADDRESS).await?;
    print_port(server.local_addr()?);
    let mut module = RpcModule::new(());
    module.register_method("echo", |params, (), _| params.parse::<Echo>())?;
    module.register_subscription("flood", "tick", "unflood", |params, pending, _, _| flood(params, pending))?;
    server.start(module).stopped().await;
    Ok(())
}

async fn flood(params: Params<'static>, pending: PendingSubscriptionSink) -> SubscriptionResult {
    let Flood { count } = params.parse().map_err(|error: ErrorObjectOwned| error.to_string())?;
    let sink = pending.accept().await?;
    for number in 0..count {
        let params = Echo { text: "hello".into(), number };
        sink.send(to_json_raw_value(&params)?).await?;
    }
    Ok(())
}
