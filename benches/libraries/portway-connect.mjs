// An adapter for `connect` of Portway. Options have their defaults, except for the timeout and the limits. The session
// coalesces messages. Between windows, the session uses a MessagePort.

import { connect } from "../../pkg/node.js";
import { LIMITS, TIMEOUT, caller, transferred } from "./portway-plain.mjs";

export async function call({ target, element, origin }) {
  return caller(await connect(element ?? target, { origin, timeout: TIMEOUT }));
}

export function serve({ target, origin }, makeMethods) {
  const { tick, ...methods } = makeMethods(transferred);
  connect(target, { origin, methods, notifications: { tick }, limits: LIMITS });
}
