// Bounds, made from limits.toml by `cargo xtask limits --write`.

/** Timeout of a call, in milliseconds. */
export const CALL_TIMEOUT = 10_000;
/** Timeout of a call with progress. */
export const TOTAL_TIMEOUT_FACTOR = 60;
/** Bytes of the running requests of one peer. */
export const MAX_IN_FLIGHT_BYTES = 67_108_864;
/** Requests of ended sessions whose handlers still run. */
export const LINGERING_FACTOR = 4;
/** Characters of a string id. */
export const MAX_ID_LENGTH = 1_024;
/** Characters of a method name. */
export const MAX_METHOD_LENGTH = 1_024;
/** Levels of the `data` that is made from an error without `data`. */
export const MAX_ERROR_DEPTH = 8;
/** Values in the `data` that is made from an error. */
export const MAX_ERROR_VALUES = 1_000;
/** Characters of texts in the `data` that is made from an error. */
export const MAX_ERROR_CHARACTERS = 1_048_576;
/** Faults logged per second without `onError`. */
export const MAX_PRINTED_FAULTS = 10;
/** Messages queued before a handler is set. */
export const MAX_UNHANDLED_MESSAGES = 10_000;
/** Messages that `portway/early` buffers for all senders. */
export const MAX_EARLY_MESSAGES = 10_000;
/** Time that `portway/early` buffers messages after the wasm has started, in milliseconds. */
export const EARLY_TIMEOUT = 10_000;
/** Cost of the refusals for one sender after the wasm has failed: 1 for a message, 10 for a reply. */
export const MAX_EARLY_COST = 1_000;
/** Cost of the refusals for all senders. */
export const MAX_EARLY_TOTAL_COST = 10_000;
/** Timeout of `connect`, in milliseconds. */
export const CONNECT_TIMEOUT = 10_000;
/** Errors of a batch that `validateMessage` reports, and warnings. */
export const MAX_FINDINGS = 10_000;
/** Messages of a window with another origin that `connect` reads. */
export const MAX_FOREIGN_READS = 32;
/** Silence of the peer, where no lock shows that it is alive, in milliseconds. */
export const HEARTBEAT = 10_000;
/** Calls queued for the next session. */
export const MAX_SESSION_QUEUE = 10_000;
/** Minimum heartbeat, in milliseconds. */
export const MIN_HEARTBEAT = 100;
/** Wait for an answer from a peer whose lock is free, in milliseconds. */
export const ANSWER_TIME = 300;
/** Wait for the local lock before the handshake, in milliseconds. */
export const LOCK_TIMEOUT = 100;
/** Wait for a goodbye after a liveness failure, in milliseconds. */
export const GOODBYE_TIMEOUT = 100;
/** Wait for a goodbye after its copy has arrived through the window, in milliseconds. */
export const COPIED_GOODBYE_TIMEOUT = 1_000;
/** Silence of an iframe that has fired `load` again, in milliseconds. */
export const RELOAD_SILENCE = 1_000;
/** Interval of the checks for a closed window while calls are pending, in milliseconds. */
export const WINDOW_CHECK_INTERVAL = 500;
/** Features in the hello of a peer. */
export const MAX_FEATURES = 100;
/** Interval between two hellos of a peer that are answered, in milliseconds. */
export const MIN_HELLO_INTERVAL = 10;
/** Messages that are sent, and accepted, as one. */
export const MAX_LIST_LENGTH = 256;
/** Values in a message that is coalesced with others. */
export const MAX_COALESCED_VALUES = 32;
/** Characters of a string in a message that is coalesced with others. */
export const MAX_COALESCED_STRING = 1_000;
/** Items of a stream in transit. */
export const STREAM_WINDOW = 16;
/** Credit of one stream. */
export const MAX_STREAM_CREDIT = 65_536;
/** Credit of all streams of a peer. */
export const MAX_PEER_CREDIT = 65_536;
/** Items that the streams of a link send in one turn of the event loop. */
export const MAX_ITEMS_PER_TURN = 256;
/** Time that the streams of a link, or the frames of a WIPC peer, take per turn of the event loop, in milliseconds. */
export const MAX_TURN_TIME = 4;
/** Length of a message on a byte stream. */
export const MAX_MESSAGE_BYTES = 10_485_760;
/** Beginning of a dropped message that is searched for its id. */
export const MAX_BEGINNING = 1_024;
/** Nesting of a value that becomes a Rust type. */
export const MAX_NESTING = 128;
/** Bytes that a peer on a byte stream leaves unread. */
export const MAX_UNWRITTEN_BYTES = 16_777_216;
/** Time for running handlers and a child process at the end of a link, in milliseconds. */
export const CLOSE_TIMEOUT = 2_000;
/** Wait for the rest of the output of an exited process, in milliseconds. */
export const OUTPUT_GRACE = 250;
/** Wait between SIGTERM and SIGKILL for a process and its descendants, in milliseconds. */
export const TERM_GRACE = 500;
/** A line of standard error that is reported whole. */
export const MAX_STDERR_LINE = 65_536;
/** Payload of a WIPC frame. */
export const MAX_PAYLOAD = 4_294_967_295;
/** Bytes that are read ahead while reading pauses. */
export const READ_AHEAD = 1_048_576;
/** Wait for answers in transit after writing has failed, in milliseconds. */
export const WRITE_GRACE = 1_000;
/** Time that a guest in Node continues after its host has closed or exited, in milliseconds. */
export const EXIT_TIMEOUT = 5_000;
/** Maximum `stdinCapacity` of a WASI guest. */
export const MAX_CAPACITY = 268_435_456;
/** Wait for the worker of a WASI guest, in milliseconds. */
export const START_TIMEOUT = 10_000;
/** Unread output of a WASI guest. */
export const MAX_UNREAD_OUTPUT = 1_048_576;
/** The option `limits`, where an application sets nothing. */
export const DEFAULTS = { pendingCalls: 1_000_000, inFlight: 1_024, batchItems: 1_000, idLength: 1_024 };
