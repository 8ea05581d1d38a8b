// Runs functions before this process ends. They also run if a signal ends the process, and the application has no
// handler for this signal.

/**
 * The signals that end a program. They also end a program that was started by `nohup`, because Node resets ignored
 * signals at its start.
 */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"];

/**
 * All copies of this library in the process share one listener. Otherwise a copy would mistake the listener of another
 * copy for a listener of the application.
 */
const shared = (process[Symbol.for("portway.before-exit")] ??= { runs: new Set(), stop: undefined });

/** Registers a function that runs when this process exits or a signal ends it. Returns a function that removes it. */
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
    // If the application also listens, it decides whether the process ends.
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
      // The process ends in any case, so the exception is ignored.
    }
  }
}

/**
 * Returns the number of listeners of the package `signal-exit`, versions 3 and 4. They do not count as listeners of the
 * application, because `signal-exit` ends the process only if there are no other listeners.
 */
function listenersOfSignalExit() {
  const { __signal_exit_emitter__ } = /** @type {{ __signal_exit_emitter__?: { count: number } }} */ (process);
  const emitters = [__signal_exit_emitter__, globalThis[Symbol.for("signal-exit emitter")]];
  return emitters.reduce((sum, emitter) => sum + (emitter?.count ?? 0), 0);
}
