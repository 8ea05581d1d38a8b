// A transport over HTTP: each outgoing message, or each batch, is a POST. Without a dialect, the response contains the
// responses to the requests in the POST. In the dialect `mcp`, the transport is a client of Streamable HTTP.

import { isCall, isRequest } from "../driver/json-text.js";
import { MAX_HTTP_REQUESTS, MAX_MESSAGE_BYTES } from "../driver/limit-values.js";
import { CANCEL, CANCEL_ID } from "../driver/profile.js";
import { checkOptions, checkValue } from "../websocket/check-options.js";
import { exactText } from "../websocket/exact-json.js";
import { HttpClient, HttpFailure, discard, statusFailure } from "./http-client.js";
import { McpSession } from "./mcp-session.js";
import { missingResponse, parse, responsesTo } from "./responses.js";

const OPTIONS = {
  headers: ["an object or a function"],
  fetch: ["a function"],
  era: ["a string"],
  maxMessage: ["a number of bytes", 1],
  maxRequests: ["a number of requests", 1],
};

/** @type {typeof import("../../types/mcp.js").httpTransport} */
export function httpTransport(url, options = {}) {
  checkValue("options", options, "an object");
  // An array of pairs is also a value for headers.
  checkOptions({ ...options, headers: Array.isArray(options.headers) ? {} : options.headers }, OPTIONS);
  const { headers, fetch = globalThis.fetch, era, maxMessage = MAX_MESSAGE_BYTES } = options;
  const { maxRequests = MAX_HTTP_REQUESTS } = options;
  if (era !== undefined && era !== "legacy" && era !== "modern")
    throw new RangeError('era must be "legacy", "modern" or undefined');
  const href = checkUrl(url);
  const http = new HttpClient(
    href,
    (url, init) => fetch(url, init),
    typeof headers === "function" ? headers : () => headers,
    maxMessage,
  );
  /** The POSTs that have not ended. */
  const posts = new Set();
  /** The POST of each pending request, by the id of the request. */
  const running = new Map();
  let isClosed = false;
  // The functions of the link.
  let receive = (_) => {};
  let isServing = () => false;
  let report = (..._) => {};
  let CallError;
  /** @type {McpSession | undefined} */
  let session;

  /** Converts a failure to an error of the link. A transport without a link rejects with the failure itself. */
  function callError(failure, message) {
    if (!CallError) return failure;
    const { reason = "http-failed", data = {} } = failure;
    const { method, id } = message ?? {};
    return Object.assign(new CallError(reason, failure.message, method, id, failure.cause ?? failure), { data });
  }

  /**
   * Runs `work` for the messages of one POST. Rejects with the error of the requests that remain without a response, or
   * of a notification. Does not reject after the requests were cancelled.
   */
  async function run(messages, work) {
    const controller = new AbortController();
    const ids = messages.filter(isRequest).map(({ id }) => id);
    const post = { controller, pending: new Set(ids) };
    posts.add(post);
    for (const id of ids) running.set(id, post);
    try {
      await work(controller.signal, ids);
    } catch (error) {
      if (!controller.signal.aborted) throw callError(error, messages[0]);
    } finally {
      posts.delete(post);
      for (const id of ids) if (running.get(id) === post) running.delete(id);
    }
  }

  /** Ends the POST of a request, if no other request of the POST is pending. */
  function cancel(id) {
    const post = running.get(id);
    if (!post) return;
    running.delete(id);
    post.pending.delete(id);
    if (post.pending.size === 0) post.controller.abort();
  }

  /** Sends one POST without a dialect, and passes its responses to the link. */
  async function exchange(body, signal, ids) {
    const type = { "content-type": "application/json", accept: "application/json" };
    const response = await http.send({ method: "POST", body, signal }, type);
    const { ok, status } = response;
    if (ids.length === 0 || status === 401 || status === 403) {
      discard(response);
      if (!ok) throw statusFailure(response);
      return;
    }
    const text = await http.text(response);
    if (ok && text === "")
      throw new HttpFailure(`the response to a request must have a body, got none with the status ${status}`);
    let messages;
    try {
      messages = parse(text, (...values) => report(...values));
    } catch (error) {
      throw ok ? error : statusFailure(response);
    }
    const responses = responsesTo(ids, messages);
    for (const response of responses) receive(response);
    const missing = ids.find((id) => !responses.some((response) => response.id === id));
    if (missing !== undefined) throw ok ? missingResponse(missing, messages) : statusFailure(response);
  }

  /** Sends a message in the dialect `mcp`. */
  function sendMcp(message) {
    const { method, params } = message;
    if (method === "notifications/cancelled") {
      cancel(params?.requestId);
      // In the modern era, the end of the POST cancels the request at the server.
      if (session?.era !== "legacy") return;
    }
    if (session?.consume(message)) return;
    const sent = run([message], (signal) => /** @type {McpSession} */ (session).exchange(message, signal));
    if (isCall(message)) return sent;
    // The link would send an error in place of a response that cannot be sent.
    sent.catch((error) => report(error));
  }

  /** @type {any} The link uses members that are not declared. */
  const transport = {
    get era() {
      return session?.era;
    },
    send(message, transfer) {
      if (transfer?.length > 0) throw new TypeError("HTTP cannot transfer objects");
      const messages = [message].flat();
      const text = Array.isArray(message) ? `[${message.map(exactText)}]` : exactText(message);
      checkValue("maxMessage", maxMessage, OPTIONS.maxMessage[0], text.length);
      const requests = messages.filter(isRequest);
      if (requests.length > 0 && running.size + requests.length > maxRequests)
        throw callError(
          Object.assign(new HttpFailure(`more than ${maxRequests} requests are pending`), { reason: "too-many-calls" }),
          requests[0],
        );
      if (isClosed) return;
      if (session) return sendMcp(message);
      // The end of the POST cancels the request at the server.
      if (message.method === CANCEL) return cancel(message.params?.[CANCEL_ID]);
      return run(messages, (signal, ids) => exchange(text, signal, ids));
    },
    onMessage(...functions) {
      [receive, isServing] = functions;
    },
    onClose(...functions) {
      CallError = functions[5];
      const isMcp = functions[6];
      if (isMcp)
        session = new McpSession(
          http,
          era,
          // A function of the application may send the requests to any server.
          options.fetch ? undefined : new URL(href).origin,
          maxMessage,
          (message) => receive(message),
          () => isServing(),
          (...values) => report(...values),
        );
    },
    onError(handler) {
      report = handler;
    },
    destroy() {
      if (isClosed) return;
      isClosed = true;
      for (const { controller } of posts) controller.abort();
      session?.close();
    },
  };
  return transport;
}

function checkUrl(url) {
  const text = url?.href ?? url;
  checkValue("url", text, "a string or URL");
  const { protocol, username, password, href } = new URL(text, globalThis.location?.href);
  if (!/^https?:$/.test(protocol)) throw new TypeError(`url must begin with http:// or https://, got ${protocol}`);
  if (username || password) throw new TypeError("url must not contain a user; use the header Authorization");
  return href;
}
