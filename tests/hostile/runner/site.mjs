// Serves the repository under one host name for each party. `*.localhost` is a loopback address in every engine
// (RFC 6761 §6.3). Each of these names is a separate site, so Chromium starts a process for each party.

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
