// HTTP servers of specs. A spec posts the text of a function that answers the requests of its site. The site records
// its requests. All sites share one port, and the page has another origin.

import { createServer } from "node:http";
import { gzipSync } from "node:zlib";

const MAX_FLOOD_BYTES = 5e9;
const FLOOD_PIECE = Buffer.alloc(65_536, " ");

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function startSites() {
  const sites = [];
  let server;
  let port;

  async function listen() {
    server = createServer((request, response) => {
      // A function of a spec throws to lose the connection.
      answer(sites[Number(request.url.split("/")[1])], request, response).catch(() => response.destroy());
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = server.address().port;
  }

  return {
    /** Handles a command that a spec has posted, and returns the result. */
    async handle({ action, number, script, data, cors = {} }) {
      if (action === "site-log") return sites[number].log;
      if (!server) await listen();
      const respond = new Function(`return (${script})`)();
      sites.push({ respond, data, cors, log: [], state: {} });
      return { number: sites.length - 1, url: `http://127.0.0.1:${port}/${sites.length - 1}/mcp` };
    },
    stop() {
      server?.close();
      server?.closeAllConnections();
    },
  };
}

async function answer(site, request, response) {
  const { cors } = site;
  const headers = {};
  if (cors.origin !== false) {
    headers["access-control-allow-origin"] = "*";
    headers["access-control-expose-headers"] = cors.expose ?? "mcp-session-id, www-authenticate";
  }
  if (request.method === "OPTIONS") {
    headers["access-control-allow-methods"] = "GET, POST, DELETE";
    headers["access-control-allow-headers"] = cors.headers ?? request.headers["access-control-request-headers"];
    headers["access-control-max-age"] = "0";
    return response.writeHead(204, headers).end();
  }
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  const message = text === "" ? undefined : JSON.parse(text);
  const entry = { method: request.method, headers: request.headers, message, isClosed: false };
  entry.name = message?.method ?? (message === undefined ? request.method : "response");
  site.log.push(entry);
  response.on("close", () => (entry.isClosed = !response.writableFinished));
  const earlier = site.log.filter(({ name }) => name === entry.name).length - 1;
  const given = await site.respond({ ...entry, earlier }, toolsFor(site, message));
  const { status = 200, body = "", chunks, flood, isOpen, isLost, isCompressed } = given;
  headers["content-type"] = given.type ?? (chunks ? "text/event-stream" : "application/json");
  if (given.type === null) delete headers["content-type"];
  if (isCompressed) headers["content-encoding"] = "gzip";
  response.writeHead(status, { ...headers, ...given.headers });
  if (isOpen || chunks) response.flushHeaders();
  for (const chunk of chunks ?? []) {
    if (typeof chunk === "number") await sleep(chunk);
    else if (!response.destroyed) response.write(typeof chunk === "string" ? chunk : Buffer.from(chunk));
  }
  if (isLost) return response.destroy();
  if (flood) return floodBody(response);
  if (!isOpen) response.end(isCompressed ? gzipSync(body) : body);
}

/** Writes a body of 5 GB, until the client closes it. */
async function floodBody(response) {
  const closed = new Promise((resolve) => response.once("close", resolve));
  for (let bytes = 0; bytes < MAX_FLOOD_BYTES && !response.destroyed; bytes += FLOOD_PIECE.length)
    if (!response.write(FLOOD_PIECE))
      await Promise.race([closed, new Promise((resolve) => response.once("drain", resolve))]);
  response.end();
}

/** The second parameter of a function that answers requests. */
function toolsFor({ data, state, log }, message) {
  const response = (result) => ({ jsonrpc: "2.0", id: message?.id, result });
  const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
  return {
    data,
    state,
    log,
    response,
    event,
    sleep,
    result: (result, more) => ({ body: JSON.stringify(response(result)), ...more }),
    error: (code, status = 200, id = message?.id, errorData) => ({
      status,
      body: JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "no", data: errorData } }),
    }),
    async until(condition) {
      while (!condition()) await sleep(5);
    },
    /** Answers the handshake and the stream of a server of the legacy era. Returns undefined for other requests. */
    legacy(headers = {}) {
      if (message === undefined) return { status: 405 };
      if (message.method === "server/discover") return { status: 400, type: "text/plain", body: "Bad Request" };
      if (message.method === "initialize")
        return {
          body: JSON.stringify(
            response({ protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s" } }),
          ),
          headers,
        };
      if (message.id === undefined || message.method === undefined) return { status: 202, type: null };
    },
    /** Answers the handshake of a server of the modern era. Returns undefined for other requests. */
    modern() {
      if (message?.method === "server/discover")
        return {
          body: JSON.stringify(
            response({ resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
          ),
        };
    },
  };
}
