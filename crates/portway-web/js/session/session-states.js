// The states of a session transport, and the errors with which a session ends. PROTOCOL.md has the diagram.

import { callError, peerGoneError } from "../driver/errors.js";

/**
 * No session exists: the first session has not begun, or the last session has ended. Messages of the application are
 * queued.
 */
export const CONNECTING = 0;
export const OPEN = 1;
/** The window may contain another document. The peer was pinged, and its silence ends the session. */
export const RELOAD_SUSPECTED = 2;
/**
 * A copy of the peer's goodbye has arrived over the window. The session ends when the goodbye arrives on the port, or
 * after a timeout. A liveness failure does not end the session earlier.
 */
export const GOODBYE_PENDING = 3;
/** The transport was destroyed, or was replaced by a newer connection. No session follows. */
export const CLOSED = 4;

export const ANOTHER_DOCUMENT = "another document is in its window";

export const sessionEndedError = (text = "the peer has reloaded, navigated or closed") =>
  callError("session-ended", text);

export const replacedError = (cause) => peerGoneError("another connection has taken its place", cause);
