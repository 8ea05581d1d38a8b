// What one writes for a library that leaves its channel to its user: how to post and how to listen.

/** The channel of one side; a window is heard only as itself, unless the channel is bare. */
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

/** The same without a check, for what is to be the floor. */
export const bareChannelOf = (side) => channelOf(side, true);
