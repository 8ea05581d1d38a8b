// Runs the specs in Node with mocha.

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import Mocha from "mocha";
import { ConsoleWatch } from "../support/console.js";
import { startServers } from "./server.mjs";
import { startSites } from "./sites.mjs";
import { startSockets } from "./sockets.mjs";
import { Tally, textOfError } from "./tally.js";

/** mocha requires a reporter. This reporter prints nothing. */
class Silent {}

export async function runInNode(specs) {
  const sockets = startSockets();
  const sites = startSites();
  const handle = (command) => (command.action.startsWith("site-") ? sites : sockets).handle(command);
  const servers = await startServers(handle);
  // The specs post commands for WebSocket servers to this origin. In a page, they post to the origin of the page.
  globalThis.portwayRunner = servers.origins.own;
  try {
    return await run(specs);
  } finally {
    sites.stop();
    sockets.stop();
    servers.stop();
  }
}

async function run(specs) {
  const mocha = new Mocha({ timeout: 30_000, reporter: Silent, failZero: true, forbidOnly: true });
  for (const spec of specs) mocha.addFile(fileURLToPath(new URL(`../${spec}`, import.meta.url)));
  const tally = new Tally();
  const watch = ConsoleWatch.start(() => tally.current);
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    tally.fail("all specs can be loaded", textOfError(error));
    return tally;
  }
  await new Promise((done) => tally.follow(mocha.run(done), (test) => basename(test.file ?? "?")));
  for (const text of watch.stop()) tally.fail("the console has no unexpected lines", text);
  return tally;
}
