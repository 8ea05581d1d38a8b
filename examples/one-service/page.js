// The page: calls the worker, and shows the answers.
import init, { JSONRPCClient, workerTransport } from "portway";
import { makeCalls } from "./calls.js";

await init();

// Calls may start at once: the worker queues messages until it is ready.
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
