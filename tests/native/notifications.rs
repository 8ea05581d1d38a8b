//! Notifications arrive in order, and nobody answers them.

use std::error::Error;

use portway::{Client, Context, Diagnostic, RpcError, Server, Transport};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::wire::{PATIENCE, wire};

type Test = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn notifications_are_handled_in_the_order_in_which_they_arrive() -> Test {
    let (here, there) = Transport::pair()?;
    let (told, mut heard) = mpsc::unbounded_channel();
    let server = Server::new(there);
    let late = told.clone();
    server.on_notify("line", move |(number,): (u32,), _: Context| {
        let _ = told.send(number);
    });
    // A name that is only a method is run all the same, and not answered.
    server.method("count", move |(number,): (u32,), _: Context| {
        let late = late.clone();
        async move {
            let _ = late.send(number);
            Ok::<_, RpcError>(())
        }
    });
    server.forget();
    let client = Client::new(here);
    for number in 0..1_000 {
        client.notify("line", &(number,))?;
    }
    client.notify("count", &(1_000,))?;
    for number in 0..=1_000 {
        assert_eq!(timeout(PATIENCE, heard.recv()).await?, Some(number));
    }
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_with_a_notification_is_told_here_and_not_there() -> Test {
    let (transport, mut there) = wire()?;
    let (told, mut heard) = mpsc::unbounded_channel();
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        let line = match diagnostic {
            Diagnostic::UnknownNotification { method } => format!("unknown {method}"),
            Diagnostic::InvalidNotification { method, .. } => format!("invalid {method}"),
            _ => return,
        };
        let _ = told.send(line);
    }));
    server.on_notify("line", |(_,): (u32,), _: Context| {});
    server.method_sync("last", |(): (), _: Context| Ok::<_, RpcError>(()));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","method":"nothing"}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","method":"line","params":{"a":1}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"last","params":null}"#).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "id": 1, "result": null }));
    assert_eq!(heard.try_recv().ok().as_deref(), Some("unknown nothing"));
    assert_eq!(heard.try_recv().ok().as_deref(), Some("invalid line"));
    Ok(())
}

#[tokio::test]
async fn a_handler_may_tell_the_caller_something() -> Test {
    let (transport, mut there) = wire()?;
    let server = Server::new(transport);
    server.method_sync("open", |(): (), context: Context| {
        context.notify("opened", &(context.method(),))?;
        Ok::<_, RpcError>(())
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"open"}"#).await?;
    assert_eq!(there.receive().await?, json!({ "jsonrpc": "2.0", "method": "opened", "params": ["open"] }));
    assert_eq!(there.receive().await?["id"], 1);
    Ok(())
}

#[tokio::test]
async fn work_that_a_notification_has_begun_hears_of_the_end_of_the_link() -> Test {
    let (transport, mut there) = wire()?;
    let (told, mut heard) = mpsc::unbounded_channel();
    let server = Server::new(transport);
    server.on_notify("watch", move |(): (), context: Context| {
        let told = told.clone();
        tokio::spawn(async move {
            let _ = told.send(context.is_cancelled());
            context.cancelled().await;
            let _ = told.send(context.is_cancelled());
        });
    });
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","method":"watch"}"#).await?;
    assert_eq!(timeout(PATIENCE, heard.recv()).await?, Some(false));
    drop(there);
    assert_eq!(timeout(PATIENCE, heard.recv()).await?, Some(true));
    Ok(())
}

#[tokio::test]
async fn params_that_do_not_fit_are_told_without_a_place_in_the_text() -> Test {
    let (transport, mut there) = wire()?;
    let server = Server::new(transport);
    server.method_sync("add", |_: (u32, u32), _: Context| Ok::<_, RpcError>(()));
    server.forget();
    there.send(r#"{"jsonrpc":"2.0","id":1,"method":"add","params":["x",2]}"#).await?;
    let message = "Invalid params: invalid type: string \"x\", expected u32";
    assert_eq!(there.receive().await?["error"]["message"], message);
    Ok(())
}
