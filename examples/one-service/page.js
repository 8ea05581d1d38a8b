// The code of the page. It calls the worker and shows the responses.
import init, { JSONRPCClient, workerTransport } from "portway";
import { makeCalls } from "./calls.js";

await init();

// Calls can start before the worker is ready, because the browser queues the messages.
const worker = new Worker("worker.js", { type: "module" });
const client = new JSONRPCClient(workerTransport(worker));

await makeCalls(client, (purpose, outcome) => {
  show("dt", purpose);
  show("dd", JSON.stringify(outcome));
});
document.querySelector("#end").textContent = "All calls have ended.";

function show(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  document.querySelector("#answers").append(element);
}
