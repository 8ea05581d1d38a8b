// The dialect `mcp`: how the Model Context Protocol cancels a request, reports progress, and sends a result without a
// value. The rules are those of MCP 2025-11-25: basic/utilities/cancellation, basic/utilities/progress, and the schema.
// Links without a dialect use none of this code.

import { INTERNAL_ERROR, truncate } from "./errors.js";
import { isMessageOrBatch } from "./envelope.js";
import { abortError } from "./messages.js";
import { CANCEL, CANCEL_ID, CANCEL_REASON, PROGRESS, PROGRESS_TOKEN, PROGRESS_VALUE } from "./profile.js";
import { RequestDispatcher } from "./request-dispatcher.js";

const CANCELLED = "notifications/cancelled";
const PROGRESSED = "notifications/progress";
/** No peer may cancel this request. */
const INITIALIZE = "initialize";

/** A message that the link answers with the error -32600 and the id null. */
const REFUSED = { jsonrpc: "2.0", method: "refused", id: {} };

/**
 * Returns whether a client or server with these options uses the dialect. `isMcp` is whether the link of the transport
 * uses the dialect. `isMcp` is undefined if the transport has no link yet.
 */
export function checkDialect(options, isMcp) {
  const dialect = options?.dialect;
  if (dialect !== undefined && dialect !== "mcp")
    throw new TypeError(`dialect must be "mcp" or undefined, got ${String(dialect)}`);
  isMcp ??= !!dialect;
  if (dialect && !isMcp)
    throw new TypeError('dialect must be "mcp" for the first client or server on a transport, got undefined');
  if (isMcp && options?.coalesce) throw new TypeError('coalesce must be false with the dialect "mcp"');
  return isMcp;
}

/** Returns the error of `batch`. */
export function noBatches() {
  return new TypeError('the dialect "mcp" has no batches; use request()');
}

/** Converts the messages between a link and its transport. The link uses this object in place of the transport. */
export class McpDialect {
  #link;
  #transport;
  #observers;

  /** `observers` has the ids of the calls with `onProgress`. These ids are also the tokens of progress. */
  constructor(link, transport, observers) {
    this.#link = link;
    this.#transport = transport;
    this.#observers = observers;
  }

  send(message, transfer) {
    return this.#transport.send(this.#outgoing(message), transfer);
  }

  onMessage(handler, isServing) {
    this.#transport.onMessage((message) => {
      // If the transport does not clone messages, the members of a message may be getters that throw.
      try {
        this.#receive(message, handler);
      } catch (error) {
        this.#link.report(error);
      }
    }, isServing);
  }

  /** Notifies the peer that the response to a call is not needed. */
  cancel(requestId, method, reason) {
    if (method !== INITIALIZE) this.#link.sendIfConnected(CANCELLED, { requestId, reason: textOf(reason) });
  }

  /** Sends a progress value, if the peer has asked for the progress of the request. */
  progress({ progressToken }, value, transfer) {
    const fields = typeof value === "object" ? value : { progress: value };
    if (!Number.isFinite(fields?.progress))
      throw new TypeError("progress must be a finite number or { progress, total, message }");
    if (progressToken !== undefined) this.#link.sendNotification(PROGRESSED, { ...fields, progressToken }, transfer);
  }

  #outgoing(message) {
    const { method, params, result, error, id } = message;
    if (method === undefined) {
      if (error === undefined && (typeof result !== "object" || Array.isArray(result)))
        return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message: `the result ${mustBeObject(result)}` }, id };
      return result === null ? { ...message, result: {} } : message;
    }
    if (Array.isArray(params)) throw new TypeError(`params of "${truncate(method)}" ${mustBeObject(params)}`);
    if (method.startsWith("rpc."))
      throw new TypeError(`"${truncate(method)}" is refused: the dialect "mcp" has no streams and no rpc.* methods`);
    if (id === undefined || !this.#observers.has(id)) return message;
    return { ...message, params: { ...params, _meta: { ...params?._meta, progressToken: id } } };
  }

  #receive(message, handler) {
    if (!isMessageOrBatch(message)) return;
    if (!Array.isArray(message)) return this.#receiveSingle(message, handler);
    // A peer of MCP 2025-03-26 may put its responses into an array. Each response ends its call.
    const responses = message.filter(isAnswer);
    for (const response of responses) handler(response);
    if (responses.length < message.length) handler(REFUSED);
  }

  #receiveSingle(message, handler) {
    const { method, params, id } = message;
    if (id === null && method !== undefined) return handler(REFUSED);
    if (id !== undefined || typeof method !== "string") return handler(message);
    if (method === CANCELLED)
      handler(notification(CANCEL, { [CANCEL_ID]: params?.requestId, [CANCEL_REASON]: params?.reason }));
    else if (method === PROGRESSED && this.#observers.has(params?.progressToken)) {
      const { progressToken, ...value } = params;
      handler(notification(PROGRESS, { [PROGRESS_TOKEN]: progressToken, [PROGRESS_VALUE]: value }));
      // This dialect drops the notifications that belong to the extensions of this library.
    } else if (method !== CANCEL && method !== PROGRESS && !method.startsWith("rpc.")) handler(message);
  }
}

/** Runs the requests of the peer. A request that the peer has cancelled is not answered. */
export class McpDispatcher extends RequestDispatcher {
  servesStreams = false;

  dispatch(slot, request, batch) {
    request.progressToken = tokenOf(request.params);
    super.dispatch(slot, request, batch);
  }

  /**
   * Aborts the request with this id, which the peer has cancelled. `reason` is the text that the peer has sent as the
   * reason, if any.
   */
  cancel(id, reason) {
    const request = this.find(id);
    if (request === undefined || request.method === INITIALIZE) return;
    this.discard(request);
    request.abort(reason && typeof reason === "string" ? abortError(reason) : undefined);
  }
}

function notification(method, params) {
  return { jsonrpc: "2.0", method, params };
}

function mustBeObject(value) {
  return `must be an object in the dialect "mcp", got ${Array.isArray(value) ? "an array" : typeof value}`;
}

function isAnswer({ method, result, error }) {
  return method === undefined && (result !== undefined || error !== undefined);
}

/** Returns the token for the progress of a request, or undefined if there is none. */
function tokenOf(params) {
  // A member of a message that is not cloned may be a getter that throws.
  try {
    const token = params?._meta?.progressToken;
    return typeof token === "string" || typeof token === "number" ? token : undefined;
  } catch {}
}

/** Returns the text of the reason of a signal. The reason may be any value, so its conversion may throw. */
function textOf(reason) {
  try {
    return String(reason?.message ?? reason);
  } catch {}
}
