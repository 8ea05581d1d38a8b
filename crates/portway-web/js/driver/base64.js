// Decodes the wasm that a JavaScript module contains as base64 text.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Returns the bytes of a base64 text. Does not use `atob`, because some realms lack it. */
export function decodeBase64(text) {
  const bytes = new Uint8Array(Math.floor((text.replace(/=+$/, "").length * 3) / 4));
  let bits = 0;
  for (let n = 0, at = 0; at < bytes.length; n++) {
    bits = (bits << 6) | DIGITS.indexOf(text[n]);
    if (n % 4 > 0) bytes[at++] = bits >> (6 - (n % 4) * 2);
  }
  return bytes;
}
