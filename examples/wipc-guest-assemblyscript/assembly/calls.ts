// The server side of JSON-RPC 2.0 (https://www.jsonrpc.org/specification), without batches. Ids, methods and params are
// JSON texts: a string contains its quotation marks.

import { elementsOf, membersOf } from "./json";

/** Returns the response to a message, or null if the message must not be answered. */
export function answer(message: string): string | null {
  const members = membersOf(message);
  if (members === null) {
    const isBatch = elementsOf(message) !== null;
    return isBatch ? failure("null", -32600, "batches are not supported") : failure("null", -32700, "Parse error");
  }
  if (!members.has("method")) {
    // A response must not be answered.
    if (members.has("result") || members.has("error")) return null;
    return failure(idOf(members), -32600, "Invalid Request");
  }
  const method = members.get("method");
  const isValid = members.has("jsonrpc") && members.get("jsonrpc") == '"2.0"' && method.startsWith('"');
  if (!isValid) return failure(idOf(members), -32600, "Invalid Request");
  if (!members.has("id")) return null;
  const params = members.has("params") ? members.get("params") : "null";
  return call(members.get("id"), method, params);
}

/** Runs a method. Returns the response. */
function call(id: string, method: string, params: string): string {
  if (method == '"echo"') return success(id, params);
  if (method == '"add"') {
    const numbers = elementsOf(params);
    if (numbers === null || numbers.length != 2 || !isNumber(numbers[0]) || !isNumber(numbers[1])) {
      return failure(id, -32602, "the params of add must be two numbers");
    }
    return success(id, asJson(F64.parseFloat(numbers[0]) + F64.parseFloat(numbers[1])));
  }
  return failure(id, -32601, "Method not found");
}

function isNumber(text: string): bool {
  const first = text.charCodeAt(0);
  return (first == 0x2d || (first >= 0x30 && first <= 0x39)) && isFinite(F64.parseFloat(text));
}

/** Returns a number as JSON. A whole number has no decimal point, and an infinite number becomes null. */
function asJson(number: f64): string {
  const isWhole = Math.trunc(number) == number && Math.abs(number) <= <f64>F64.MAX_SAFE_INTEGER;
  return isWhole ? (<i64>number).toString() : isFinite(number) ? number.toString() : "null";
}

/** Returns the id for an error response. */
function idOf(members: Map<string, string>): string {
  const id = members.has("id") ? members.get("id") : "null";
  // An id of another type is invalid, so the response has the id null.
  return id.startsWith('"') || isNumber(id) ? id : "null";
}

function success(id: string, result: string): string {
  return '{"jsonrpc":"2.0","id":' + id + ',"result":' + result + "}";
}

function failure(id: string, code: i32, message: string): string {
  return '{"jsonrpc":"2.0","id":' + id + ',"error":{"code":' + code.toString() + ',"message":"' + message + '"}}';
}
