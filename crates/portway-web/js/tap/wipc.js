// Taps the transport of a WIPC channel. The texts are the payloads of CALL frames.

import { messageOf, replace, sending } from "./points.js";

export function tapFrames(transport, point) {
  const { sendText, receive, handleClose } = transport;
  const restore = [
    replace(transport, "sendText", (text, isPeerCaused) =>
      sending(point.text(true, text), () => sendText.call(transport, text, isPeerCaused)),
    ),
    replace(transport, "receive", (payload) => {
      if (ArrayBuffer.isView(payload)) point.receivedBytes(payload);
      else point.invalidBytes(payload.beginning, payload.size, "the message exceeds maxMessage");
      return receive.call(transport, payload);
    }),
    replace(transport, "handleClose", (error, listens) => {
      point.close(messageOf(error));
      return handleClose.call(transport, error, listens);
    }),
  ];
  point.open();
  return () => restore.forEach((undo) => undo());
}
