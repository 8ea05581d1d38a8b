// Bounds, made from limits.toml by `cargo xtask limits --write`.

/** Wait for an answer, in milliseconds. */
export const CALL_TIMEOUT = 10_000;
/** Wait for an answer while there is progress. */
export const TOTAL_TIMEOUT_FACTOR = 60;
/** Bytes of the requests at work for one peer. */
export const MAX_IN_FLIGHT_BYTES = 67_108_864;
/** Requests of ended sessions whose handlers go on, while a peer may begin more. */
export const LINGERING_FACTOR = 4;
/** Characters of an id that is a string. */
export const MAX_ID_LENGTH = 1_024;
/** Characters of the name of a method. */
export const MAX_METHOD_LENGTH = 1_024;
/** Levels of the `data` made of an error that has none. */
export const MAX_ERROR_DEPTH = 8;
/** Values in the `data` made of an error. */
export const MAX_ERROR_VALUES = 1_000;
/** Characters of texts in the `data` made of an error. */
export const MAX_ERROR_CHARACTERS = 1_048_576;
/** Faults printed without `onError`, in a second. */
export const MAX_PRINTED_FAULTS = 10;
/** Messages kept for a handler that is not there yet. */
export const MAX_UNHANDLED_MESSAGES = 10_000;
/** Messages that `portway/early` keeps, of all senders. */
export const MAX_EARLY_MESSAGES = 10_000;
/** Time for which `portway/early` keeps them once the wasm has started, in milliseconds. */
export const EARLY_TIMEOUT = 10_000;
/** Cost of what one sender is refused once the wasm has failed: 1 for a message, 10 for an answer. */
export const MAX_EARLY_COST = 1_000;
/** Cost of what all senders together are refused then. */
export const MAX_EARLY_TOTAL_COST = 10_000;
/** Wait for the peer of `connect`, in milliseconds. */
export const CONNECT_TIMEOUT = 10_000;
/** Errors of a batch that `validateMessage` lists, and warnings. */
export const MAX_FINDINGS = 10_000;
/** Messages of a window that `connect` reads though their origin is not allowed. */
export const MAX_FOREIGN_READS = 32;
/** Silence of the peer, where no lock shows that it lives, in milliseconds. */
export const HEARTBEAT = 10_000;
/** Calls that wait for the next session. */
export const MAX_SESSION_QUEUE = 10_000;
/** Shortest heartbeat, in milliseconds. */
export const MIN_HEARTBEAT = 100;
/** Wait for an answer of a peer whose lock is free, in milliseconds. */
export const ANSWER_TIME = 300;
/** Wait for the own lock before the handshake begins, in milliseconds. */
export const LOCK_TIMEOUT = 100;
/** Wait for the goodbye that explains a sign of death, and time that an unused answer to a hello is kept, in milliseconds. */
export const GOODBYE_TIMEOUT = 100;
/** Wait for a goodbye whose copy has come over the window, and time that an unused answer is kept then, in milliseconds. */
export const COPIED_GOODBYE_TIMEOUT = 1_000;
/** Silence of a frame that has loaded again, in milliseconds. */
export const RELOAD_SILENCE = 1_000;
/** Time between two looks at a window while calls wait, in milliseconds. */
export const WINDOW_CHECK_INTERVAL = 500;
/** Features in the hello of a peer. */
export const MAX_FEATURES = 100;
/** Time between two hellos of a peer that are answered, in milliseconds. */
export const MIN_HELLO_INTERVAL = 10;
/** Messages that leave, and are taken, together. */
export const MAX_TOGETHER = 256;
/** Values in a message that waits for others of its turn. */
export const MAX_COALESCED_VALUES = 32;
/** Characters of a string in such a message. */
export const MAX_COALESCED_STRING = 1_000;
/** Items of a stream on their way. */
export const STREAM_WINDOW = 16;
/** Credit of one stream. */
export const MAX_STREAM_CREDIT = 65_536;
/** Credit of all streams of a peer. */
export const MAX_PEER_CREDIT = 65_536;
/** Items that the streams of a link send in one turn of the event loop. */
export const MAX_ITEMS_PER_TURN = 256;
/** Time that the streams of a link, or the frames of a peer over WIPC, take in one turn of the event loop, in milliseconds. */
export const MAX_TURN_TIME = 4;
/** A message on a byte stream. */
export const MAX_MESSAGE_BYTES = 10_485_760;
/** Part of a dropped message, from its start, that is searched for its id. */
export const MAX_BEGINNING = 1_024;
/** Nesting of a value that becomes a Rust type. */
export const MAX_NESTING = 128;
/** Bytes that a peer on a byte stream leaves unread. */
export const MAX_UNWRITTEN_BYTES = 16_777_216;
/** End of a link: handlers that run, a process that ends, in milliseconds. */
export const CLOSE_TIMEOUT = 2_000;
/** Wait for the rest of the output of a process that has exited, in milliseconds. */
export const OUTPUT_GRACE = 250;
/** Wait between SIGTERM and SIGKILL for a process and its descendants, in milliseconds. */
export const TERM_GRACE = 500;
/** A line of standard error that is reported whole. */
export const MAX_STDERR_LINE = 65_536;
/** The payload of a frame of WIPC. */
export const MAX_PAYLOAD = 4_294_967_295;
/** Bytes that are read ahead while reading pauses. */
export const READ_AHEAD = 1_048_576;
/** Wait for answers on their way once nothing can be written, in milliseconds. */
export const WRITE_GRACE = 1_000;
/** Work of a guest in Node after its host has closed or gone, in milliseconds. */
export const EXIT_TIMEOUT = 5_000;
/** Bytes on their way into a WASI guest, at most. */
export const MAX_CAPACITY = 268_435_456;
/** Wait for the worker of a WASI guest, in milliseconds. */
export const START_TIMEOUT = 10_000;
/** Bytes of a WASI guest that nobody has read. */
export const MAX_UNREAD_OUTPUT = 1_048_576;
/** The option `limits`, where an application sets nothing. */
export const DEFAULTS = { pendingCalls: 1_000_000, inFlight: 1_024, batchItems: 1_000, idLength: 1_024 };
