// Serves the page from two origins of different sites, and receives the results of the page.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { bundle, pkg } from "../tests/comparison/bundles.mjs";
import { OLD } from "./matrix.mjs";

const html = (script) => ({
  type: "text/html",
  body: `<!doctype html><meta charset="utf-8"><title>Bench</title><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`,
});
const script = (body) => ({ type: "text/javascript", body });

/**
 * Headers for cross-origin isolation, which makes clocks more precise. The iframes of both origins need the headers.
 */
const headers = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "cross-origin",
  // All iframes of a library load the same script, so the browser may cache it.
  "cache-control": "max-age=3600",
};

/**
 * Starts the server. Returns the address of the page, and `stop`. `onPost` receives the results of the page. `old` is
 * the folder of an older build of Portway, to compare with the built package.
 */
export async function serve(plan, old, onPost) {
  const files = new Map([["/", html("/main.js")]]);
  const source = (name) => readFileSync(new URL(`page/${name}`, import.meta.url), "utf8");
  files.set("/main.js", script(source("main.js")));
  files.set("/fresh.js", script(await bundle('import "../../benches/page/fresh.js";')));
  files.set("/fresh.html", html("/fresh.js"));
  files.set("/portway_bg.wasm", { type: "application/wasm", body: readFileSync(join(pkg, "portway_bg.wasm")) });
  const ids = new Set(plan.flatMap(({ cells }) => cells.flatMap(({ libraries }) => libraries)));
  if (ids.has("portway-rust")) {
    const body = readFileSync(new URL("../target/bench/rust/rust_bench_bg.wasm", import.meta.url));
    files.set("/rust_bench_bg.wasm", { type: "application/wasm", body });
  }
  for (const id of ids) {
    const isOld = OLD.includes(id);
    const library = `import * as library from "../../benches/libraries/${isOld ? "portway" : id}.mjs";`;
    const code = async (source) => script(await bundle(source, undefined, isOld ? old : undefined));
    const client = `import "../../benches/page/memory.js"; ${library} import { start } from "../../benches/page/client.js"; start(library, "${id}");`;
    const server = `${library} import { start } from "../../benches/page/server.js"; start(library);`;
    files.set(`/client/${id}.js`, await code(client));
    files.set(`/server/${id}.js`, await code(server));
    files.set(`/client/${id}.html`, html(`/client/${id}.js`));
    files.set(`/server/${id}.html`, html(`/server/${id}.js`));
  }
  // The settings contain the ports of the servers, which are known only after the servers have started.
  const settings = {};
  const answer = async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (request.method === "POST") {
      await onPost(await new Response(request).json());
      return response.end();
    }
    if (pathname === "/plan")
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(settings));
    const file = files.get(pathname);
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": file.type, ...headers }).end(file.body);
  };
  const servers = [createServer(answer), createServer(answer)];
  const [ownPort, otherPort] = await Promise.all(servers.map(listen));
  Object.assign(settings, {
    plan,
    ownOrigin: `http://localhost:${ownPort}`,
    otherOrigin: `http://127.0.0.1:${otherPort}`,
  });
  return {
    address: `${settings.ownOrigin}/`,
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
