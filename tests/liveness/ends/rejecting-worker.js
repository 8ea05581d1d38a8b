// That it runs: from here the time counts. Node is timed from the start of its thread.
globalThis.postMessage?.({ type: "starts" });

await Promise.reject(new Error("this worker does not start"));
