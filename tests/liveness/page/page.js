// Runs the kinds that the address names: groups of them one after another, those of a group at once. The outcomes are
// posted to the runner. Reading them by WebDriver does not work: WebKit's driver waits for frames that reload, and for
// ever if one dies meanwhile.

async function post(news) {
  return (await fetch("/", { method: "POST", body: JSON.stringify(news) })).json();
}

/** Has the driver do something. Resolves to its answer. */
async function driver(what, argument) {
  if (typeof argument === "function") window.begin = argument;
  const { error, answer } = await post({ what, argument });
  if (error !== undefined) throw new Error(error);
  return answer;
}

async function run(id, kind) {
  try {
    await post({ id, result: { ends: await kind(driver) } });
  } catch (error) {
    await post({ id, result: { error: `${error}` } });
  }
}

let error;
try {
  const parts = ["frames", "workers", "ports", "windows", "plain", "not-dead"];
  // One after the other: WebKit runs a module before those that it imports if others import them at the same time.
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
