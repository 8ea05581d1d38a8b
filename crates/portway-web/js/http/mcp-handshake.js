// The handshake with an MCP server: `server/discover` of the modern era, and `initialize` of the legacy era. The state
// machine in Rust decides which of them is sent.

import { MCP_DISCOVER_TIMEOUT } from "../driver/limit-values.js";
import { setTimer } from "../driver/timers.js";
import { HttpFailure } from "./http-client.js";

const META = "io.modelcontextprotocol/";

/** The member of `_meta` with the version of a message. Only messages of the modern era have it. */
export const VERSION = `${META}protocolVersion`;

export class Handshake {
  #detection;
  #call;

  /** `era` restricts the handshake to one era. `call(request, signal)` resolves to the response. */
  constructor(rules, era, call) {
    this.#detection = new rules.Detection(era === "legacy" ? "" : undefined, era === "modern" ? "" : undefined);
    this.#call = call;
  }

  /**
   * Runs the handshake for the request `initialize` of the application. Resolves to an object with the `response` for
   * the application, the `era`, the `version`, and the `meta` of later messages. If the server refuses `initialize`,
   * the object has only the `response`.
   */
  async run(initialize, signal) {
    const detection = this.#detection;
    let result;
    let failure;
    try {
      for (;;) {
        const [state, version] = detection.state().split(" ");
        if (state === "failed") throw isDecisive(failure) ? failure : refusal(version, result);
        if (state === "discover") {
          ({ result, failure } = await this.#discover(metaOf(initialize, version), signal));
        } else if (state === "initialize") {
          const params = { ...initialize.params, protocolVersion: version };
          const response = await this.#call({ ...initialize, params }, signal);
          if (response.error) return { response };
          result = response.result;
          failure = undefined;
          if (typeof result?.protocolVersion === "string") detection.initialized(result.protocolVersion);
          else detection.unusable();
        } else if (state === "legacy") {
          return { response: { jsonrpc: "2.0", result }, era: state, version };
        } else {
          const { supportedVersions, resultType, ...server } = result ?? {};
          const answer = { capabilities: {}, ...server, protocolVersion: version };
          return {
            response: { jsonrpc: "2.0", result: answer },
            era: state,
            version,
            meta: metaOf(initialize, version),
          };
        }
      }
    } finally {
      detection.free();
    }
  }

  /**
   * Sends `server/discover`, and passes the reply to the detection. Resolves to the result, or to the failure of HTTP.
   */
  async #discover(meta, signal) {
    const request = { jsonrpc: "2.0", id: "portway.discover", method: "server/discover", params: { _meta: meta } };
    const controller = new AbortController();
    const abort = () => controller.abort();
    const timer = setTimer(abort, MCP_DISCOVER_TIMEOUT);
    signal.addEventListener("abort", abort);
    const detection = this.#detection;
    try {
      const { result, error } = await this.#call(request, controller.signal);
      if (error) {
        const isKnown = this.#addVersions(error.data?.supported);
        detection.error(Number(error.code), isKnown);
        return { result: isKnown ? { supportedVersions: error.data.supported } : undefined };
      }
      if (this.#addVersions(result?.supportedVersions)) detection.discovered();
      else detection.unusable();
      return { result };
    } catch (/** @type {any} */ failure) {
      if (signal.aborted) throw failure;
      // In a page, a server whose CORS headers do not allow the modern headers seems unreachable. So a failure without
      // a status does not end the handshake.
      const status = failure.data?.status;
      if (status === undefined) detection.unusable();
      else detection.status(status);
      return { failure };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  /** Adds the versions of a reply. Returns whether they are a list of strings. */
  #addVersions(versions) {
    const areTexts = Array.isArray(versions) && versions.every((version) => typeof version === "string");
    if (areTexts) for (const version of versions) this.#detection.add_version(version);
    return areTexts;
  }
}

/** Returns the `_meta` of messages of the modern era. */
function metaOf({ params }, version) {
  return {
    [VERSION]: version,
    [`${META}clientInfo`]: params?.clientInfo,
    [`${META}clientCapabilities`]: params?.capabilities ?? {},
  };
}

/** Returns whether a failure of HTTP has a cause other than the versions of the server. */
function isDecisive(failure) {
  const status = failure?.data?.status;
  return failure !== undefined && (status === undefined || status === 401 || status === 403);
}

/** Returns the failure of a handshake with a server that this client cannot use. */
function refusal(reason, result) {
  if (reason === "initialize-refused") return new HttpFailure("the server has not answered initialize with a version");
  const supported = result?.supportedVersions ?? [result?.protocolVersion].filter((version) => version !== undefined);
  const names = supported.length > 0 ? `: ${supported.join(", ")}` : "";
  const text = `this client supports no version of MCP that the server supports${names}`;
  return Object.assign(new HttpFailure(text, { supported }), { reason: "incompatible-version" });
}
