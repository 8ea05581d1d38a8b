// HTTP servers that a spec controls, and peers that connect to these servers.

import { assert } from "chai";
import { afterThisTest } from "./cleanup.js";
import { JSONRPCPeer, inNode, packaged } from "./portway.js";
import { pause } from "./outcomes.js";

export const { detectEra, httpTransport } = await import(packaged("mcp.js"));

async function post(values) {
  const origin = inNode ? globalThis.portwayRunner : location.origin;
  const response = await fetch(`${origin}/sites`, { method: "POST", body: JSON.stringify(values) });
  return response.json();
}

/**
 * Starts a site of another origin. `respond(request, tools)` returns the response to a request. It runs in the process
 * of the server, so it cannot use other variables of the spec. `tools.data` is the option `data`. `toolsFor` in
 * `runner/sites.mjs` has the other tools.
 */
export async function startSite(respond, options = {}) {
  const { number, url } = await post({ action: "site-start", script: respond.toString(), ...options });
  const log = () => post({ action: "site-log", number });
  return {
    url,
    /** Returns the requests so far. */
    log,
    /** Returns the names of the requests so far: the method of the message, or of HTTP. */
    names: async () => (await log()).map(({ name }) => name),
    /** Waits until a request passes the test, and returns it. */
    async request(test) {
      const isWanted = typeof test === "string" ? ({ name }) => name === test : test;
      for (const deadline = Date.now() + 10_000; Date.now() < deadline; await pause(10)) {
        const found = (await log()).find(isWanted);
        if (found) return found;
      }
      assert.fail(`no request passes ${test}: ${(await log()).map(({ name }) => name)}`);
    },
  };
}

/** All sites have one origin. With this function, a transport does not keep the era of a site for other sites. */
const send = (url, init) => fetch(url, init);

/**
 * Returns a function for the option `fetch`, and a count of the bytes that the transport has read from the bodies. The
 * server cannot count them: a browser under load receives hundreds of megabytes before the page can close the body.
 * The size of chunks is up to the browser: some have several megabytes.
 */
export function countedFetch() {
  const count = { bytes: 0, largestChunk: 0 };
  return {
    count,
    async fetch(url, init) {
      const response = await fetch(url, init);
      const reader = response.body?.getReader();
      const read = async () => {
        const { done, value } = await reader.read();
        count.bytes += value?.length ?? 0;
        count.largestChunk = Math.max(count.largestChunk, value?.length ?? 0);
        return { done, value };
      };
      const body = reader && { getReader: () => ({ read, cancel: () => reader.cancel() }) };
      return Object.defineProperty(response, "body", { value: body });
    },
  };
}

/** Returns a peer over HTTP without a dialect, its transport, and the errors that the peer reports. */
export function plainPeer(url, options, peerOptions) {
  const errors = [];
  const transport = httpTransport(url, { fetch: send, ...options });
  const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error), ...peerOptions });
  afterThisTest(() => peer.destroy());
  return { peer, transport, errors };
}

/** Returns a peer in the dialect `mcp` over HTTP, its transport, and the errors that the peer reports. */
export function mcpPeer(url, options, peerOptions) {
  return plainPeer(url, options, { dialect: "mcp", ...peerOptions });
}

export const clientInfo = { name: "specs", version: "1.2.3" };

/** Sends `initialize` and `notifications/initialized`, and returns the result of `initialize`. */
export async function initialize(peer, capabilities = {}) {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
  const result = await peer.request("initialize", params, { timeout: 20_000 });
  peer.notify("notifications/initialized");
  return result;
}

/** Returns a peer that has sent `initialize` to a site. */
export async function connectMcp(url, options, peerOptions, capabilities) {
  const connection = mcpPeer(url, options, peerOptions);
  const server = await initialize(connection.peer, capabilities);
  return { ...connection, server };
}
