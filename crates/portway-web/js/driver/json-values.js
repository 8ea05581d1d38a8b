// Detects values that JSON cannot express. `JSON.stringify` would omit such a value from a message, but a response
// needs its result.

/** Throws if JSON cannot express the result of a response or the item of a stream. */
export function checkValue({ method, params, result }) {
  const value = method === "rpc.item" ? params?.value : result;
  const type = typeof value;
  const isMissing =
    typeof value?.toJSON === "function"
      ? JSON.stringify(value) === undefined
      : type === "function" || type === "symbol";
  if (isMissing) throw new TypeError(`cannot serialize a value of type ${type} as JSON`);
}
