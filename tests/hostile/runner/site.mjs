// Serves the repository once, under a host name for each party. `*.localhost` is a loopback address in every engine
// (RFC 6761 §6.3), and each of these names is a site of its own, so that Chromium starts a process for each party.

import { createServer } from "node:http";
import { answer } from "../../web/runner/server.mjs";

/** The page under attack, two peers that it may allow, and two strangers. */
const PARTIES = ["host", "friend", "third", "stranger", "outsider"];

export async function startSite() {
  const server = createServer((request, response) => answer(request, response));
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    origins: Object.fromEntries(PARTIES.map((name) => [name, `http://${name}.localhost:${port}`])),
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
