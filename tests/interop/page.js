// Runs in the page. First, it runs the tests of peers.mjs. Then it starts the libraries one after another, and
// observes all of them. `window.seen` is the result.

const query = new URLSearchParams(location.search);

async function runAll() {
  const { check } = await import("/peers.js");
  const peers = await check();
  const all = [];
  for (const module of query.get("modules").split(",")) {
    const { run } = await import(`/${module}/page.js`);
    const { mayContinue, done } = await run(query.get("elsewhere"), Number(query.get("observedMs")));
    all.push(done.then((outcomes) => [module, outcomes]));
    await mayContinue;
  }
  return { peers, libraries: Object.fromEntries(await Promise.all(all)) };
}

runAll().then(
  (seen) => (window.seen = seen),
  (error) => (window.seen = { error: `${error}\n${error?.stack}` }),
);
