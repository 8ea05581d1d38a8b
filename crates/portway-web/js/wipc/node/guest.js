// Makes this process a guest: one side of WIPC, on its standard input and output.

import { EXIT_TIMEOUT } from "../../driver/limit-values.js";
import { WipcChannel } from "../../entry/wipc.js";
import { checkTimeout, startTimer } from "../timers.js";
import { toReadableStream, toWritableStream } from "./web-streams.js";

/** The channel of this process. There is only one, because standard input can have only one reader. */
let guest;

/** @param {import("../../../types/wipc-node.js").GuestChannelOptions} [options] */
export function guestChannel(options = {}) {
  if (guest !== undefined) throw new Error("this process is already a guest: it has one standard input");
  const { exitTimeout = EXIT_TIMEOUT, onClose, ...channelOptions } = options;
  checkTimeout("exitTimeout", exitTimeout);
  const { stdin, stdout } = process;
  let closing;
  let isExiting = false;
  const exit = () => process.exit();
  // Text that this process has printed must be written before the exit, unless the host no longer reads.
  const exitWhenWritten = () => {
    startTimer(exit, exitTimeout);
    stdout.write("", exit);
  };
  /** Ends the process once `work` and the requests of the host have ended, or after `exitTimeout`. */
  const exitAfter = async (work) => {
    if (isExiting) return;
    isExiting = true;
    startTimer(exit, exitTimeout);
    await Promise.allSettled([work, channel.idle()]);
    exitWhenWritten();
  };
  // Standard output cannot be closed: it ends with the process.
  const streams = { readable: toReadableStream(stdin), writable: toWritableStream(stdout, exitWhenWritten) };
  // An error of standard output means that the host no longer reads.
  stdout.on("error", exit);
  const channel = new WipcChannel(streams, {
    ...channelOptions,
    role: "guest",
    onClose(payload) {
      try {
        return (closing = onClose?.(payload));
      } finally {
        // The process also exits if the hook throws. The channel reports that error.
        void exitAfter(closing);
      }
    },
  });
  channel.ended.then(() => exitAfter(closing));
  return (guest = channel);
}
