// What is done before this process ends, be it by a signal that nobody handles.

/** The signals that end a program. Node does not ignore those that its parent ignored (nohup). */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"];

/** Runs a function when this process exits or is ended by a signal. Returns what takes that back. */
export function beforeExit(run) {
  const onSignal = (signal) => {
    // Where the application listens too, it decides whether this is the end.
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
