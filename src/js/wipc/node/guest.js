// Being a guest: this process is one end of WIPC, on its own standard input and output.

import { EXIT_TIMEOUT } from "../../../web/limit-values.js";
import { WipcChannel } from "../../entry/wipc.js";
import { checkTimeout, startTimer } from "../timers.js";
import { toReadableStream, toWritableStream } from "./web-streams.js";

/** Standard input has one reader. */
let guest;

export function guestChannel(options = {}) {
  if (guest !== undefined) throw new Error("this process is a guest already: there is one standard input");
  const { exitTimeout = EXIT_TIMEOUT, onClose, ...channelOptions } = options;
  checkTimeout("exitTimeout", exitTimeout);
  const { stdin, stdout } = process;
  let closing;
  let isExiting = false;
  const exit = () => process.exit();
  // What is printed has to leave first, if somebody reads it.
  const exitWhenWritten = () => {
    startTimer(exit, exitTimeout);
    stdout.write("", exit);
  };
  /** Ends the process, once its work is done. */
  const exitAfter = async (work) => {
    if (isExiting) return;
    isExiting = true;
    startTimer(exit, exitTimeout);
    await Promise.allSettled([work, channel.idle()]);
    exitWhenWritten();
  };
  // Standard output cannot be closed; the end of the process is its end, too.
  const streams = { readable: toReadableStream(stdin), writable: toWritableStream(stdout, exitWhenWritten) };
  // There is nobody to read it any more.
  stdout.on("error", exit);
  const channel = new WipcChannel(streams, {
    ...channelOptions,
    role: "guest",
    onClose(payload) {
      try {
        return (closing = onClose?.(payload));
      } finally {
        // It also exits if the application fails, which the channel reports.
        void exitAfter(closing);
      }
    },
  });
  channel.ended.then(() => exitAfter(closing));
  return (guest = channel);
}
