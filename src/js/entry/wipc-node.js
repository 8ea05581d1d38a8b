// `portway/wipc/node`: guests as child processes, and being one. The codec is that of `portway/wipc`, one for both.

export { guestChannel } from "../wipc/node/guest.js";
export { spawnGuest } from "../wipc/node/spawn.js";
