// The logs of the two ends of a connection are compared in one place. The far end posts its log on a channel.
import { log } from "./describe.js";

const NAME = "story log";

/** Posts the log of this end when the near end asks for it. */
export function offerLog() {
  const channel = new BroadcastChannel(NAME);
  channel.onmessage = ({ data }) => {
    if (data === "log") channel.postMessage({ sent: log.sent, received: log.received });
  };
}

/** Returns the log of the far end, once the end of the session has arrived there. */
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
