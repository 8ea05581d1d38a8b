// `portway/wipc/node`: spawns guests as child processes, or makes this process a guest. It shares the codec of
// `portway/wipc`.

export { guestChannel } from "../wipc/node/guest.js";
export { spawnGuest } from "../wipc/node/spawn.js";
