// `connect` for the Rust API, which makes the peer itself. The npm package has none of this file.

import { noAnswer, resolveTarget } from "./connect-target.js";
import { runLater } from "./later.js";
import { whileAlive } from "./rust-death.js";
import { whatEnded } from "./rust-roles.js";
import { SessionTransport } from "./session-transport.js";
import { setTimer } from "./timers.js";

/** A transport, and what starts it and waits for its first session; a timeout in milliseconds, negative for none. */
export function sessionTo(target, origin, channel, heartbeat, timeout, tellSession, tellLoss) {
  const [sessionBegins, sessionEnds] = [whileAlive(tellSession), whileAlive(tellLoss)];
  const onSession = ({ number }) => sessionBegins(number);
  const onLost = (error) => sessionEnds(whatEnded(error), error);
  let resolver;
  let rejecter;
  const opened = new Promise((resolve, reject) => {
    resolver = resolve;
    rejecter = reject;
  });
  const options = { channel, heartbeat, onSession, onLost };
  const connectTarget = resolveTarget(target, origin);
  const transport = new SessionTransport(connectTarget, options, resolver, rejecter);
  return {
    transport,
    open() {
      const late = () => rejecter(noAnswer(timeout, connectTarget));
      const timer = timeout < 0 ? undefined : setTimer(() => runLater(late), Math.min(timeout, 2 ** 31 - 1));
      transport.start();
      return new Promise((resolve, reject) => {
        opened.finally(() => clearTimeout(timer)).then(whileAlive(resolve), whileAlive(reject));
      });
    },
  };
}
