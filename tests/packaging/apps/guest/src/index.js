// A page with a WASI guest that only exits with the code 7.

import { startWasiGuest } from "portway/wipc/wasi";

const base64 =
  "AGFzbQEAAAABCAJgAX8AYAAAAiQBFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAADAgEBBQMBAAEHEwIGbWVtb3J5AgAGX3N0YXJ0AAEKCAEGAEEHEAAL";
const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

try {
  const guest = await startWasiGuest(bytes);
  globalThis.outcome = await guest.exited;
} catch (error) {
  globalThis.outcome = String(error);
}
