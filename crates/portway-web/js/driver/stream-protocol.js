// The names and checks that both sides of a stream use. The request `rpc.stream` requests the items of a method. Each
// item is sent as a notification `rpc.item`, and the response ends the stream. Credit is the number of items that the
// caller still accepts. The request contains the initial credit, and the notification `rpc.credit` adds credit. Without
// credit, no item is sent.

import { MAX_STREAM_CREDIT } from "./limit-values.js";

export const STREAM = "rpc.stream";
export const ITEM = "rpc.item";
export const CREDIT = "rpc.credit";

export function isCredit(value) {
  return Number.isInteger(value) && value > 0 && value <= MAX_STREAM_CREDIT;
}
