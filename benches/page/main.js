// Runs in the page: for each boundary a realm of its own for each subject, and then rounds in which they take turns. The
// page posts what it measures, since nobody is attached who could ask.

const PATIENCE = 120_000;
/** What moves buffers goes ways that nothing before it has warmed. */
const TRANSFERS = ["C-transfer", "H"];

const { plan, own, other } = await (await fetch("/plan")).json();
const post = (body) => fetch("/", { method: "POST", body: JSON.stringify(body) });

try {
  for (const { boundary, cells } of plan.filter(({ boundary }) => boundary !== "node"))
    await measureAll(boundary, cells);
  await post({ done: true, agent: navigator.userAgent });
} catch (error) {
  await post({ error: `${error}\n${error?.stack}` });
}

async function measureAll(boundary, cells) {
  if (boundary === "realm") return post(await instantiate(cells[0]));
  const realms = new Map();
  const faults = [];
  for (const id of new Set(cells.flatMap(({ subjects }) => subjects))) {
    try {
      realms.set(id, await limited(open(id, boundary)));
    } catch (error) {
      faults.push(`${id} at ${boundary}: ${error}`);
    }
  }
  for (const cell of cells) await post({ ...(await measure(cell, boundary, realms)), faults: faults.splice(0) });
  for (const { frame } of realms.values()) frame.remove();
}

/** In a new frame each time, which is given the compiled module. */
async function instantiate({ id: workload, size, rounds, subjects: [id] }) {
  globalThis.compiled = await WebAssembly.compileStreaming(fetch("/portway_bg.wasm"));
  const metrics = [];
  for (let round = 0; round < rounds; round++) {
    const { frame, bench } = await openFrame("/fresh.html");
    metrics.push(bench.run());
    frame.remove();
  }
  return { boundary: "realm", workload, size, results: { [id]: metrics } };
}

/** A frame with one end of the subject, which has the other end in a frame or worker of its own. */
async function open(id, boundary) {
  const made = await openFrame(`/near/${id}.html?${new URLSearchParams({ boundary, own, other })}`);
  await made.bench.ready;
  return made;
}

async function openFrame(address) {
  const frame = document.createElement("iframe");
  frame.src = address;
  // Not `load`, which does not wait for modules that wait.
  const started = new Promise((resolve) => frame.addEventListener("started", resolve, { once: true }));
  document.body.append(frame);
  await started;
  return { frame, bench: frame.contentWindow.bench };
}

async function measure({ id: workload, size, rounds, subjects }, boundary, realms) {
  const results = {};
  const faults = [];
  let running = subjects.filter((id) => realms.has(id));
  const once = async (id, count) => {
    try {
      return await limited(realms.get(id).bench.run(workload, count));
    } catch (error) {
      faults.push(`${id} at ${boundary}, ${workload}: ${error}`);
      running = running.filter((other) => other !== id);
    }
  };
  // Nobody is to meet cold code. Without a transport, code is most of what is measured.
  const warm = boundary === "loopback" ? size : workload === "A" ? 1_000 : Math.min(size, 1_000);
  const times = boundary === "loopback" ? 5 : TRANSFERS.includes(workload) ? 20 : 2;
  for (const id of [...running]) for (let i = 0; i < times; i++) if (running.includes(id)) await once(id, warm);
  for (let round = 0; round < rounds; round++) {
    for (const id of inTurn(running, round)) {
      const metrics = await once(id, size);
      if (metrics === undefined) continue;
      results[id] ??= [];
      results[id][round] = metrics;
    }
  }
  // Who has failed once is left out, so that all have the same rounds.
  return {
    boundary,
    workload,
    size,
    results: Object.fromEntries(running.map((id) => [id, results[id]])),
    failed: faults,
  };
}

/** Another order in each round: everybody is first once, and comes after others than before. */
function inTurn(list, round) {
  const first = round % list.length;
  const turned = [...list.slice(first), ...list.slice(0, first)];
  return round % 2 === 0 ? turned : turned.reverse();
}

function limited(promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("it does not end")), PATIENCE)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
