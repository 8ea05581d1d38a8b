// Tests the hook of docs/environments.md in React's StrictMode. StrictMode mounts each component, unmounts it and
// mounts it again.

import { StrictMode, createElement } from "react";
import { createRoot } from "react-dom/client";
import init, { connect } from "portway";
import { expect, test, vi } from "vitest";
import { usePeer } from "../react/use-peer.js";

test(`${process.env.PLACE}: a hook in React's StrictMode has a working peer, and destroys the peer on unmount`, {
  timeout: 30_000,
}, async () => {
  await init();
  const { port1, port2 } = new MessageChannel();
  const other = connect(port2, { methods: { add: ([a, b]) => a + b } });
  const peers = [];
  let mounted = 0;
  function View() {
    const peer = usePeer(port1);
    mounted++;
    if (peer !== undefined && peers.at(-1) !== peer) peers.push(peer);
    return null;
  }
  const root = createRoot(document.createElement("div"));
  root.render(createElement(StrictMode, null, createElement(View)));
  await vi.waitFor(() => expect(peers).not.toHaveLength(0), 10_000);
  expect(mounted).toBeGreaterThan(1);
  for (let n = 0; n < 20; n++) expect(await peers.at(-1).request("add", [n, 1])).toBe(n + 1);
  root.unmount();
  const end = () =>
    peers
      .at(-1)
      .request("add", [1, 1])
      .catch(({ reason }) => reason);
  await vi.waitFor(async () => expect(await end()).toBe("destroyed"), 10_000);
  (await other).destroy();
});
