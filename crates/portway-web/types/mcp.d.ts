// `portway/mcp`: a transport over HTTP, for JSON-RPC and for the Model Context Protocol (MCP).

import type { BuiltInTransport, CallError } from "./portway.js";

/** The headers of a request: an object, pairs, or `Headers`. */
export type HttpHeaders = Iterable<readonly [string, string]> | Readonly<Record<string, string>>;

/** The era of an MCP server: the versions with `initialize` (to 2025-11-25), or those without (from 2026-07-28 on). */
export type McpEra = "legacy" | "modern";

/** The error of a call whose response HTTP has not delivered. `reason` is `http-failed`. */
export interface HttpError extends CallError {
  readonly data: {
    /** The status of the HTTP response. Undefined if there was no response, or if the response is invalid. */
    readonly status?: number;
    /**
     * The header `WWW-Authenticate` of the response. A page can read this header of another origin only if the server
     * sends `Access-Control-Expose-Headers: WWW-Authenticate`.
     */
    readonly challenge?: string;
  };
}

/** Options of `httpTransport`. */
export interface HttpTransportOptions {
  /**
   * Further headers of each request, for example `Authorization`. A function is called for each request, and may return
   * a promise, so that it can renew a token.
   */
  headers?: HttpHeaders | (() => HttpHeaders | undefined | PromiseLike<HttpHeaders | undefined>) | undefined;
  /**
   * The function that sends requests. Default: the global `fetch`. For example, a function of the application can add
   * `credentials`.
   */
  fetch?: ((url: string, init: any) => PromiseLike<any>) | undefined;
  /**
   * The era of the MCP server, if it is known, for example from `era` of an earlier transport to the same server.
   * Default: `initialize` detects the era. If the option `fetch` is not set, the detected era is kept for further
   * transports to the same origin. It is detected again if the server refuses it.
   */
  era?: McpEra | undefined;
  /** The maximum length of a message, of an event and of a body, in bytes. Default: 10 485 760. */
  maxMessage?: number | undefined;
  /** The maximum number of pending requests. Default: 1 024. */
  maxRequests?: number | undefined;
}

/** A transport that `httpTransport` returns. */
export interface HttpTransport extends BuiltInTransport {
  /** The era of the MCP server. Undefined before the response to `initialize`, and without the dialect `mcp`. */
  readonly era: McpEra | undefined;
}

/**
 * Returns a transport to an HTTP server. Without a dialect, each message or batch is a POST, and its response has the
 * responses as JSON. With the dialect `mcp`, the transport is a client of Streamable HTTP in both eras of MCP, see
 * docs/mcp.md. Redirections are not followed.
 *
 * If HTTP delivers no response, the call rejects with an `HttpError`. The server may have handled the request, unless
 * `data.status` is set. No request is sent again, except after a server has lost its session.
 *
 * Throws a `TypeError` if the URL or an option is invalid.
 */
export function httpTransport(url: string | URL, options?: HttpTransportOptions): HttpTransport;

/** The next action of a client of MCP. `version` is the version to send, or the version of the connection. */
export type McpEraState =
  | { readonly action: "discover" | "initialize" | "legacy" | "modern"; readonly version: string }
  | { readonly action: "failed"; readonly reason: "no-common-version" | "initialize-refused" }
  | { readonly action: "failed"; readonly reason: "denied"; readonly status: number };

/**
 * A reply of an MCP server: the `supportedVersions` of a result of `server/discover`, the `protocolVersion` of a result
 * of `initialize`, the code of an error and the list `supported` of its data, an HTTP status without an error response,
 * or any other reply, or none.
 */
export type McpEraReply =
  | { readonly discovered: readonly string[] }
  | { readonly initialized: string }
  | { readonly error: number; readonly supported?: readonly string[] }
  | { readonly status: number }
  | "unusable";

/** Detects the era of an MCP server. */
export interface McpEraDetection {
  readonly state: McpEraState;
  /** Handles the reply to the request of the current state. */
  handle(reply: McpEraReply): void;
}

/**
 * Returns a detection of the era of an MCP server, for a client with a transport of its own. `httpTransport` does this
 * by itself. `modern` and `legacy` are the versions of the client, the preferred versions first. Default: the versions
 * of this package.
 */
export function detectEra(versions?: {
  readonly modern?: readonly string[] | undefined;
  readonly legacy?: readonly string[] | undefined;
}): Promise<McpEraDetection>;
