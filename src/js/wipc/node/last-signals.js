// Runs functions before this process ends, also by a signal without a handler.

/** The signals that end a program. Node does not ignore those that its parent ignored (nohup). */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"];

/** All copies of this library in the process share one listener. Each would take that of another for the application's. */
const shared = (process[Symbol.for("portway.before-exit")] ??= { runs: new Set(), stop: undefined });

/** Runs a function when this process exits or is ended by a signal. Returns a function that undoes this. */
export function beforeExit(run) {
  const { runs } = shared;
  if (runs.size === 0) start();
  runs.add(run);
  return () => {
    if (runs.delete(run) && runs.size === 0) shared.stop();
  };
}

function start() {
  const onSignal = (signal) => {
    // If the application listens, too, it decides whether the process ends.
    if (process.listenerCount(signal) > 1 + listenersOfSignalExit()) return;
    runAll();
    shared.stop();
    process.kill(process.pid, signal);
  };
  process.on("exit", runAll);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  shared.stop = () => {
    process.off("exit", runAll);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

function runAll() {
  for (const run of shared.runs) {
    try {
      run();
    } catch {
      // The process ends all the same.
    }
  }
}

/** The package `signal-exit` listens in many programs, and leaves the end to others if there are any. These are its versions 3 and 4. */
function listenersOfSignalExit() {
  const emitters = [process.__signal_exit_emitter__, globalThis[Symbol.for("signal-exit emitter")]];
  return emitters.reduce((sum, emitter) => sum + (emitter?.count ?? 0), 0);
}
