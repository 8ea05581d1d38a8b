// Tests the types of the tables of error codes, and of the validator.

import { ErrorCode, kaiak, validateMessage, wiggum, type JSONRPCErrorResponse, type JSONRPCMessage } from "portway";
import { same, type Equal } from "./equal.js";

same<Equal<typeof ErrorCode.MethodNotFound, -32601>>(true);
same<Equal<ErrorCode, -32700 | -32600 | -32601 | -32602 | -32603 | -32800>>(true);
same<Equal<typeof wiggum.BUILD_FAILED, -32001>>(true);
same<Equal<typeof kaiak.SESSION_IN_USE, -32016>>(true);
same<
  Equal<(typeof wiggum)[keyof typeof wiggum], -32001 | -32002 | -32003 | -32004 | -32005 | -32006 | -32007 | -32008>
>(true);
// @ts-expect-error the tables are read-only
wiggum.BUILD_FAILED = 1;
// @ts-expect-error a name of the other table
kaiak.BUILD_FAILED;

export function report(): string {
  const { isValid, errors, warnings } = validateMessage({ jsonrpc: "2.0", method: "a", id: 1 }, { type: "request" });
  same<Equal<typeof isValid, boolean>>(true);
  // @ts-expect-error the type must be `request` or `response`
  validateMessage([], { type: "notification" });
  return [...errors, ...warnings, ...validateMessage(null).errors].join("\n");
}

export function narrow(message: JSONRPCMessage): unknown {
  if ("method" in message) return "id" in message ? message.id : message.params;
  return "error" in message ? message.error.data : message.result;
}

export const unreadable: JSONRPCErrorResponse = { jsonrpc: "2.0", error: { code: -32600, message: "" }, id: null };
