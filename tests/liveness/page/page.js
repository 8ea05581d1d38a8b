// Runs the kinds that the address names. The groups run one after another, and the kinds of a group run at the same
// time. The page posts the outcomes to the runner. WebDriver cannot read the outcomes: the driver of WebKit waits for
// iframes that reload, and waits forever if such an iframe is removed.

async function post(report) {
  return (await fetch("/", { method: "POST", body: JSON.stringify(report) })).json();
}

/** Makes the driver do an action. Resolves to the result of the action. */
async function driver(action, argument) {
  if (typeof argument === "function") window.begin = argument;
  const { error, answer } = await post({ action, argument });
  if (error !== undefined) throw new Error(error);
  return answer;
}

async function run(id, kind) {
  try {
    const outcome = await kind(driver);
    await post({ id, result: Array.isArray(outcome) ? { ends: outcome } : outcome });
  } catch (error) {
    await post({ id, result: { error: `${error}` } });
  }
}

let error;
try {
  const parts = ["frames", "workers", "ports", "windows", "plain", "sockets", "hidden", "not-dead"];
  // The modules are imported one after another. If two modules import a third one at the same time, WebKit may run one
  // of the two before the third module.
  const modules = [];
  for (const part of parts) modules.push(await import(`./${part}.js`));
  // Each module exports one table of kinds.
  const all = Object.assign({}, ...modules.flatMap((module) => Object.values(module)));
  for (const group of JSON.parse(new URLSearchParams(location.search).get("kinds"))) {
    await Promise.all(group.map((id) => run(id, all[id])));
  }
} catch (thrown) {
  error = `${thrown}`;
}
await post({ done: true, error });
