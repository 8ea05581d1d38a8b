// The values that the options of `webSocketTransport` accept.

import { MIN_HEARTBEAT } from "../driver/limit-values.js";
import { checkValue } from "./check-options.js";

const FUNCTION = ["a function"];
/** Describes a function that the sockets of `ws` have. */
export const FUNCTION_OF_WS = "a function, as in `npm install ws`";
/**
 * The parameters of `checkValue` for each option. `webSocketTransport` and `checkAttempt` check the options without
 * parameters.
 */
export const OPTIONS = {
  WebSocket: 0,
  protocols: 0,
  first: 0,
  connectTimeout: ["a number of milliseconds", 0],
  heartbeat: ["false, 0 or a number of milliseconds", MIN_HEARTBEAT],
  maxMessage: ["a number of characters", 1],
  queueNotifications: ["true or false"],
  reconnect: 0,
  shouldReconnect: FUNCTION,
  onSession: FUNCTION,
  onLost: FUNCTION,
  onRetry: FUNCTION,
  onEnd: FUNCTION,
};

/**
 * Checks the URL, the subprotocols and the first messages of an attempt. Returns the text of the URL, the subprotocols
 * and the texts of the messages. An array among the messages is a batch.
 * @param {any[]} inputs
 */
export function checkAttempt([url, protocols = [], first = []]) {
  const address = url?.href ?? url;
  checkValue("url", address, "a string, URL or unused socket");
  for (const name of [protocols].flat()) checkValue("protocols", name, "one or more strings");
  const texts = [first].flat().map((message) => {
    checkValue("first", message, "a string, an object or an array");
    return typeof message === "string" ? message : JSON.stringify(message);
  });
  return [address, protocols, texts];
}
