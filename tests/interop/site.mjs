// Serves the page of the suite, and the scripts of each library for the page, the iframes and the workers. `elsewhere`
// is an address of another origin. After a request for `/take?hold=n`, a script whose address contains `hold=n` is not
// sent before a request for `/release?hold=n`. A response for `/asked?hold=n` is sent when this script is requested.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { bundle } from "../comparison/bundles.mjs";

const page = `<!doctype html><meta charset="utf-8"><title>Deaths</title><link rel="icon" href="data:,">
  <script type="module" src="page.js"></script>`;

/** Starts the servers. Resolves to the addresses of the page and of another origin, and to the function `stop`. */
export async function serve(modules) {
  const files = new Map([["/", { type: "text/html", body: page }]]);
  files.set("/page.js", { type: "text/javascript", body: readFileSync(new URL("page.js", import.meta.url)) });
  const peers = await bundle('export { check } from "../interop/peers.mjs";');
  files.set("/peers.js", { type: "text/javascript", body: peers });
  for (const entry of modules) await addFiles(files, entry);
  const holds = new DelayedScripts();
  const servers = [createServer((request, response) => answer(files, holds, request, response)), createServer(blank)];
  const ports = await Promise.all(servers.map(listen));
  return {
    own: `http://localhost:${ports[0]}/`,
    elsewhere: `http://127.0.0.1:${ports[1]}/`,
    stop() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

async function addFiles(files, { module, firstImportOfWorker }) {
  const library = `import * as library from "./libraries/${module}.mjs";`;
  const served = `
    ${firstImportOfWorker ? `import "${firstImportOfWorker}";` : ""}
    ${library}
    import { methods } from "../interop/methods.mjs";`;
  const scripts = {
    "page.js": `
      ${library}
      import { observe } from "../interop/boundaries.mjs";
      export const run = (elsewhere, observedMs) => observe(library, "${module}", elsewhere, observedMs);`,
    "frame.js": `${served} library.serve(parent, methods, "parent");`,
    "worker.js": `${served} library.serve(self, methods, "self"); postMessage("ready");`,
    "port-worker.js": `${served}
      addEventListener("message", ({ ports: [port] }) => library.serve(port, methods, "port"), { once: true });
      postMessage("ready");`,
    "throws.js": `throw new Error("it throws as it starts");`,
  };
  for (const [file, source] of Object.entries(scripts)) {
    files.set(`/${module}/${file}`, { type: "text/javascript", body: await bundle(source) });
  }
  const frame = ({ search }) =>
    `<!doctype html><title>Frame</title><script type=module src="frame.js${search}"></script>`;
  files.set(`/${module}/frame.html`, { type: "text/html", body: frame });
}

/** Delays the responses for scripts. */
class DelayedScripts {
  #taken = new Map();

  take(id) {
    this.#taken.set(id, { asked: createGate(), released: createGate() });
  }

  async script(id) {
    const { asked, released } = this.#taken.get(id) ?? {};
    asked?.open();
    await released?.opened;
  }

  asked = (id) => this.#taken.get(id).asked.opened;
  release = (id) => this.#taken.get(id).released.open();
}

function createGate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

async function answer(files, holds, request, response) {
  const url = new URL(request.url, "http://localhost");
  const { pathname, searchParams } = url;
  const hold = searchParams.get("hold");
  if (pathname === "/take") holds.take(hold);
  else if (pathname === "/asked") await holds.asked(hold);
  else if (pathname === "/release") holds.release(hold);
  else if (hold !== null && pathname.endsWith(".js")) await holds.script(hold);
  else if (!files.has(pathname)) return response.writeHead(404, { "content-type": "text/plain" }).end("not found");
  const { type, body } = files.get(pathname) ?? { type: "text/plain", body: "" };
  response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
  response.end(typeof body === "function" ? body(url) : body);
}

function blank(_, response) {
  response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Elsewhere</title>");
}

function listen(server) {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}
