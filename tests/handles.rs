//! The methods of the handles of the Rust API, natively and in browsers. One list keeps both implementations complete.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::panic, reason = "a failed test is a panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

type Names = BTreeSet<String>;

struct Handle {
    name: &'static str,
    /// Its files, natively and in browsers.
    files: [&'static str; 2],
    both: &'static str,
    native: &'static str,
    browser: &'static str,
}

/// Only browsers have values of JavaScript. Only native handles have byte streams, and methods that wait for their end.
const HANDLES: [Handle; 8] = [
    Handle {
        name: "Client",
        files: ["native/client.rs", "web/api/client.rs"],
        both: "new with_timeout call stream notify pending destroy",
        native: "send_frame ready closed",
        browser: "call_js notify_js",
    },
    Handle {
        name: "Server",
        files: ["native/server.rs", "web/api/server.rs"],
        both: "new method method_sync stream_method on_notify forget",
        native: "run stopper",
        browser: "method_js on_notify_js",
    },
    Handle {
        name: "Peer",
        files: ["native/peer.rs", "web/api/peer.rs"],
        both: "client server",
        native: "",
        browser: "connect",
    },
    Handle {
        name: "Call",
        files: ["native/call.rs", "web/api/call.rs"],
        both: "timeout total_timeout on_progress start",
        native: "",
        browser: "transfer",
    },
    Handle {
        name: "Items",
        files: ["native/response_stream.rs", "web/api/response_stream.rs"],
        both: "timeout window",
        native: "",
        browser: "",
    },
    Handle {
        name: "Context",
        files: ["native/context.rs", "web/api/context.rs"],
        both: "method is_cancelled cancelled yield_now progress notify",
        native: "id",
        browser: "transfer",
    },
    Handle {
        name: "RpcError",
        files: ["error.rs", "web/api/error.rs"],
        both: "new invalid_params internal with_data data reason",
        native: "",
        browser: "with_js_data",
    },
    Handle {
        name: "CallError",
        files: ["native/error.rs", "web/api/error.rs"],
        both: "remote",
        native: "",
        browser: "",
    },
];

fn names(list: &str) -> Names {
    list.split_whitespace().map(str::to_owned).collect()
}

fn listed(handle: &str, is_native: bool) -> Names {
    let handle = HANDLES.iter().find(|other| other.name == handle).unwrap_or_else(|| panic!("{handle} is not listed"));
    let own = names(if is_native { handle.native } else { handle.browser });
    names(handle.both).into_iter().chain(own).collect()
}

/// The public functions of a type in a file that rustfmt has formatted.
fn public_functions(file: &str, handle: &str) -> Names {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut is_inside = false;
    let mut found = Names::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            let of = rest.rsplit(' ').nth(1).unwrap_or_default();
            is_inside = !rest.contains(" for ") && of.split('<').next() == Some(handle);
        } else if line == "}" {
            is_inside = false;
        } else if let Some(rest) = line.strip_prefix("    pub ").filter(|_| is_inside) {
            let rest = rest.trim_start_matches("const ").trim_start_matches("async ");
            if let Some(function) = rest.strip_prefix("fn ") {
                found.insert(function.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
    }
    found
}

#[test]
fn each_handle_has_the_listed_methods_natively_and_in_browsers() {
    for handle in &HANDLES {
        for (file, is_native) in handle.files.into_iter().zip([true, false]) {
            let mut expected = listed(handle.name, is_native);
            if handle.name == "Peer" {
                // A peer has the methods of both.
                expected.extend(["Client", "Server"].into_iter().flat_map(|half| listed(half, is_native)));
            }
            assert_eq!(public_functions(file, handle.name), expected, "{} in {file}", handle.name);
        }
    }
}
