// Hosts that listen after the first message of a faster view. ext-apps#542 describes this fault of official hosts.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { origins } from "../web/support/iframes.js";
import { until } from "../web/support/outcomes.js";

/** If a host has not received `ui/initialize` after this time, the message is lost. In ms. */
const LOST_MS = 2_000;

/**
 * Opens a host that listens only after the first message has arrived from its iframe. Resolves to "initialized", to
 * "lost" if the host does not receive the message, or to the text of an error.
 */
async function openLateHost(options) {
  const { own, other } = origins;
  const query = new URLSearchParams({ ...options, own, other });
  const element = document.createElement("iframe");
  element.src = `/tests/mcp-apps/support/late-host.html?${query}`;
  const states = [];
  const listener = ({ source, data }) => {
    if (source === element.contentWindow && data?.type === "late host") states.push(data.state);
  };
  addEventListener("message", listener);
  document.body.append(element);
  afterThisTest(() => {
    removeEventListener("message", listener);
    element.remove();
  });
  await until(() => states.length > 0);
  if (states[0] === "listens") await until(() => states.length > 1, "", LOST_MS).catch(() => states.push("lost"));
  return states.at(-1);
}

for (const view of ["official", "portway"]) {
  for (const place of ["directly", "proxy"]) {
    it(`with portway/early, a late host initializes the ${view} view, opened ${place}`, async () => {
      assert.equal(await openLateHost({ host: "portway", view, place, early: "yes" }), "initialized");
    });
  }
}

it("without portway/early, a late host never receives the first message of the view", async () => {
  assert.equal(await openLateHost({ host: "portway", view: "official", place: "directly" }), "lost");
});

it("the official host, if it is late, never receives the first message of the view", async () => {
  assert.equal(await openLateHost({ host: "official", view: "official", place: "directly" }), "lost");
});
