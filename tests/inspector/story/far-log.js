// Passes the log of the far end of a connection to the near end, over a `BroadcastChannel`. The near end returns both
// logs to the test.
import { log } from "./describe.js";

const NAME = "story log";

/** Posts the log of this end when the near end asks for it. */
export function offerLog() {
  const channel = new BroadcastChannel(NAME);
  channel.onmessage = ({ data }) => {
    if (data === "log") channel.postMessage({ sent: log.sent, received: log.received });
  };
}

/** Returns the log of the far end, once the far end has received the goodbye of the session. */
export function farLog() {
  const channel = new BroadcastChannel(NAME);
  const ask = () => channel.postMessage("log");
  return new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      if (data.received.some((text) => text.includes('"rpc.bye"'))) resolve(data);
      else setTimeout(ask, 20);
    };
    ask();
  }).finally(() => channel.close());
}
