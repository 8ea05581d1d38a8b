// A simple static server. It serves the files of one folder, with the headers that a test sets.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".wasm": "application/wasm",
};

/** Serves a folder while `visit(address)` runs. Resolves to the result of `visit`. */
export async function withSite(folder, visit, { headers = {}, types: otherTypes = {} } = {}) {
  const server = createServer(async ({ url }, response) => {
    const path = decodeURIComponent(new URL(url, "http://localhost").pathname);
    const file = normalize(join(folder, path.endsWith("/") ? `${path}index.html` : path));
    const body = file.startsWith(folder + sep) && (await readFile(file).catch(() => undefined));
    // Browsers request this icon although no page names it.
    if (path === "/favicon.ico") return response.writeHead(204).end();
    if (!body) return response.writeHead(404, { "Content-Type": "text/plain" }).end("not found");
    const type = { ...types, ...otherTypes }[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "Content-Type": type, ...headers }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await visit(`http://127.0.0.1:${server.address().port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
