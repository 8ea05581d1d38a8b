// Tests windows that close: a popup that this page has called, and an opener that its popup has called.

import { connect, connectTimeout, fixtureUrl, open, origins, untilReady } from "./boundaries.js";
import { measure } from "./measure.js";

async function popup(origin) {
  const opened = open("frame.html", { origin: origins.own }, origin);
  if (opened === undefined) throw new Error("the engine must let scripts open windows");
  return { opened, peer: await connect(opened, { origin, connectTimeout }) };
}

/** Opens a window and a popup of this window, and connects them. The page refers to the window and to the popup. */
async function openerAndPopup() {
  const parent = await untilReady(open("holder.html"));
  const child = await untilReady(parent.open(fixtureUrl("holder.html"), "_blank", "popup,width=200,height=200"));
  const { methods } = await import(fixtureUrl("serve.js"));
  parent.connect(child, { connectTimeout, methods });
  return { opened: parent, child, peer: await child.connect(parent, { connectTimeout }), clock: child.performance };
}

const kill = ({ opened }) => opened.close();

export const windows = {
  "a popup (own origin) is closed": () => measure({ open: () => popup(origins.own), kill }),
  "a popup (another origin) is closed": () => measure({ open: () => popup(origins.other), kill }),
  "the opener of a popup is closed": () => measure({ open: openerAndPopup, kill, close: ({ child }) => child.close() }),
};
