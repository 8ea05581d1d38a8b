// The sinks of a recorder: a function, a port, or a channel with a reader in another context. A sink acknowledges each
// batch before it gets the next one. docs/tap.md describes the messages between a recorder and a reader.

/** The default name of the channel on which recorders and readers of one origin find each other. */
export const CHANNEL = "portway-tap";

/** The member with the kind of a message. */
export const KIND = "portwayTap";

/**
 * A sink, in the form that the recorder uses. `post` passes a batch. `end` is called after the last batch.
 * @typedef {{ readonly isReady: boolean, post(records: object[]): void, end(): void }} Sink
 * @typedef {{ onTaken(error?: unknown): void, onReader(): void }} Callbacks
 */

/**
 * @param {import("../../types/tap.js").TapSink | undefined} sink
 * @param {string} source
 * @param {Callbacks} callbacks
 * @returns {Sink}
 */
export function sinkOf(sink, source, callbacks) {
  if (typeof sink === "function") return functionSink(sink, callbacks);
  if (sink === undefined || typeof sink === "string") return channelSink(sink ?? CHANNEL, source, callbacks);
  if (typeof sink?.postMessage === "function" && typeof sink.addEventListener === "function")
    return portSink(sink, callbacks);
  throw new TypeError(`sink must be a function, a MessagePort or the name of a channel, got ${typeof sink}`);
}

/**
 * Returns a sink that calls `take`. If `take` returns a promise, the sink acknowledges the batch once the promise
 * settles.
 */
function functionSink(take, { onTaken }) {
  return {
    isReady: true,
    post(records) {
      const result = take(records);
      if (typeof result?.then !== "function") return onTaken();
      result.then(
        () => onTaken(),
        (error) => onTaken(error ?? new Error("the sink has rejected")),
      );
    },
    end() {},
  };
}

function portSink(port, callbacks) {
  const link = batches(port, callbacks);
  port.start?.();
  // Without `unref`, an open port would keep a process of Node running.
  port.unref?.();
  return { isReady: true, post: link.post, end: link.end };
}

/**
 * Returns a sink for readers in other contexts. The recorder and the readers find each other on the channel `name`. The
 * records are posted to another channel, which only one reader uses. A record on the shared channel would be copied for
 * every context that uses the shared channel.
 */
function channelSink(name, source, callbacks) {
  const shared = openChannel(name);
  let own;
  let link;
  const onLeave = () => {
    own?.close();
    own = link = undefined;
  };
  shared.addEventListener("message", ({ data }) => {
    if (data?.[KIND] === "list") shared.postMessage({ [KIND]: "source", source });
    if (data?.[KIND] !== "read" || data.source !== source) return;
    // The newest reader replaces the previous one, because several readers would need several queues of records.
    link?.leave();
    onLeave();
    own = openChannel(channelOf(name, source, data.reader));
    link = batches(own, { ...callbacks, onLeave });
    callbacks.onReader();
  });
  shared.postMessage({ [KIND]: "source", source });
  return {
    get isReady() {
      return link !== undefined;
    },
    post: (records) => link?.post(records),
    end() {
      link?.end();
      onLeave();
      shared.close();
    },
  };
}

/** Returns the name of the channel between a recorder and a reader. */
export function channelOf(name, source, reader) {
  return `${name}/${source}/${reader}`;
}

export function openChannel(name) {
  const channel = new BroadcastChannel(name);
  // Without `unref`, an open channel would keep a process of Node running.
  /** @type {any} */ (channel).unref?.();
  return channel;
}

/** Passes batches over a port or a channel, and handles the acknowledgements of the reader. */
function batches(port, { onTaken, onLeave = () => {} }) {
  let last = 0;
  const listener = ({ data }) => {
    if (data?.[KIND] === "taken" && data.batch === last) onTaken();
    if (data?.[KIND] === "leave") onLeave();
  };
  port.addEventListener("message", listener);
  const end = () => {
    port.removeEventListener("message", listener);
    port.postMessage({ [KIND]: "end" });
  };
  return {
    post: (records) => port.postMessage({ [KIND]: "records", batch: ++last, records }),
    end,
    /** Ends this reader, because another reader follows. */
    leave: end,
  };
}
