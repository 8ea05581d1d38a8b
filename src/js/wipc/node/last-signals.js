// Runs functions before this process ends, also by a signal without a handler.

/** The signals that end a program. Node does not ignore those that its parent ignored (nohup). */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"];

/** Runs a function when this process exits or is ended by a signal. Returns a function that undoes this. */
export function beforeExit(run) {
  const onSignal = (signal) => {
    // If the application listens, too, it decides whether the process ends.
    if (process.listenerCount(signal) > 1) return;
    run();
    stop();
    process.kill(process.pid, signal);
  };
  const stop = () => {
    process.off("exit", run);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  process.on("exit", run);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return stop;
}
