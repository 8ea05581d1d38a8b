// The channel of libraries that leave posting and listening to the application.

/** Returns the channel of one side. It ignores messages of other windows, unless it is bare. */
export function channelOf({ kind, target, origin }, isBare = false) {
  const isWindow = kind === "frame" || kind === "parent";
  const source = isWindow ? globalThis : target;
  return {
    post: isWindow
      ? (message, transfer) => target.postMessage(message, origin, transfer)
      : (message, transfer) => target.postMessage(message, transfer),
    listen(handler) {
      const listener =
        isWindow && !isBare
          ? (event) => {
              if (event.source === target && event.origin === origin) handler(event.data);
            }
          : ({ data }) => handler(data);
      source.addEventListener("message", listener);
      source.start?.();
    },
  };
}

/** Returns a channel without a check, for the baselines. */
export const bareChannelOf = (side) => channelOf(side, true);
