// Being a guest: this process is one end of WIPC, on its own standard input and output.

import { WipcChannel } from "../../entry/wipc.js";
import { checkTime, timer } from "../time.js";
import { readableOf, writableOf } from "./streams.js";

/** How long work may go on after the host has closed or gone, in milliseconds. */
const EXIT_TIMEOUT = 5_000;

/** Standard input has one reader. */
let current;

export function guestChannel(options = {}) {
  if (current !== undefined) throw new Error("this process is a guest already: there is one standard input");
  const { exitTimeout = EXIT_TIMEOUT, onClose, ...channelOptions } = options;
  checkTime("exitTimeout", exitTimeout);
  const { stdin, stdout } = process;
  let closing;
  let isLeaving = false;
  /** Ends the process, once its work is done. */
  const leave = async (work) => {
    if (isLeaving) return;
    isLeaving = true;
    timer(exit, exitTimeout);
    await Promise.allSettled([work, channel.idle()]);
    // What is printed has to leave first; if it cannot, there is nobody to read it.
    stdout.write("", exit);
  };
  const exit = () => process.exit();
  // Standard output cannot be closed: that the host sees its end is left to the end of the process.
  const streams = { readable: readableOf(stdin), writable: writableOf(stdout, () => void leave()) };
  stdout.on("error", () => process.exit());
  const channel = new WipcChannel(streams, {
    ...channelOptions,
    role: "guest",
    onClose(payload) {
      closing = onClose?.(payload);
      void leave(closing);
      return closing;
    },
  });
  channel.ended.then(() => leave(closing));
  return (current = channel);
}
