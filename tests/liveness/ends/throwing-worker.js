// That it runs: from here the time counts. Node is timed from the start of its thread.
globalThis.postMessage?.({ type: "starts" });

throw new Error("this worker does not start");
