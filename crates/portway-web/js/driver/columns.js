// Columns: one notification in place of several messages of one kind. The notification has three arrays: the ids, the
// methods and the values (params or results) of the messages. If all methods are equal, one string replaces the array
// of methods. Cloning three arrays takes a fraction of the time of cloning an object for each message. See "Lists" in
// PROTOCOL.md.

import { MAX_LIST_LENGTH } from "./limit-values.js";
import { requestOrNotification } from "./messages.js";

export const COLUMNS = "rpc.columns";

/**
 * Returns one notification that contains the messages. Returns undefined if the messages are of different kinds, or if
 * a message has neither params nor a result.
 */
export function encodeColumns(messages) {
  const [first] = messages;
  const hasMethod = first.method !== undefined;
  const isNotification = first.id === undefined;
  const ids = [];
  const methods = [];
  const values = [];
  let hasOneMethod = true;
  for (const { id, method, params, result } of messages) {
    const value = hasMethod ? params : result;
    if (value === undefined || (method !== undefined) !== hasMethod || (id === undefined) !== isNotification)
      return undefined;
    ids.push(id);
    methods.push(method);
    values.push(value);
    hasOneMethod &&= method === first.method;
  }
  return requestOrNotification(COLUMNS, {
    ...(!isNotification && { ids }),
    ...(hasMethod && { methods: hasOneMethod ? first.method : methods }),
    values,
  });
}

/** Returns the messages of columns. Returns an empty array if the columns are invalid. */
export function decodeColumns({ ids, methods, values }) {
  const isColumn = (column) => Array.isArray(column) && column.length === values.length;
  if (!isColumn(values) || values.length > MAX_LIST_LENGTH || !(ids === undefined || isColumn(ids))) return [];
  if (!(methods === undefined || typeof methods === "string" || isColumn(methods))) return [];
  return values.map((value, n) => {
    const id = ids?.[n];
    if (methods === undefined) return { jsonrpc: "2.0", result: value, id };
    const method = typeof methods === "string" ? methods : methods[n];
    return id === undefined ? { jsonrpc: "2.0", method, params: value } : { jsonrpc: "2.0", method, params: value, id };
  });
}
