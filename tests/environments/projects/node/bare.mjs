// Removes all globals that are not part of the language, and then imports an entry point of the package.

const { log } = console;
const [entry] = process.argv.slice(2);
const language = new Set(
  "globalThis Infinity NaN undefined eval isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape Object Function Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError Number BigInt Math Date String RegExp Array Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float32Array Float64Array Map BigInt Set WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer SharedArrayBuffer DataView Atomics JSON Promise Reflect Proxy Symbol Boolean Iterator Intl WebAssembly".split(
    " ",
  ),
);
// The module loader of Node needs these globals.
const neededByLoader = entry.endsWith("portway") ? ["process", "Buffer", "URL"] : ["process", "URL"];
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!language.has(name) && !neededByLoader.includes(name)) delete globalThis[name];
}
await import(entry === "portway/portway.js" ? "../node_modules/portway/portway.js" : entry);
log("imported");
