//! The wasm module of `portway/mcp`: the era of a server, the decoder of server-sent events, and the rules of headers.
//! The native client of MCP uses the same code of `portway-proto`.
#![no_std]
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

extern crate alloc;

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::panic::PanicInfo;
use core::time::Duration;

use portway_proto::Limits;
use portway_proto::codec::sse::{DEFAULT_NAME, Decoder, Event};
use portway_proto::mcp::http::{self, Json, ParamHeaders};
use portway_proto::mcp::{Era, EraDetection, Failure, LEGACY_VERSIONS, MODERN_VERSIONS, Reply, State};
use wasm_bindgen::prelude::wasm_bindgen;

#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// Traps without a message. The library itself does not panic.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Detects the era of a server.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Detection {
    detection: EraDetection,
    /// The versions of the next reply.
    versions: Vec<String>,
}

#[wasm_bindgen]
impl Detection {
    /// Creates a detection. `modern` and `legacy` are the versions of the client, separated by spaces. If a list is
    /// `None`, the versions of the library replace it.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(modern: Option<String>, legacy: Option<String>) -> Self {
        let (modern, legacy) = (versions(modern, MODERN_VERSIONS), versions(legacy, LEGACY_VERSIONS));
        Self { detection: EraDetection::with_versions(modern, legacy), versions: Vec::new() }
    }

    /// Returns the state as a word and its values, separated by spaces.
    #[must_use]
    pub fn state(&self) -> String {
        let (word, value) = match self.detection.state() {
            State::Discover(version) => ("discover", version),
            State::Initialize(version) => ("initialize", version),
            State::Settled(Era::Modern, version) => ("modern", version),
            State::Settled(Era::Legacy, version) => ("legacy", version),
            State::Failed(Failure::NoCommonVersion) => ("failed", "no-common-version"),
            State::Failed(Failure::Denied(status)) => return format!("failed denied {status}"),
            State::Failed(Failure::InitializeRefused) => ("failed", "initialize-refused"),
        };
        format!("{word} {value}")
    }

    /// Adds a version to the supported versions of the next reply.
    pub fn add_version(&mut self, version: String) {
        self.versions.push(version);
    }

    /// Handles a result of `server/discover`.
    pub fn discovered(&mut self) {
        let versions = mem::take(&mut self.versions);
        self.detection.handle(Reply::Discovered(&texts(&versions)));
    }

    /// Handles a result of `initialize`.
    pub fn initialized(&mut self, version: &str) {
        self.detection.handle(Reply::Initialized(version));
    }

    /// Handles an error response. `has_versions` is whether the error has a list of versions.
    pub fn error(&mut self, code: f64, has_versions: bool) {
        let versions = mem::take(&mut self.versions);
        let supported = texts(&versions);
        self.detection.handle(Reply::Error { code: code as i64, supported: has_versions.then_some(&*supported) });
    }

    /// Handles an HTTP status without an error response.
    pub fn status(&mut self, status: u16) {
        self.detection.handle(Reply::Status(status));
    }

    /// Handles any other reply, or no reply.
    pub fn unusable(&mut self) {
        self.detection.handle(Reply::Unusable);
    }
}

fn texts(versions: &[String]) -> Vec<&str> {
    versions.iter().map(String::as_str).collect()
}

fn versions(names: Option<String>, default: &'static [&'static str]) -> &'static [&'static str] {
    // An application makes few detections, so the lists of a detection are never freed.
    names.map_or(default, |names| names.leak().split_ascii_whitespace().collect::<Vec<_>>().leak())
}

/// Decodes the events of one stream.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Events {
    decoder: Decoder,
    /// The data of decoded events.
    data: VecDeque<Vec<u8>>,
}

#[wasm_bindgen]
impl Events {
    /// Creates a decoder. `max_bytes` is the maximum length of the data of an event.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(max_bytes: f64) -> Self {
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = max_bytes as usize;
        Self { decoder: Decoder::new(&limits), data: VecDeque::new() }
    }

    /// Decodes the next bytes. Returns false if the data of an event is longer than the maximum.
    pub fn push(&mut self, mut chunk: &[u8]) -> bool {
        let mut is_short = true;
        while let Some(event) = self.decoder.next(&mut chunk) {
            match event {
                Event::Message { name: DEFAULT_NAME, data } if !data.is_empty() => self.data.push_back(data.to_owned()),
                Event::Message { .. } => {}
                Event::TooLarge { .. } => is_short = false,
            }
        }
        is_short
    }

    /// Returns the data of the next event with a message.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.data.pop_front()
    }

    /// Returns the id of the latest event that had an id.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        self.decoder.last_event_id().to_owned()
    }

    /// Returns the time before the stream is requested again, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<f64> {
        self.decoder.retry_ms().map(|time| time as f64)
    }
}

/// Returns the time before an ended stream is requested again. `named` is the time that the server has named. All times
/// are in milliseconds.
#[wasm_bindgen]
#[must_use]
pub fn retry_delay(named: Option<f64>, empty_streams: u32, max: u32) -> f64 {
    let named = named.map(|time| Duration::from_millis(time as u64));
    http::retry_delay(named, empty_streams, Duration::from_millis(max.into())).as_millis() as f64
}

/// The headers that repeat members of requests. JavaScript passes a JSON value by one call for each of its parts. The
/// next call of `read_tool` or `of_request` uses the value.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct RequestHeaders {
    headers: ParamHeaders,
    /// The complete value.
    value: Json,
    /// The open arrays and objects, each with the name that its parent has for it.
    open: Vec<(String, Json)>,
    /// The name of the next member.
    name: String,
}

#[wasm_bindgen]
impl RequestHeaders {
    /// Creates the headers of a server without tools.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins an array or an object.
    pub fn open(&mut self, is_array: bool) {
        let value = if is_array { Json::Array(Vec::new()) } else { Json::Object(Vec::new()) };
        self.open.push((mem::take(&mut self.name), value));
    }

    /// Ends the array or the object that was begun last.
    pub fn close(&mut self) {
        if let Some((name, value)) = self.open.pop() {
            self.name = name;
            self.add(value);
        }
    }

    /// Sets the name of the next member.
    pub fn name(&mut self, name: String) {
        self.name = name;
    }

    /// Adds a string.
    pub fn text(&mut self, text: String) {
        self.add(Json::Text(text));
    }

    /// Adds a number.
    pub fn number(&mut self, number: f64) {
        self.add(Json::Number(number));
    }

    /// Adds `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.add(Json::Bool(value));
    }

    /// Adds `null`.
    pub fn null(&mut self) {
        self.add(Json::Null);
    }

    /// Drops an incomplete value.
    pub fn reset(&mut self) {
        self.open.clear();
        self.name.clear();
    }

    /// Reads the value as the input schema of a tool. If the schema violates a rule, returns the violation.
    pub fn read_tool(&mut self, name: &str) -> Option<String> {
        let schema = mem::take(&mut self.value);
        self.headers.read_tool(name, &schema).err()
    }

    /// Returns the name of the member of the params that the header `Mcp-Name` repeats.
    #[must_use]
    pub fn named_param(&self, method: &str) -> Option<String> {
        http::named_param(method).map(ToOwned::to_owned)
    }

    /// Returns the headers of a request, except `Mcp-Method`. Each header is a line with its name and a line with its
    /// value. Uses the last value from JavaScript as the arguments of the tool.
    pub fn of_request(&mut self, method: &str, name: &str) -> String {
        let arguments = mem::take(&mut self.value);
        let mut lines = String::new();
        for (name, value) in self.headers.of_request(method, name, &arguments) {
            for line in [name, value] {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
        lines
    }
}

impl RequestHeaders {
    fn add(&mut self, value: Json) {
        let name = mem::take(&mut self.name);
        match self.open.last_mut() {
            Some((_, Json::Array(items))) => items.push(value),
            Some((_, Json::Object(members))) => members.push((name, value)),
            _ => self.value = value,
        }
    }
}
