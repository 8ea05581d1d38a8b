// The functions `post` and `listen`, for libraries that require the application to post and to receive messages.

/**
 * Returns the channel of one side: the client or the server. `kind` is the kind of `target`: a port, a worker, this
 * worker (`self`), the window of an iframe (`frame`) or the parent window. A channel to a window ignores messages from
 * other windows and origins, unless `isBare` is set.
 */
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

/** Returns a channel that does not check the source of messages. The baselines use this channel. */
export const bareChannelOf = (side) => channelOf(side, true);
