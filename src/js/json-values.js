// What JSON has no word for. As the member of a message it would be left out, and a result is what makes a response.

/** Throws if a message holds a result, or an item of a stream, for which JSON has no word. */
export function checkWord({ method, params, result }) {
  const value = method === "rpc.item" ? params?.value : result;
  const type = typeof value;
  const isMissing = typeof value?.toJSON === "function" ? JSON.stringify(value) === undefined : type === "function" || type === "symbol";
  if (isMissing) throw new TypeError(`JSON has no word for ${type}`);
}
