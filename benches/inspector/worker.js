// Sends messages over a tapped transport at a steady rate. The inspector reads the records of the tap over a
// BroadcastChannel, as it does for every page and worker of the same origin. `page.js` sends the rate in messages per
// second. The rate 0 pauses the stream.

import { tap } from "/pkg/tap.js";
import { Messages } from "./messages.js";

const INTERVAL_MS = 20;

let deliver = () => {};
const transport = tap(
  {
    send() {},
    onMessage(handler) {
      deliver = handler;
    },
  },
  { name: "bench" },
);
transport.onMessage(() => {});

const messages = new Messages();
let timer;

addEventListener("message", ({ data: perSecond }) => {
  clearInterval(timer);
  if (perSecond === 0) return;
  const start = performance.now();
  let sent = 0;
  timer = setInterval(() => {
    const due = ((performance.now() - start) / 1000) * perSecond;
    for (; sent < due; sent++) {
      const [direction, value] = messages.next();
      if (direction === "sent") transport.send(value);
      else deliver(value);
    }
  }, INTERVAL_MS);
});
