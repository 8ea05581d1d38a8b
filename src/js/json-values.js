// Values that JSON cannot express. As a member of a message they would be left out, and a response needs its result.

/** Throws if JSON cannot express the result, or the item of a stream, in a message. */
export function checkValue({ method, params, result }) {
  const value = method === "rpc.item" ? params?.value : result;
  const type = typeof value;
  const isMissing =
    typeof value?.toJSON === "function"
      ? JSON.stringify(value) === undefined
      : type === "function" || type === "symbol";
  if (isMissing) throw new TypeError(`JSON cannot express this ${type}`);
}
