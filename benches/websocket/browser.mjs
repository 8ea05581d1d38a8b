// Runs `page.js` in Chromium, against an echo server in this process.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { bundle } from "../../tests/comparison/bundles.mjs";
import { startBrowser } from "../browsers.mjs";

const TIMEOUT_MS = 300_000;

/** Measures one workload. Returns the results of all rounds. */
export async function measureInBrowser({ run, requests: calls }, rounds) {
  const script = await bundle('import "../../benches/websocket/page.js";');
  let resolvePosted;
  const posted = new Promise((resolve) => {
    resolvePosted = resolve;
  });
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      resolvePosted(await new Response(request).json());
      return response.end();
    }
    const [type, body] = {
      "/": [
        "text/html",
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
      ],
      "/page.js": ["text/javascript", script],
      "/plan": ["application/json", JSON.stringify({ run, calls, rounds })],
    }[request.url] ?? ["text/plain", ""];
    // Cross-origin isolation makes the clock more precise.
    const headers = {
      "content-type": type,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    };
    response.writeHead(200, headers).end(body);
  });
  new WebSocketServer({ server }).on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id, params } = JSON.parse(data);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: params }));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = startBrowser("chromium", `http://127.0.0.1:${server.address().port}/`);
  try {
    const late = sleep(TIMEOUT_MS, undefined, { ref: false }).then(() => ({
      error: "the page must post its results within 5 minutes",
    }));
    const { results, error } = await Promise.race([posted, browser.ended, late]);
    if (error !== undefined) throw new Error(error);
    return results;
  } finally {
    await browser.stop();
    server.close();
    server.closeAllConnections();
  }
}
