// The workloads, as the near end runs them: each gives its metrics for one round.

const now = () => performance.now();

/** Microseconds per call. */
const perCall = (start, end, size) => ({ us: ((end - start) * 1000) / size });

async function oneAfterTheOther(caller, size) {
  const start = now();
  for (let n = 0; n < size; n++) await caller.call("echo", { n });
  return perCall(start, now(), size);
}

async function allAtOnce(caller, size) {
  const calls = [];
  const start = now();
  for (let n = 0; n < size; n++) calls.push(caller.call("echo", { n }));
  const results = await Promise.all(calls);
  const end = now();
  if (results[size - 1] !== size - 1) throw new Error(`the last call is answered with ${results[size - 1]}`);
  return perCall(start, end, size);
}

async function notifications(caller, size) {
  const start = now();
  for (let n = 0; n < size; n++) caller.notify("tick", { n });
  const count = await caller.call("flush", {});
  const end = now();
  if (count !== size) throw new Error(`${count} of ${size} have arrived`);
  return perCall(start, end, size);
}

export const workloads = {
  A: oneAfterTheOther,
  "B-1k": allAtOnce,
  "B-10k": allAtOnce,
  E: notifications,
  async loopback(caller, size) {
    const { us } = await oneAfterTheOther(caller, size);
    return { ns: us * 1000 };
  },
};
