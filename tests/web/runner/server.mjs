// Serves the repository, read-only, from several origins.
//
// Options in the query of a request: `delay` of the response in milliseconds, `status`, `type` of the content, `csp` (a
// Content-Security-Policy), `isolated` (isolates the page from other origins). A response to a request with `gate=NAME`
// waits until another request has `opens=NAME`.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".css": "text/css",
  ".wasm": "application/wasm",
};

/** The gates by name. A gate is open if its promise is resolved. */
const gates = new Map();

function gate(name) {
  if (!gates.has(name)) {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    gates.set(name, { opened, open });
  }
  return gates.get(name);
}

/**
 * Starts the servers. `own` is the page's origin. `other` has another host and port, and `otherPort` has only another
 * port. `onPost` gets the JSON that pages post, and returns the response.
 */
export async function startServers(onPost) {
  const servers = [1, 2, 3].map(() => createServer((request, response) => answer(request, response, onPost)));
  const ports = await Promise.all(servers.map(listen));
  return {
    origins: {
      own: `http://localhost:${ports[0]}`,
      other: `http://127.0.0.1:${ports[1]}`,
      otherPort: `http://localhost:${ports[2]}`,
    },
    stop() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

function listen(server) {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}

export async function answer(request, response, onPost) {
  if (request.method === "POST" && onPost !== undefined) {
    const posted = await new Response(request).json();
    return response.end(JSON.stringify((await onPost(posted)) ?? null));
  }
  const { pathname, searchParams: query } = new URL(request.url, "http://localhost");
  const file = join(root, normalize(decodeURIComponent(pathname)));
  const headers = {
    "content-type": query.get("type") ?? types[extname(file)] ?? "text/plain",
    "cache-control": "no-cache",
  };
  // A sandboxed iframe has no origin, so its requests for modules are cross-origin requests.
  headers["access-control-allow-origin"] = "*";
  if (query.has("csp")) headers["content-security-policy"] = query.get("csp");
  if (query.has("isolated")) {
    headers["cross-origin-opener-policy"] = "same-origin";
  }
  // The worker of an isolated page also needs this header.
  if (query.has("isolated") || pathname.endsWith("/wasi-worker.js"))
    headers["cross-origin-embedder-policy"] = "require-corp";
  if (query.has("opens")) {
    gate(query.get("opens")).open();
    return response.writeHead(204, headers).end();
  }
  if (query.has("gate")) await gate(query.get("gate")).opened;
  await new Promise((resolve) => setTimeout(resolve, Number(query.get("delay") ?? 0)));
  let body;
  try {
    if (!file.startsWith(root) || file.includes(`${sep}.`))
      throw new Error("the file must be in the repository and not hidden");
    body = await readFile(file);
  } catch {
    headers["content-type"] = types[".html"];
    return response.writeHead(pathname === "/favicon.ico" ? 204 : 404, headers).end("<p>not found");
  }
  response.writeHead(Number(query.get("status") ?? 200), headers).end(body);
}
