//! The client finds the era of a server, whatever the server answers to `server/discover`.

use std::time::Duration;

use portway::CallError;
use portway::mcp::{Era, Error, Failure};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::remote::{Connecting, Remote, Test, connect, connect_legacy, connect_modern, options};

/// Answers `initialize`, which must be the next message, and returns it. Then receives the notification after it.
async fn initialize(remote: &mut Remote, version: &str) -> Result<Value, Box<dyn std::error::Error>> {
    let initialize = remote.receive().await?;
    assert_eq!(initialize["method"], "initialize");
    remote.respond(&initialize, json!({ "protocolVersion": version, "capabilities": {}, "serverInfo": {} })).await?;
    assert_eq!(remote.receive().await?, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    Ok(initialize)
}

/// Returns the error of a client that could not connect.
async fn failure((connecting, remote): Connecting) -> Result<Error, Box<dyn std::error::Error>> {
    let failed = connecting.await?;
    drop(remote);
    failed.err().ok_or_else(|| "the client must not connect".into())
}

#[tokio::test]
async fn a_modern_server_is_discovered_and_each_request_has_the_meta_of_the_client() -> Test {
    let (connecting, mut remote) = connect(options().capabilities(json!({ "roots": {} })))?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1.2.3" },
        "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
    });
    let discover = remote.receive().await?;
    assert_eq!(
        discover,
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } })
    );
    let result = json!({ "supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": { "tools": {} } });
    remote.respond(&discover, result.clone()).await?;
    let client = connecting.await??;
    assert_eq!((client.era(), client.protocol_version()), (Era::Modern, "2026-07-28"));
    let server: Value = serde_json::from_str(client.server().ok_or("there must be a result")?.get())?;
    assert_eq!(server, result);

    let call =
        tokio::spawn(client.call::<Value>("tools/list", &json!({ "cursor": "x", "_meta": { "a": 1 } })).into_future());
    let mut expected = meta;
    expected["a"] = json!(1);
    let list = remote.receive().await?;
    assert_eq!(list["params"], json!({ "cursor": "x", "_meta": expected }));
    remote.respond(&list, json!({ "tools": [] })).await?;
    assert_eq!(call.await??, json!({ "tools": [] }));
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    Ok(())
}

#[tokio::test]
async fn a_legacy_server_is_initialized_and_its_requests_have_no_meta() -> Test {
    for code in [-32601, -32602, -32600, -32603, -32000, -32002, 0] {
        let (connecting, mut remote) = connect(options().capabilities(json!({ "roots": {} })))?;
        let discover = remote.receive().await?;
        remote.fail(&discover, code).await?;
        let initialize = initialize(&mut remote, "2025-06-18").await?;
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": {} },
            "clientInfo": { "name": "test", "version": "1.2.3" },
        });
        assert_eq!(initialize["params"], params);
        let client = connecting.await??;
        assert_eq!((client.era(), client.protocol_version()), (Era::Legacy, "2025-06-18"));
        let server: Value = serde_json::from_str(client.server().ok_or("there must be a result")?.get())?;
        assert_eq!(server["protocolVersion"], "2025-06-18");
        let call = tokio::spawn(client.call::<Value>("tools/list", &()).into_future());
        let list = remote.receive().await?;
        assert_eq!(list.get("params"), None);
        remote.respond(&list, json!({ "tools": [] })).await?;
        assert_eq!(call.await??, json!({ "tools": [] }));
    }
    Ok(())
}

/// Some servers cannot read a request before `initialize`, and so respond without its id.
#[tokio::test]
async fn an_error_with_the_id_null_is_the_answer_to_discover() -> Test {
    let (connecting, mut remote) = connect(options().discover_timeout(Duration::from_secs(3600)))?;
    remote.receive().await?;
    remote.fail(&json!({ "id": null }), -32000).await?;
    initialize(&mut remote, "2025-11-25").await?;
    assert_eq!(connecting.await??.era(), Era::Legacy);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_receives_initialize_after_five_seconds() -> Test {
    let (connecting, mut remote) = connect(options())?;
    remote.receive().await?;
    let start = Instant::now();
    // A server may print lines before its first message.
    remote.send_line("Server started on standard streams").await?;
    // `server/discover` is not cancelled, because some servers exit when they receive a notification.
    initialize(&mut remote, "2025-11-25").await?;
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(4_990) && elapsed < Duration::from_millis(5_100), "{elapsed:?}");
    assert_eq!(connecting.await??.era(), Era::Legacy);
    Ok(())
}

/// A server that starts slowly receives `initialize` after `server/discover`. Servers of both eras refuse a handshake
/// after their first modern request.
#[tokio::test(start_paused = true)]
async fn a_late_result_of_discover_shows_the_modern_era() -> Test {
    let supported = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    for is_refused_before in [None, Some(false), Some(true)] {
        let (connecting, mut remote) = connect(options())?;
        let discover = remote.receive().await?;
        let initialize = remote.receive().await?;
        assert_eq!(initialize["method"], "initialize");
        if is_refused_before == Some(true) {
            remote.fail(&initialize, -32601).await?;
        }
        remote.respond(&discover, supported.clone()).await?;
        if is_refused_before == Some(false) {
            remote.fail(&initialize, -32601).await?;
        }
        let client = connecting.await??;
        assert_eq!((client.era(), client.protocol_version()), (Era::Modern, "2026-07-28"));
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_late_error_of_discover_does_not_end_initialize() -> Test {
    for id in [json!(1), json!(null)] {
        let (connecting, mut remote) = connect(options())?;
        remote.receive().await?;
        let initialize = remote.receive().await?;
        remote.fail(&json!({ "id": id }), -32601).await?;
        remote.respond(&initialize, json!({ "protocolVersion": "2025-11-25", "capabilities": {} })).await?;
        assert_eq!(connecting.await??.era(), Era::Legacy);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_initialize_is_given_up_after_thirty_seconds() -> Test {
    let (connecting, mut remote) = connect(options())?;
    let discover = remote.receive().await?;
    remote.fail(&discover, -32601).await?;
    remote.receive().await?;
    let start = Instant::now();
    let error = failure((connecting, remote)).await?;
    assert!(matches!(error, Error::Negotiation { failure: Failure::InitializeRefused, .. }), "{error}");
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(29_990) && elapsed < Duration::from_millis(30_100), "{elapsed:?}");
    Ok(())
}

#[tokio::test]
async fn a_result_that_is_not_a_discover_result_means_legacy() -> Test {
    for result in [json!({}), json!({ "supportedVersions": "2026-07-28" }), json!([["2026-07-28"]]), json!(1)] {
        let (connecting, mut remote) = connect(options())?;
        let discover = remote.receive().await?;
        remote.respond(&discover, result).await?;
        initialize(&mut remote, "2025-11-25").await?;
        assert_eq!(connecting.await??.era(), Era::Legacy);
    }
    Ok(())
}

#[tokio::test]
async fn a_modern_error_means_modern_even_without_a_discover_result() -> Test {
    for code in [-32020, -32021] {
        let (connecting, mut remote) = connect(options())?;
        let discover = remote.receive().await?;
        remote.fail(&discover, code).await?;
        let client = connecting.await??;
        assert_eq!((client.era(), client.server().is_none()), (Era::Modern, true));
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_version_list_without_ours_is_an_error_that_names_the_versions() -> Test {
    for is_error in [false, true] {
        let (connecting, mut remote) = connect(options())?;
        let discover = remote.receive().await?;
        let versions = json!(["2027-01-01", "2028-01-01"]);
        if is_error {
            let data = json!({ "supported": versions, "requested": "2026-07-28" });
            let error = json!({ "code": -32022, "message": "Unsupported protocol version", "data": data });
            remote.send(json!({ "jsonrpc": "2.0", "id": discover["id"], "error": error })).await?;
        } else {
            remote.respond(&discover, json!({ "supportedVersions": versions })).await?;
        }
        let error = failure((connecting, remote)).await?;
        assert!(error.to_string().contains("2027-01-01, 2028-01-01"), "{error}");
        assert!(matches!(error, Error::Negotiation { failure: Failure::NoCommonVersion, .. }));
    }
    Ok(())
}

#[tokio::test]
async fn an_unsupported_version_with_our_version_in_the_list_means_one_retry() -> Test {
    let (connecting, mut remote) = connect(options())?;
    let refused = |id: &Value| {
        let error = json!({ "code": -32022, "message": "no", "data": { "supported": ["2026-07-28"] } });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    };
    for _ in 0..2 {
        let discover = remote.receive().await?;
        assert_eq!(discover["method"], "server/discover");
        remote.send(refused(&discover["id"])).await?;
    }
    let error = failure((connecting, remote)).await?;
    assert!(matches!(error, Error::Negotiation { failure: Failure::NoCommonVersion, .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_unsupported_version_with_a_legacy_list_means_initialize_with_a_version_of_the_list() -> Test {
    let (connecting, mut remote) = connect(options())?;
    let discover = remote.receive().await?;
    let error = json!({ "code": -32022, "message": "no", "data": { "supported": ["2025-03-26", "2025-06-18"] } });
    remote.send(json!({ "jsonrpc": "2.0", "id": discover["id"], "error": error })).await?;
    let sent = initialize(&mut remote, "2025-06-18").await?;
    assert_eq!(sent["params"]["protocolVersion"], "2025-06-18");
    assert_eq!(connecting.await??.era(), Era::Legacy);
    Ok(())
}

#[tokio::test]
async fn an_unknown_version_in_the_answer_to_initialize_is_an_error() -> Test {
    for (version, text) in [(json!("1999-01-01"), "1999-01-01"), (json!(1), "has not answered initialize")] {
        let (connecting, mut remote) = connect(options())?;
        let discover = remote.receive().await?;
        remote.fail(&discover, -32601).await?;
        let initialize = remote.receive().await?;
        remote.respond(&initialize, json!({ "protocolVersion": version })).await?;
        let error = failure((connecting, remote)).await?;
        assert!(error.to_string().contains(text), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_refused_initialize_is_an_error_and_the_link_is_closed() -> Test {
    for id_is_null in [false, true] {
        let (connecting, mut remote) = connect(options())?;
        let discover = remote.receive().await?;
        remote.fail(&discover, -32601).await?;
        let mut initialize = remote.receive().await?;
        if id_is_null {
            initialize["id"] = Value::Null;
        }
        remote.fail(&initialize, -32602).await?;
        let error = connecting.await?.err().ok_or("the client must not connect")?;
        assert!(matches!(error, Error::Negotiation { failure: Failure::InitializeRefused, .. }), "{error}");
        assert!(remote.receive().await.is_err_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof));
    }
    Ok(())
}

#[tokio::test]
async fn a_link_that_ends_during_the_handshake_is_an_error() -> Test {
    let (connecting, mut remote) = connect(options())?;
    remote.receive().await?;
    remote.finish().await?;
    let error = failure((connecting, remote)).await?;
    assert!(matches!(error, Error::Call(CallError::PeerGone)), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_client_of_one_era_does_not_detect_the_era() -> Test {
    let (connecting, mut remote) = connect(options().era(Era::Legacy))?;
    initialize(&mut remote, "2025-11-25").await?;
    assert_eq!(connecting.await??.era(), Era::Legacy);

    let (connecting, mut remote) = connect(options().era(Era::Modern))?;
    let discover = remote.receive().await?;
    remote.fail(&discover, -32601).await?;
    let error = failure((connecting, remote)).await?;
    assert!(matches!(error, Error::Negotiation { failure: Failure::NoCommonVersion, .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_client_keeps_the_era_of_its_server() -> Test {
    let (legacy, mut remote) = connect_legacy(options()).await?;
    let call = tokio::spawn(legacy.call::<Value>("tools/list", &()).into_future());
    let list = remote.receive().await?;
    remote.fail(&list, -32022).await?;
    assert!(matches!(call.await?, Err(Error::Call(CallError::Remote(_)))));
    assert_eq!(legacy.era(), Era::Legacy);

    let (modern, mut remote) = connect_modern(options()).await?;
    let call = tokio::spawn(modern.call::<Value>("tools/list", &()).into_future());
    let list = remote.receive().await?;
    remote.fail(&list, -32601).await?;
    assert!(matches!(call.await?, Err(Error::Call(CallError::Remote(_)))));
    assert_eq!(modern.era(), Era::Modern);
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    Ok(())
}
