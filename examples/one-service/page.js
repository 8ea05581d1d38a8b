// The page: asks the worker, and shows what it says.
import init, { JSONRPCClient, workerTransport } from "portway";
import { makeCalls } from "./calls.js";

await init();

// It can be called at once: what comes before it is ready waits there.
const worker = new Worker("worker.js", { type: "module" });
const client = new JSONRPCClient(workerTransport(worker));

await makeCalls(client, (what, answer) => {
  show("dt", what);
  show("dd", JSON.stringify(answer));
});
document.querySelector("#end").textContent = "That is all.";

function show(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  document.querySelector("#answers").append(element);
}
