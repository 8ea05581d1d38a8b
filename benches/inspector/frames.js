// Measures the times between the frames of a page, and how much other programs slow the machine.

import { quantile } from "./statistics.mjs";

/** The duration of the task that `bareFrames` runs in each frame. */
const BARE_TASK_MS = 6;
/** The duration of `bareFrames`. */
const BARE_MS = 1_500;
/** The number of steps of the computation in `slowness`. */
const UNITS_OF_WORK = 2_000_000;
/** The duration of `slowness`. */
const WORK_MS = 600;

export const nextFrame = () => new Promise(requestAnimationFrame);

/** Resolves in a task after the next frame was drawn. */
export async function painted() {
  await nextFrame();
  await nextTask();
}

/** Resolves in a later task. */
export function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** Records the times between frames, as the browser schedules them, from the creation of the object until `stop`. */
export class Frames {
  #durations = [];
  #last;
  #frame;

  constructor() {
    const run = (time) => {
      if (this.#last !== undefined) this.#durations.push(time - this.#last);
      this.#last = time;
      this.#frame = requestAnimationFrame(run);
    };
    this.#frame = requestAnimationFrame(run);
  }

  /** Returns the recorded times, and removes them from this object. */
  take() {
    const durations = this.#durations;
    this.#durations = [];
    return durations;
  }

  /** Ends the recording, and returns a summary of the times since the last `take`. */
  stop() {
    cancelAnimationFrame(this.#frame);
    return summaryOf(this.take());
  }
}

/** Returns the number of the durations, their 95th percentile and the longest one. */
export function summaryOf(durations) {
  if (durations.length === 0) return { count: 0, p95: 0, longest: 0 };
  return { count: durations.length, p95: quantile(durations, 0.95), longest: Math.max(...durations) };
}

/**
 * Measures the frames of a page that does nothing except a task of a fixed time and a change of one text in each frame.
 * On a busy machine, these frames are also late.
 */
export async function bareFrames() {
  const line = document.createElement("output");
  // The line must not change the size of the page.
  Object.assign(line.style, { position: "fixed", top: "0", zIndex: "9" });
  document.body.append(line);
  const frames = new Frames();
  const end = performance.now() + BARE_MS;
  for (let n = 0; performance.now() < end; n++) {
    await nextFrame();
    const taskEnd = performance.now() + BARE_TASK_MS;
    while (performance.now() < taskEnd);
    line.textContent = `frame ${n}`;
  }
  line.remove();
  return frames.stop();
}

/** The shortest time of the computation in `slowness` since this page was loaded, in ms. */
let shortest = Number.POSITIVE_INFINITY;

/**
 * Returns how many times slower the machine is than without load: the mean time of a short computation, divided by the
 * shortest time. The computation allocates nothing, so its time depends only on the processor.
 */
export async function slowness() {
  const times = [];
  const end = performance.now() + WORK_MS;
  while (performance.now() < end) {
    const start = performance.now();
    // The engine must not remove the computation.
    globalThis.workResult = work();
    times.push(performance.now() - start);
    await nextTask();
  }
  // The engine compiles the computation during the first runs.
  const measured = times.slice(Math.floor(times.length / 4));
  shortest = Math.min(shortest, ...measured);
  return measured.reduce((sum, time) => sum + time, 0) / measured.length / shortest;
}

function work() {
  let state = 1;
  for (let n = 0; n < UNITS_OF_WORK; n++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
  }
  return state;
}
