// The code of the page. It calls the worker and shows the responses.
import init, { JSONRPCClient, workerTransport } from "portway";
import { makeCalls } from "./calls.js";

await init();

// Calls can start before the worker is ready, because the browser queues the messages.
const worker = new Worker("worker.js", { type: "module" });
const client = new JSONRPCClient(workerTransport(worker));

await makeCalls(client, (what, answer) => {
  show("dt", what);
  show("dd", JSON.stringify(answer));
});
document.querySelector("#end").textContent = "All calls have ended.";

function show(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  document.querySelector("#answers").append(element);
}
