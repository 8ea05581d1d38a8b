// Serves the page from two origins of different sites, and gets what the page posts.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { bundle, pkg } from "../tests/comparison/bundles.mjs";
import { OLD } from "./plan.mjs";

const html = (script) => ({
  type: "text/html",
  body: `<!doctype html><meta charset="utf-8"><title>Bench</title><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`,
});
const script = (body) => ({ type: "text/javascript", body });

/** Isolated from other origins: clocks are finer there. Frames of the other origin have to agree. */
const headers = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "cross-origin",
  // Each realm of a subject loads the same script again.
  "cache-control": "max-age=3600",
};

/** The address of the page, and how to stop. `onPost` gets what the page posts; `old` is the folder of an older build. */
export async function serve(plan, old, onPost) {
  const files = new Map([["/", html("/main.js")]]);
  const source = (name) => readFileSync(new URL(`page/${name}`, import.meta.url), "utf8");
  files.set("/main.js", script(source("main.js")));
  files.set("/fresh.js", script(await bundle('import "../../benches/page/fresh.js";')));
  files.set("/fresh.html", html("/fresh.js"));
  files.set("/portway_bg.wasm", { type: "application/wasm", body: readFileSync(join(pkg, "portway_bg.wasm")) });
  const ids = new Set(plan.flatMap(({ cells }) => cells.flatMap(({ subjects }) => subjects)));
  if (ids.has("portway-rust")) {
    const body = readFileSync(new URL("../target/bench/rust/rust_bench_bg.wasm", import.meta.url));
    files.set("/rust_bench_bg.wasm", { type: "application/wasm", body });
  }
  for (const id of ids) {
    const isOld = OLD.includes(id);
    const subject = `import * as subject from "../../benches/subjects/${isOld ? "portway" : id}.mjs";`;
    const code = async (source) => script(await bundle(source, undefined, isOld ? old : undefined));
    const near = `import "../../benches/page/memory.js"; ${subject} import { start } from "../../benches/page/near.js"; start(subject, "${id}");`;
    const far = `${subject} import { start } from "../../benches/page/far.js"; start(subject);`;
    files.set(`/near/${id}.js`, await code(near));
    files.set(`/far/${id}.js`, await code(far));
    files.set(`/near/${id}.html`, html(`/near/${id}.js`));
    files.set(`/far/${id}.html`, html(`/far/${id}.js`));
  }
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
  const [own, other] = await Promise.all(servers.map(listen));
  Object.assign(settings, { plan, own: `http://localhost:${own}`, other: `http://127.0.0.1:${other}` });
  return {
    address: `${settings.own}/`,
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
