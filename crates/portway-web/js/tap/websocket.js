// Taps the sockets of `webSocketTransport`. The texts are recorded where they enter and leave a socket, so they are
// exact, and include logins and pings.

import { replace, sending } from "./points.js";

/** Taps the sockets that a transport opens from now on. */
export function tapSockets(transport, point) {
  return replace(transport, "onSocket", (socket) => tapSocket(socket, point));
}

function tapSocket(socket, point) {
  const { send, close, terminate } = socket;
  let isOpen = false;
  /** Records the end of the connection, once. The transport also ignores later messages of the socket. */
  const end = (reason, code) => {
    stop();
    if (isOpen) point.close(reason, code);
    isOpen = false;
  };
  const onOpen = () => {
    isOpen = true;
    point.open();
  };
  const listeners = {
    open: onOpen,
    message({ data }) {
      if (typeof data === "string") point.text(false, data);
      else point.receivedBytes(data);
    },
    // An old version of `ws` reports the reason as a buffer.
    close: ({ code, reason }) => end(`${reason}`, code),
  };
  for (const [type, listener] of Object.entries(listeners)) socket.addEventListener(type, listener);
  // A socket that a server has accepted is open already.
  if (socket.readyState === 1) onOpen();
  const restore = [
    replace(socket, "send", (data) => sending(point.text(true, data), () => send.call(socket, data))),
    replace(socket, "close", (code, reason) => {
      end(reason && `${reason}`, code);
      return close.call(socket, code, reason);
    }),
    terminate &&
      replace(socket, "terminate", () => {
        end("the connection was terminated", undefined);
        return terminate.call(socket);
      }),
  ];
  function stop() {
    for (const [type, listener] of Object.entries(listeners)) socket.removeEventListener(type, listener);
    restore.forEach((undo) => undo?.());
  }
}
