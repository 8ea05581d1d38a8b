//! Compares the public items of the native Rust API with those of the Rust API in browsers. Types of the same name must
//! have the same methods, variants and fields, with the same signatures. This file lists the exceptions with their
//! reasons. The items are in two lists in `tests/surface`, which `cargo xtask lint` compares with the library.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::panic, reason = "a failed test is a panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A list of items, and the reason why they differ between the targets. An entry of the list is `Type::item`, or the
/// name of a type, which stands for the type and all of its items.
type Exception = (&'static str, &'static str);

const ONLY_NATIVE: [Exception; 10] = [
    ("ChildTree Listener Process RunningProcess Service", "a browser has no sockets and processes"),
    ("Transport::with_tap", "the tap of JavaScript records the links of a page"),
    (
        "Admission Refusal RequestHead WebSocketOptions WebSocketPolicy Transport::upgraded Transport::websocket",
        "a browser has no server, and opens WebSockets in JavaScript",
    ),
    ("Context::identity Peer::identity Transport::with_identity", "the identity of a page is its origin"),
    (
        "Transport::child Transport::messages Transport::new Transport::relay Transport::stdio Transport::tcp Transport::unix Transport::with_child \
         Transport::with_grace Transport::with_profile",
        "transports in a browser carry values of JavaScript, and are not byte streams",
    ),
    (
        "Client::send_frame Peer::send_frame Transport::on_frame Transport::with_max_payload \
         Transport::with_payload_timeout",
        "WIPC needs a byte stream",
    ),
    ("Client::closed Peer::closed", "a link in a browser does not end: a lost peer may send messages again"),
    ("Client::ready Peer::ready", "a browser does not report whether a peer reads its messages"),
    (
        "Peer::run Peer::stopper Server::run Server::stopper Stopper",
        "the event loop of a browser runs a server until it is dropped",
    ),
    ("Diagnostic Transport::on_diagnostic", "a browser reports problems on its console"),
];

const ONLY_BROWSER: [Exception; 4] = [
    (
        "Origin Transport::broadcast Transport::current_worker Transport::from_js Transport::port Transport::window \
         Transport::worker TransportError",
        "only browsers have windows, workers and ports",
    ),
    ("Connect Peer::connect", "only windows, workers and ports have a handshake"),
    (
        "Client::call_js Client::notify_js Peer::call_js Peer::method_js Peer::notify_js Peer::on_notify_js \
         RpcError::js_data RpcError::with_js_data Server::method_js Server::on_notify_js",
        "only browsers have values of JavaScript",
    ),
    ("Call::transfer Context::transfer", "only browsers transfer objects"),
];

/// Items whose signatures differ between the targets, and the reason.
const OTHER_SIGNATURE: [Exception; 1] =
    [("Transport::pair", "the native error is an error of the system, the error in a browser is an exception")];

/// The types at the root of the library, and the signatures of their items, by `Type::item`.
#[derive(Default)]
struct Surface {
    types: BTreeSet<String>,
    items: BTreeMap<String, String>,
}

impl Surface {
    fn read(list: &str) -> Self {
        let text = read(list);
        let mut surface = Self::default();
        let mut is_in_trait_impl = false;
        for line in text.lines() {
            let line = line.replace("portway::native::", "portway::");
            let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(&line);
            if line.starts_with("impl") {
                is_in_trait_impl = line.contains(" for ");
            } else if !is_in_trait_impl || !line.contains("fn ") {
                surface.add(line);
            }
        }
        surface
    }

    fn add(&mut self, line: &str) {
        let Some((kind, path)) = line.split_once("portway::") else { return };
        let (name, rest) = split_name(path);
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return;
        }
        match kind {
            "pub use " => {}
            "pub struct " | "pub enum " => {
                self.types.insert(name.to_owned());
            }
            _ => {
                let (_, item) = rest.split_once("::").unwrap_or_else(|| panic!("{line}"));
                let (item, signature) = split_name(item);
                // Native handlers and callbacks run on other threads.
                let signature = signature.replace(" + core::marker::Send", "").replace(" + core::marker::Sync", "");
                let signature = format!("{}{signature}", kind.replace("const ", ""));
                self.items.insert(format!("{name}::{item}"), signature);
            }
        }
    }

    /// Returns the types that `other` does not have, and the items that the same type of `other` does not have.
    fn missing_in(&self, other: &Self) -> BTreeSet<String> {
        let items = self.items.keys().filter(|item| {
            let (name, _) = item.split_once("::").unwrap_or_default();
            other.types.contains(name) && !other.items.contains_key(*item)
        });
        self.types.difference(&other.types).chain(items).cloned().collect()
    }
}

fn read(list: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/surface").join(list);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Splits a path after its first name.
fn split_name(path: &str) -> (&str, &str) {
    path.split_at(path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len()))
}

fn listed(exceptions: &[Exception]) -> BTreeSet<String> {
    exceptions.iter().flat_map(|(items, _)| items.split_whitespace()).map(str::to_owned).collect()
}

fn surfaces() -> [Surface; 2] {
    ["rust-host.txt", "rust-wasm.txt"].map(Surface::read)
}

#[test]
fn types_have_the_same_items_natively_and_in_browsers() {
    let [native, browser] = surfaces();
    assert_eq!(native.missing_in(&browser), listed(&ONLY_NATIVE), "items that only the native API has");
    assert_eq!(browser.missing_in(&native), listed(&ONLY_BROWSER), "items that only the API in browsers has");
}

#[test]
fn items_have_the_same_signature_natively_and_in_browsers() {
    let [native, browser] = surfaces();
    let differs = |item: &&String| browser.items.get(*item).is_some_and(|other| Some(other) != native.items.get(*item));
    let different: BTreeSet<String> = native.items.keys().filter(differs).cloned().collect();
    assert_eq!(different, listed(&OTHER_SIGNATURE), "items whose signatures differ");
}

/// The re-exports of the core.
const RE_EXPORTS: [&str; 9] =
    ["ErrorCode", "Framing", "Limits", "codec", "connection", "message", "profile", "reconnect", "validate"];

/// The re-exports of the core in the module `mcp`, which only the native API has.
const MCP_RE_EXPORTS: [&str; 7] = [
    "mcp::Era",
    "mcp::EraDetection",
    "mcp::Failure",
    "mcp::LEGACY_VERSIONS",
    "mcp::MODERN_VERSIONS",
    "mcp::Reply",
    "mcp::State",
];

/// A list contains a re-export only if the item is also public in the module that defines the item. Such an item has
/// two paths.
#[test]
fn only_the_re_exports_of_the_core_have_two_paths() {
    let host = [&RE_EXPORTS[..], &MCP_RE_EXPORTS].concat();
    for (list, expected) in [("rust-proto.txt", &[][..]), ("rust-host.txt", &host), ("rust-wasm.txt", &RE_EXPORTS)] {
        let text = read(list);
        let found: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("pub use portway::")).collect();
        assert_eq!(found, expected, "{list}");
        assert!(!text.contains("pub use portway_proto::"), "{list}");
    }
}

#[test]
fn the_lists_contain_the_handles_and_the_errors() {
    for surface in surfaces() {
        for name in ["Call", "CallError", "Client", "Closed", "Context", "Items", "Peer", "RpcError", "Server"] {
            assert!(surface.types.contains(name), "{name}");
        }
        for item in ["Call::timeout", "CallError::Lost", "Client::call", "Peer::forget", "RpcError::code"] {
            assert!(surface.items.contains_key(item), "{item}");
        }
    }
}
