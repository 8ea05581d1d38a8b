// The values that the options of `webSocketTransport` accept.

import { MIN_HEARTBEAT } from "../driver/limit-values.js";
import { checkValue } from "./check-options.js";

const FUNCTION = ["a function"];
export const STRINGS = ["a string, an object, an array or a function"];
export const URL_OR_FUNCTION = "a string, a URL object or a function";
/** The parameters of `checkValue` for each option. */
export const OPTIONS = {
  WebSocket: ["a class or function, like that of `npm install ws`"],
  protocols: STRINGS,
  first: STRINGS,
  connectTimeout: ["a number of milliseconds", 0],
  heartbeat: ["false, 0 or a number of milliseconds", MIN_HEARTBEAT],
  maxMessage: ["a number of characters", 1],
  queueNotifications: ["true or false"],
  reconnect: ["false or an object"],
  shouldReconnect: FUNCTION,
  onSession: FUNCTION,
  onLost: FUNCTION,
  onRetry: FUNCTION,
  onEnd: FUNCTION,
};

/**
 * Returns the texts of the messages in the option `first`.
 * @param {any} first
 */
export const textsOf = (first = []) =>
  [first].flat().map((message) => {
    checkValue("first", message, "a string or an object");
    return typeof message === "string" ? message : JSON.stringify(message);
  });
