// A client of Streamable HTTP (MCP 2025-11-25 and 2026-07-28, basic/transports). The rules of eras, events and headers
// are those of the native client, in wasm. The application sends `initialize` in both eras. If the server is of the
// modern era, this file answers that request itself.

import { isCall, isRequest } from "../driver/json-text.js";
import {
  HTTP_CLOSE_TIMEOUT,
  MAX_HTTP_RESUMES,
  MAX_HTTP_RETRY_DELAY,
  MAX_MCP_ORIGINS,
  MAX_MCP_ROUNDS,
} from "../driver/limit-values.js";
import { exactText } from "../websocket/exact-json.js";
import { EventReader, isStream, pause } from "./event-reader.js";
import { HttpFailure, discard, mediaType, statusFailure } from "./http-client.js";
import { Handshake, VERSION } from "./mcp-handshake.js";
import { loadRules } from "./mcp-wasm.js";
import { RequestHeaders } from "./request-headers.js";
import { missingResponse, parse, responsesTo } from "./responses.js";

const ACCEPT = "application/json, text/event-stream";
const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };

/** The eras of servers that were detected, by origin, the oldest detection first. */
const eras = new Map();

export class McpSession {
  /**
   * The era of the server. Undefined before `initialize`.
   * @type {"legacy" | "modern" | undefined}
   */
  era = undefined;
  #http;
  #eraOption;
  #origin;
  #maxBytes;
  #receive;
  #isServing;
  #report;
  /** @type {any} The classes and functions of the wasm. */
  #rules;
  /** @type {any} The headers that the tools of the server name. */
  #headers;
  /** The members of `_meta` in each message. Only the modern era has them. */
  #meta;
  /**
   * The session of the legacy era: `id`, `version`, the request `initialize`, whether CORS may hide the id, and the
   * `controller` of its stream.
   * @type {any}
   */
  #session = {};
  /** Other messages wait for this promise, which never rejects. */
  #barrier;
  /** The functions that end the requests for input, by the ids of the requests. */
  #inputs = new Map();
  #lastInput = 0;
  #closing = new AbortController();

  /** Without `origin`, the detected era is not kept for later sessions. */
  constructor(http, era, origin, maxBytes, receive, isServing, report) {
    this.#http = http;
    this.#eraOption = era;
    this.#origin = origin;
    this.#maxBytes = maxBytes;
    this.#receive = receive;
    this.#isServing = isServing;
    this.#report = report;
  }

  /** Handles a message of the link that is not sent. Returns whether the message is such a message. */
  consume({ method, id, ...rest }) {
    if (method === INITIALIZED.method) return this.era === "modern";
    const resolve = method === undefined && this.#inputs.get(id);
    if (!resolve) return false;
    resolve(rest);
    return true;
  }

  /** Sends a message of the link, and passes the response to the link. */
  exchange(message, signal) {
    if (message.method === "initialize" && isRequest(message))
      return this.#blocking(() => this.#begin(message, signal));
    if (message.method === INITIALIZED.method)
      return this.#blocking(async () => {
        await this.#call(message, signal);
        this.#startStream();
      });
    return this.#send(message, signal);
  }

  /** Ends the session at the server, and all requests that this object has started. */
  close() {
    this.#closing.abort();
    this.#session.controller?.abort();
    if (this.#session.id === undefined) return;
    // The server may refuse to end the session, or may not respond.
    const init = { method: "DELETE", keepalive: true, signal: AbortSignal.timeout(HTTP_CLOSE_TIMEOUT) };
    this.#http.send(init, this.#versionHeader(), this.#sessionHeader()).then(discard, () => {});
  }

  // Requests of the link.

  /** Runs `work` after the messages before it. Later messages wait for its end. */
  #blocking(work) {
    const before = this.#barrier;
    return this.#block(
      (async () => {
        await before;
        await work();
      })(),
    );
  }

  #block(work) {
    this.#barrier = Promise.allSettled([this.#barrier, work]);
    return work;
  }

  async #send(message, signal) {
    // A response may be one that the server waits for before it answers `initialize`.
    if (isCall(message)) await this.#barrier;
    let params = message.params;
    for (let round = 0; round < MAX_MCP_ROUNDS; round++) {
      const sent = { ...message, ...(isCall(message) && this.#withMeta(params)) };
      // Each request has an id of its own.
      if (round > 0) sent.id = `${message.id}/${round}`;
      const response = await this.#call(sent, signal);
      if (response === undefined) return;
      const { result } = response;
      const type = this.era === "modern" ? (result?.resultType ?? "complete") : "complete";
      if (type === "complete") return this.#deliver(message, response);
      if (type !== "input_required")
        throw invalid(`resultType must be "complete" or "input_required", got ${JSON.stringify(type)}`);
      const { error, ...answers } = await this.#answersTo(result, signal);
      if (error) return this.#deliver(message, { jsonrpc: "2.0", error });
      params = { ...message.params, ...answers };
    }
    throw invalid(`the server has asked for input more often than ${MAX_MCP_ROUNDS} times`);
  }

  #deliver({ id, method }, response) {
    const tools = method === "tools/list" && this.era === "modern" && response.result?.tools;
    if (Array.isArray(tools)) response.result.tools = tools.filter((tool) => this.#isValidTool(tool));
    this.#receive({ ...response, id });
  }

  /** Reads the headers that a tool names. Returns whether the tool keeps the rules. */
  #isValidTool(tool) {
    const { name, inputSchema } = Object(tool);
    const problem = this.#headers.readTool(typeof name === "string" ? name : "", inputSchema);
    if (problem !== undefined) this.#report(new Error(`the tool ${JSON.stringify(name)} is left out: ${problem}`));
    return problem === undefined;
  }

  #withMeta(params) {
    return this.#meta ? { params: { ...params, _meta: { ...this.#meta, ...params?._meta } } } : { params };
  }

  /** Runs the handlers of the application for the input that a result asks for. */
  async #answersTo({ inputRequests, requestState }, signal) {
    const responses = [];
    for (const [key, request] of Object.entries(inputRequests ?? {})) {
      const { method, params } = Object(request);
      const { result, error } = await this.#ask(method, params, signal);
      if (error) return { error: { ...error, message: `the handler of ${method} has failed: ${error.message}` } };
      responses.push([key, result]);
    }
    // The next request has only the members that the result requires.
    return {
      ...(responses.length > 0 && { inputResponses: Object.fromEntries(responses) }),
      ...(requestState !== undefined && { requestState }),
    };
  }

  /** Passes a request to the handlers of the application. Resolves to their result or error. */
  async #ask(method, params, signal) {
    if (typeof method !== "string" || !this.#isServing())
      return { error: { code: -32601, message: "Method not found" } };
    const id = `portway.input.${++this.#lastInput}`;
    const abort = () => {
      this.#receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      this.#inputs.get(id)?.({ error: { message: "cancelled" } });
    };
    signal.addEventListener("abort", abort);
    try {
      return await new Promise((resolve) => {
        this.#inputs.set(id, resolve);
        this.#receive({ jsonrpc: "2.0", id, method, params });
      });
    } finally {
      this.#inputs.delete(id);
      signal.removeEventListener("abort", abort);
    }
  }

  // The handshake.

  /** Detects the era, and answers the request `initialize` of the application. */
  async #begin(message, signal) {
    await this.#loadRules();
    const run = (era) =>
      new Handshake(this.#rules, era, (request, signal) => this.#call(request, signal)).run(message, signal);
    const given = this.era ?? this.#eraOption;
    const kept = given ? undefined : eras.get(this.#origin);
    // A server that refuses its earlier era may have been replaced.
    let outcome = kept && (await run(kept).catch(() => undefined));
    if (!outcome?.era) outcome = await run(given);
    const { response, era, version, meta } = outcome;
    if (era !== undefined) {
      if (!given && this.#origin) keepEra(this.#origin, era);
      this.era = era;
      this.#meta = meta;
      this.#session.version = era === "legacy" ? version : undefined;
    }
    this.#receive({ ...response, id: message.id });
  }

  async #loadRules() {
    this.#rules ??= await loadRules();
    this.#headers ??= new RequestHeaders(this.#rules);
  }

  /** Begins a new session by the earlier request `initialize`. Requests of the ended session share the new one. */
  #renew(ended) {
    return (ended.renewal ??= this.#block(this.#beginAgain(ended)));
  }

  async #beginAgain({ initialize, controller }) {
    const { signal } = this.#closing;
    controller?.abort();
    this.#session = { initialize };
    const { result, error } = /** @type {any} */ (await this.#exchangeOnce(initialize, undefined, signal));
    if (error) throw new HttpFailure(`the server has refused a new session: ${error.message}`);
    this.#session.version = result?.protocolVersion;
    await this.#exchangeOnce(INITIALIZED, undefined, signal);
    this.#startStream();
  }

  // HTTP.

  /**
   * Sends a message, and resolves to the response. If the session has ended, begins one new session, and sends the
   * message once more. The server has not handled such a message. No other message is sent again.
   */
  async #call(message, signal) {
    await this.#loadRules();
    const version = message.params?._meta?.[VERSION];
    const session = this.#session;
    let response = await this.#post(message, version, signal);
    if (response.status === 404 && session.id !== undefined && version === undefined) {
      discard(response);
      await this.#renew(session);
      response = await this.#post(message, version, signal);
    }
    return this.#read(message, version, response, signal);
  }

  async #exchangeOnce(message, version, signal) {
    return this.#read(message, version, await this.#post(message, version, signal), signal);
  }

  #post(message, version, signal) {
    const headers = { accept: ACCEPT, "content-type": "application/json", ...this.#versionHeader(version) };
    if (version !== undefined) {
      headers["mcp-method"] = message.method;
      Object.assign(headers, this.#headers.of(message));
    }
    const init = { method: "POST", body: exactText(message), signal };
    return this.#http.send(init, headers, version === undefined ? this.#sessionHeader() : {});
  }

  #versionHeader(version = this.#session.version) {
    return version === undefined ? {} : { "mcp-protocol-version": version };
  }

  #sessionHeader() {
    const { id } = this.#session;
    return id === undefined ? {} : { "mcp-session-id": id };
  }

  /** Reads the response to a message. Resolves to undefined if the message is not a request. */
  async #read(message, version, response, signal) {
    const { id, method } = message;
    const { ok, status } = response;
    if (method === "initialize" && ok) this.#beginSession(message, response);
    // A server with sessions refuses a message without the id of its session with 400.
    const lacksId = status === 400 && version === undefined && this.#session.mayHideId;
    if (!isRequest(message) || status === 401 || status === 403 || lacksId) {
      discard(response);
      if (ok) return;
      const hint = "; if it has sessions, it must also send Access-Control-Expose-Headers: Mcp-Session-Id";
      throw statusFailure(response, lacksId ? hint : "");
    }
    const type = mediaType(response);
    if (ok && type === "text/event-stream") return this.#readStream(message, version, response, signal);
    if (type !== "application/json") {
      discard(response);
      if (!ok) throw statusFailure(response);
      if (!type)
        throw new HttpFailure(`the response to a request must have a body, got none with the status ${status}`);
      throw new HttpFailure(`Content-Type must be application/json or text/event-stream, got "${type}"`);
    }
    const text = await this.#http.text(response);
    let messages;
    try {
      messages = parse(text, this.#report);
    } catch (error) {
      throw ok ? error : statusFailure(response);
    }
    const [own] = responsesTo([id], messages);
    if (own === undefined) throw ok ? missingResponse(id, messages) : statusFailure(response);
    // Servers of 2025-03-26 may put several messages into an array.
    for (const message of messages) if (isCall(message)) this.#receive(message);
    return own;
  }

  #beginSession(initialize, response) {
    this.#session.controller?.abort();
    const id = response.headers.get("mcp-session-id") ?? undefined;
    this.#session = { id, initialize, mayHideId: id === undefined && response.type === "cors" };
  }

  #get(position, signal) {
    const headers = { accept: "text/event-stream", ...this.#versionHeader() };
    if (position.lastEventId) headers["last-event-id"] = position.lastEventId;
    return this.#http.send({ method: "GET", cache: "no-store", signal }, headers, this.#sessionHeader());
  }

  #newReader(onMessages) {
    return new EventReader(this.#http, this.#rules, this.#maxBytes, this.#report, onMessages);
  }

  /** Reads the stream of a response. In the legacy era, continues the stream if the server closes it early. */
  async #readStream(message, version, response, signal) {
    const reader = this.#newReader((messages) => {
      const [own] = responsesTo([message.id], messages);
      for (const message of messages) if (isCall(message)) this.#receive(message);
      return own;
    });
    for (let next = response; ; ) {
      let problem = new HttpFailure("the stream ended before the response");
      try {
        const found = next && (await reader.read(next));
        if (found) return found;
      } catch (/** @type {any} */ error) {
        problem = error;
      }
      const canResume = reader.lastEventId && version === undefined && reader.emptyStreams <= MAX_HTTP_RESUMES;
      if (signal.aborted || !canResume) throw problem;
      await pause(reader.delay(MAX_HTTP_RETRY_DELAY), signal);
      next = await this.#get(reader, signal).catch(() => void reader.emptyStreams++);
      if (next && !isStream(next)) {
        discard(next);
        throw statusFailure(next);
      }
    }
  }

  /** Opens the stream of the messages that the server sends by itself, until the server has no such stream. */
  async #startStream() {
    const session = this.#session;
    if (this.era === "modern" || this.#closing.signal.aborted) return;
    const { signal } = (session.controller = new AbortController());
    const reader = this.#newReader((messages) => messages.forEach(this.#receive));
    let hasOpened = false;
    while (!signal.aborted) {
      const response = await this.#get(reader, signal).catch(() => void reader.emptyStreams++);
      if (response && isStream(response)) {
        hasOpened = true;
        // After an error, the stream is requested again, too.
        await reader.read(response).catch(() => {});
      } else if (response) {
        discard(response);
        if (response.status < 500) return;
        reader.emptyStreams++;
      } else if (!hasOpened && reader.emptyStreams > MAX_HTTP_RESUMES) return;
      await pause(reader.delay(MAX_HTTP_RETRY_DELAY), signal);
    }
  }
}

function keepEra(origin, era) {
  eras.delete(origin);
  eras.set(origin, era);
  if (eras.size > MAX_MCP_ORIGINS) eras.delete(eras.keys().next().value);
}

function invalid(text) {
  return Object.assign(new HttpFailure(text), { reason: "invalid-response" });
}
