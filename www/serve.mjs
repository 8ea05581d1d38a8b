// Serves the built playground: `node www/serve.mjs --port 8080`. Without a port, the system chooses one. With
// `--inspector`, serves the built inspector.
import { createReadStream, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const folderOf = (path) => fileURLToPath(new URL(path, import.meta.url));

const types = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

// The page runs only scripts of this server and its compiler, esbuild. esbuild is wasm, and starts its worker from a
// blob.
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval' blob:",
  "worker-src 'self' blob:",
  // The sizes of panes and the positions of rows are style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

// The preview runs the user's bundle from a blob. It has no network, and reads its files by calls to the page.
// In a sandboxed document of WebKit, 'self' does not match any origin, so the policy contains the origin.
const previewPolicy = (origin) =>
  [
    "default-src 'none'",
    `script-src ${origin} 'wasm-unsafe-eval' blob:`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "font-src data:",
    "media-src data: blob:",
    "frame-ancestors 'self'",
  ].join("; ");

// The inspector shows the messages of foreign programs, so its policy demands Trusted Types, and forbids inline styles.
// The policy permits connections to all WebSockets, because the user chooses the server. The command `portway` serves
// the inspector with the same policy.
const inspectorPolicy = readFileSync(folderOf("../crates/portway-cli/src/inspect/policy.txt"), "utf8")
  .trim()
  .split("\n")
  .join("; ");

export const playground = {
  folder: folderOf("dist"),
  policyOf: (file, request) => (file.endsWith("preview.html") ? previewPolicy(originOf(request)) : pagePolicy),
};

export const inspector = { folder: folderOf("inspector/dist"), policyOf: () => inspectorPolicy };

/** Starts the server of a site. Resolves to the server and its address. */
export async function serve(port = 0, site = playground) {
  const server = createServer((request, response) => void answer(site, request, response));
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return { server, url: `http://127.0.0.1:${server.address().port}/` };
}

async function answer({ folder, policyOf }, request, response) {
  const file = fileOf(folder, request.url);
  const stats = file && (await stat(file).catch(() => undefined));
  if (!stats?.isFile()) {
    response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" }).end("Not found\n");
    return;
  }
  response.writeHead(200, {
    "Content-Type": types[extname(file)] ?? "application/octet-stream",
    "Content-Length": stats.size,
    "Content-Security-Policy": policyOf(file, request),
    // The sandboxed preview has an opaque origin, so its module scripts are cross-origin requests.
    "Access-Control-Allow-Origin": "*",
    // The name of a file in assets/ contains a hash of the file.
    "Cache-Control": file.includes(`${sep}assets${sep}`) ? "public, max-age=31536000, immutable" : "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  });
  if (request.method === "HEAD") response.end();
  else
    createReadStream(file)
      .on("error", () => response.destroy())
      .pipe(response);
}

/**
 * Returns the origin from which the browser requests the file. A host with unexpected characters is not copied, because
 * it could add directives to the policy.
 */
function originOf({ headers: { host = "" } }) {
  return /^[\w.:[\]-]+$/.test(host) ? `http://${host}` : "'self'";
}

/** Returns the file for an address, or undefined for an address outside of the folder. */
function fileOf(folder, address) {
  try {
    const path = decodeURIComponent(new URL(address, "http://localhost").pathname);
    const file = normalize(join(folder, path.endsWith("/") ? `${path}index.html` : path));
    return file.startsWith(folder + sep) ? file : undefined;
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { port: { type: "string", default: "0" }, inspector: { type: "boolean", default: false } },
  });
  try {
    const { url } = await serve(Number(values.port), values.inspector ? inspector : playground);
    console.log(`Portway ${values.inspector ? "inspector" : "playground"}: ${url}`);
  } catch (error) {
    console.error(`cannot serve the page: ${error.message}`);
    process.exitCode = 1;
  }
}
