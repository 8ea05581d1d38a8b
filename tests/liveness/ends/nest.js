// A worker that has a worker of its own, and ends it when it is told to.

let nested;
addEventListener("message", ({ data }) => {
  if (data?.type === "port") {
    nested = new Worker("port-worker.js", { type: "module" });
    nested.postMessage(data, [data.port]);
  }
  if (data?.type === "terminate") nested.terminate();
});
