// Limits that `cargo xtask limits --write` generates from limits.toml.

/** Default timeout of a call, in milliseconds. */
export const CALL_TIMEOUT = 10_000;
/** Default maximum time of a call with progress, as a multiple of its timeout. */
export const TOTAL_TIMEOUT_FACTOR = 60;
/** Maximum total bytes of the running requests of one peer. */
export const MAX_IN_FLIGHT_BYTES = 67_108_864;
/** Maximum number of running requests that have ended without a response, as a multiple of `inFlight`. */
export const LINGERING_FACTOR = 4;
/** Default maximum length of a string id, in UTF-16 code units. */
export const MAX_ID_LENGTH = 1_024;
/** Maximum length of a method name, in UTF-16 code units. */
export const MAX_METHOD_LENGTH = 1_024;
/** Maximum levels of the `data` that is made from an error without `data`. */
export const MAX_ERROR_DEPTH = 8;
/** Maximum number of values in the `data` that is made from an error. */
export const MAX_ERROR_VALUES = 1_000;
/** Maximum total characters of texts in the `data` that is made from an error. */
export const MAX_ERROR_CHARACTERS = 1_048_576;
/** Maximum number of faults logged per second, if `onError` is not set. */
export const MAX_PRINTED_FAULTS = 10;
/** Maximum number of messages queued before a handler is set. */
export const MAX_UNHANDLED_MESSAGES = 10_000;
/** Maximum number of messages that `portway/early` buffers for all senders. */
export const MAX_EARLY_MESSAGES = 10_000;
/** Maximum time that `portway/early` buffers messages after the wasm has started, in milliseconds. */
export const EARLY_TIMEOUT = 10_000;
/** Maximum cost of the error replies to one sender after the wasm has failed: 1 for a message, 10 for a reply. */
export const MAX_EARLY_COST = 1_000;
/** Maximum cost of the error replies to all senders after the wasm has failed. */
export const MAX_EARLY_TOTAL_COST = 10_000;
/** Default timeout of `connect`, in milliseconds. */
export const CONNECT_TIMEOUT = 10_000;
/** Maximum number of errors, and of warnings, that `validateMessage` reports. */
export const MAX_FINDINGS = 10_000;
/** Maximum number of messages of a window with another origin that `connect` reads. */
export const MAX_FOREIGN_READS = 32;
/** Default heartbeat: maximum silence of a peer, unless a Web Lock shows that it exists, in milliseconds. */
export const HEARTBEAT = 10_000;
/** Maximum number of calls queued for the next session. */
export const MAX_SESSION_QUEUE = 10_000;
/** Minimum heartbeat, in milliseconds. */
export const MIN_HEARTBEAT = 100;
/** Maximum wait for an answer from a peer whose lock is free, in milliseconds. */
export const ANSWER_TIME = 300;
/** Maximum wait for the local lock before the handshake, in milliseconds. */
export const LOCK_TIMEOUT = 100;
/** Maximum wait for a goodbye after a liveness failure, in milliseconds. */
export const GOODBYE_TIMEOUT = 100;
/** Maximum wait for a goodbye after its copy has arrived through the window, in milliseconds. */
export const COPIED_GOODBYE_TIMEOUT = 1_000;
/** Maximum silence of an iframe that has fired `load` again, in milliseconds. */
export const RELOAD_SILENCE = 1_000;
/** Interval between two checks for a closed window while calls are pending, in milliseconds. */
export const WINDOW_CHECK_INTERVAL = 500;
/** Maximum number of features that are read from the `rpc.hello` of a peer. */
export const MAX_FEATURES = 100;
/** Minimum interval between two messages `rpc.hello` of a peer that are answered, in milliseconds. */
export const MIN_HELLO_INTERVAL = 10;
/** Maximum number of messages that are sent together, and that are accepted together. */
export const MAX_LIST_LENGTH = 256;
/** Maximum number of values in a message that is coalesced with others. */
export const MAX_COALESCED_VALUES = 32;
/** Maximum characters of a string in a message that is coalesced with others. */
export const MAX_COALESCED_STRING = 1_000;
/** Default window of a stream: the maximum number of unread items. */
export const STREAM_WINDOW = 16;
/** Maximum credit of one stream: the number of items that its source may send. */
export const MAX_STREAM_CREDIT = 65_536;
/** Maximum total credit of all streams of a peer. */
export const MAX_PEER_CREDIT = 65_536;
/** Maximum number of items that the streams of a link send before they yield to other tasks. */
export const MAX_ITEMS_PER_TURN = 256;
/** Maximum time that streams send items, or WIPC frames are handled, before other tasks run, in milliseconds. */
export const MAX_TURN_TIME = 4;
/** Default maximum length of a message on a byte stream or a WebSocket, in bytes. */
export const MAX_MESSAGE_BYTES = 10_485_760;
/** Maximum bytes at the beginning of a dropped message that are searched for its id. */
export const MAX_BEGINNING = 1_024;
/** Maximum nesting of a value that becomes a Rust type, in levels. */
export const MAX_NESTING = 128;
/** Maximum bytes that a peer on a byte stream or a WebSocket leaves unread. */
export const MAX_UNWRITTEN_BYTES = 16_777_216;
/** Default grace at the end of a link: the time for running handlers and a child process to end, in milliseconds. */
export const CLOSE_TIMEOUT = 2_000;
/** Maximum wait for the rest of the output of an exited process, in milliseconds. */
export const OUTPUT_GRACE = 250;
/** Maximum time that a process and its descendants have to exit after SIGTERM, before SIGKILL, in milliseconds. */
export const TERM_GRACE = 500;
/** Maximum bytes of a line of standard error that is reported whole. */
export const MAX_STDERR_LINE = 65_536;
/** Default maximum memory of the records that the sink of a tap has not taken, in bytes. */
export const TAP_BYTES = 1_048_576;
/** Maximum characters of the text of a message in a record. */
export const MAX_TAP_CHARACTERS = 262_144;
/** Maximum number of values of a message that a tap describes. */
export const MAX_TAP_VALUES = 100_000;
/** Maximum depth of the values of a message that a tap describes. */
export const MAX_TAP_DEPTH = 100;
/** Maximum number of bytes of an `ArrayBuffer` in a record. */
export const TAP_BINARY_BYTES = 64;
/** Maximum number of bytes in the record of a message that is neither text nor a value. */
export const TAP_INVALID_BYTES = 1_024;
/** Maximum number of messages queued for the next WebSocket connection. */
export const MAX_OFFLINE_MESSAGES = 1_000;
/** Maximum characters of the messages queued for the next WebSocket connection. */
export const MAX_OFFLINE_CHARACTERS = 1_048_576;
/** Default silence of a WebSocket's peer before a ping, and maximum silence after the ping, in milliseconds. */
export const SOCKET_HEARTBEAT = 4_500;
/** Time after which a WebSocket of `ws` that is closing no longer keeps its process alive, in milliseconds. */
export const SOCKET_CLOSE = 2_000;
/** Maximum factor of a WebSocket's heartbeat, which doubles at each end by the heartbeat while calls stay pending. */
export const MAX_PATIENCE = 8;
/** Maximum number of times that an idempotent call is sent over a WebSocket. */
export const MAX_SENDS = 10;
/** Maximum unsent bytes of a WebSocket with which handlers of streams continue to send items. */
export const STREAM_BUFFER_BYTES = 1_048_576;
/** Default delay after the first failure of a WebSocket, before the jitter, in milliseconds. */
export const RECONNECT_DELAY = 500;
/** Default maximum delay between two attempts of a WebSocket to connect, in milliseconds. */
export const MAX_RECONNECT_DELAY = 30_000;
/** Default minimum time that a WebSocket must be open to reset the count of failures, in milliseconds. */
export const RECONNECT_HOLD = 5_000;
/** Default delay that is added after a close with 1012 or 1013, in milliseconds. */
export const RESTART_DELAY = 5_000;
/** Default maximum number of unread items of a subscription. */
export const MAX_SUBSCRIPTION_ITEMS = 1_000;
/** Default maximum payload of a WIPC frame, in bytes. */
export const MAX_PAYLOAD = 4_294_967_295;
/** Maximum bytes of unhandled frames that are buffered while the handling of frames pauses. */
export const READ_AHEAD = 1_048_576;
/** Maximum wait for answers in transit after a write has failed, in milliseconds. */
export const WRITE_GRACE = 1_000;
/** Default maximum time that a guest in Node continues after its host has closed or exited, in milliseconds. */
export const EXIT_TIMEOUT = 5_000;
/** Maximum `stdinCapacity` of a WASI guest, in bytes. */
export const MAX_CAPACITY = 268_435_456;
/** Default maximum wait for the start of the worker of a WASI guest, in milliseconds. */
export const START_TIMEOUT = 10_000;
/** Maximum unread output of a WASI guest, in bytes. */
export const MAX_UNREAD_OUTPUT = 1_048_576;
/** Default maximum time for the response of an MCP server to `server/discover`, in milliseconds. */
export const MCP_DISCOVER_TIMEOUT = 5_000;
/** Maximum number of requests of one call of an MCP server. */
export const MAX_MCP_ROUNDS = 16;
/** Maximum number of origins in an `mcp::EraCache`, and of those whose era `httpTransport` keeps. */
export const MAX_MCP_ORIGINS = 1_024;
/** Default maximum number of pending calls of an MCP server over HTTP. */
export const MAX_HTTP_REQUESTS = 1_024;
/** Maximum time to end the session of an MCP server over HTTP, in milliseconds. */
export const HTTP_CLOSE_TIMEOUT = 1_000;
/** Maximum time before an ended stream of an MCP server is requested again, in milliseconds. */
export const MAX_HTTP_RETRY_DELAY = 30_000;
/** Maximum number of streams in a row without a message before a call fails. */
export const MAX_HTTP_RESUMES = 5;
/** The default values of the option `limits`. */
export const DEFAULTS = { pendingCalls: 1_000_000, inFlight: 1_024, batchItems: 1_000, idLength: 1_024 };
