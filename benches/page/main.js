// Runs in the page. At each boundary, each library runs in a separate iframe. In each round, every library runs once.
// The page posts its results to the server, because no debugging client is attached to the browser that could read
// them.

const TIMEOUT_MS = 120_000;
/** Workloads that transfer buffers. They need a longer warm-up, because no earlier workload runs the same code. */
const TRANSFERS = ["transfer-params", "transfer-results"];

const { plan, ownOrigin, otherOrigin } = await (await fetch("/plan")).json();
const post = (body) => fetch("/", { method: "POST", body: JSON.stringify(body) });

try {
  for (const { boundary, cells } of plan.filter(({ boundary }) => boundary !== "node"))
    await measureAll(boundary, cells);
  await post({ done: true, agent: navigator.userAgent });
} catch (error) {
  await post({ error: `${error}\n${error?.stack}` });
}

/** Measures all cells of a boundary. A cell is a workload with its number of rounds and its libraries. */
async function measureAll(boundary, cells) {
  if (boundary === "realm") return post(await instantiate(cells[0]));
  const realms = new Map();
  const faults = [];
  for (const id of new Set(cells.flatMap(({ libraries }) => libraries))) {
    try {
      realms.set(id, await withTimeout(open(id, boundary)));
    } catch (error) {
      faults.push(`${id} at ${boundary}: ${error}`);
    }
  }
  // The faults of clients that cannot be created are posted together with the first cell.
  for (const cell of cells) await post({ ...(await measure(cell, boundary, realms)), faults: faults.splice(0) });
  for (const { iframe } of realms.values()) iframe.remove();
}

/** Measures instantiations of the compiled module, each in a new iframe. */
async function instantiate({ id: workload, size, rounds, libraries: [id] }) {
  globalThis.compiled = await WebAssembly.compileStreaming(fetch("/portway_bg.wasm"));
  const metrics = [];
  for (let round = 0; round < rounds; round++) {
    const { iframe, bench } = await openIframe("/fresh.html");
    metrics.push(bench.run());
    iframe.remove();
  }
  return { boundary: "realm", workload, size, results: { [id]: metrics } };
}

/** Opens an iframe with the client of a library. The client opens the server in another iframe or in a worker. */
async function open(id, boundary) {
  const opened = await openIframe(`/client/${id}.html?${new URLSearchParams({ boundary, ownOrigin, otherOrigin })}`);
  await opened.bench.ready;
  return opened;
}

async function openIframe(address) {
  const iframe = document.createElement("iframe");
  iframe.src = address;
  // The event `load` does not wait for modules with a top-level await.
  const started = new Promise((resolve) => iframe.addEventListener("started", resolve, { once: true }));
  document.body.append(iframe);
  await started;
  return { iframe, bench: iframe.contentWindow.bench };
}

async function measure({ id: workload, size, rounds, libraries }, boundary, realms) {
  const results = {};
  const faults = [];
  let running = libraries.filter((id) => realms.has(id));
  const runOnce = async (id, count) => {
    try {
      return await withTimeout(realms.get(id).bench.run(workload, count));
    } catch (error) {
      faults.push(`${id} at ${boundary}, ${workload}: ${error}`);
      running = running.filter((other) => other !== id);
    }
  };
  // The engine must have compiled the code before the measurement. Without a transport, the code of the library takes
  // most of the time, so the loopback has the longest warm-up.
  const warmUpSize = boundary === "loopback" ? size : workload === "sequential" ? 1_000 : Math.min(size, 1_000);
  const warmUpRuns = boundary === "loopback" ? 5 : TRANSFERS.includes(workload) ? 20 : 2;
  for (const id of [...running])
    for (let i = 0; i < warmUpRuns; i++) if (running.includes(id)) await runOnce(id, warmUpSize);
  for (let round = 0; round < rounds; round++) {
    for (const id of ordered(running, round)) {
      const metrics = await runOnce(id, size);
      if (metrics === undefined) continue;
      results[id] ??= [];
      results[id][round] = metrics;
    }
  }
  // The results of failed libraries are omitted, so that all libraries have the same rounds.
  return {
    boundary,
    workload,
    size,
    results: Object.fromEntries(running.map((id) => [id, results[id]])),
    failed: faults,
  };
}

/**
 * Returns the libraries in an order that depends on the round: each round rotates the order, and every second round
 * reverses it. So no library always runs first, or always after the same library.
 */
function ordered(list, round) {
  const first = round % list.length;
  const rotation = [...list.slice(first), ...list.slice(0, first)];
  return round % 2 === 0 ? rotation : rotation.reverse();
}

function withTimeout(promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("timeout")), TIMEOUT_MS)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
