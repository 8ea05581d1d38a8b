// Taps the sessions of `connect`: the handshakes on the target, and the messages on the port of each session. A
// connection begins with the first message of a handshake, and ends with its session.

import { postOrigins } from "../transport/origin.js";
import { TapPoint, cancel, messageOf, replace } from "./points.js";
import { recorderOf } from "./recorder.js";

/** @type {typeof import("../../types/tap.js").sessionTap} */
export function sessionTap({ name = "session", sink } = {}) {
  const recorder = recorderOf(sink);
  return (transport, target, { channel = "" }) =>
    TapPoint.add(transport, recorder, name, "session", (point) => {
      const tapper = new SessionTapper(transport, target, channel, point);
      return () => tapper.stop();
    });
}

class SessionTapper {
  #transport;
  #channel;
  #point;
  /** The functions that restore the transport and its target. `#ports` has the functions that restore each port. */
  #restore;
  #ports = new Map();
  /** The newest id of this side's hellos, and the previous id. Late answers to the previous hello may arrive. */
  #helloIds = [];
  /** The peer of the session. */
  #peer;
  #hadSession = false;
  /** The key that the peer has sent over the port. The goodbyes of the peer contain this key. */
  #key;
  /** Whether the port of the session was closed. The end of the session is recorded when its reason is known. */
  #isEnding = false;
  #isList = () => this.#transport.coalesces === true;

  constructor(transport, target, channel, point) {
    this.#transport = transport;
    this.#channel = channel;
    this.#point = point;
    const { listen: listenOnPort, begin, onClose, destroy } = transport;
    const { post, listen } = target;
    this.#restore = [
      replace(target, "post", (message, transfer, to) => {
        if (message.method === "rpc.hello" && message.id !== this.#helloIds[0])
          this.#helloIds = [message.id, this.#helloIds[0]];
        const isPosted = reaches(target, to);
        this.#send(isPosted, message, transfer, () => post.call(target, message, transfer, to));
      }),
      replace(target, "listen", (onMessage, ...rest) => {
        const receive = (message, origin, isAllowed) => {
          if (isAllowed && this.#isOwn(message)) this.#receive(message);
          onMessage(message, origin, isAllowed);
        };
        return listen.call(target, receive, ...rest);
      }),
      replace(transport, "listen", (peer, onFirstMessage) => {
        this.#tapPort(peer.port);
        listenOnPort.call(transport, peer, onFirstMessage);
      }),
      replace(transport, "begin", (peer) => {
        if (this.#isEnding) this.#end();
        this.#peer = peer;
        this.#hadSession = true;
        begin.call(transport, peer);
      }),
      replace(transport, "onClose", (handler, ...rest) => {
        const ended = (error, reopens, ...facts) => {
          if (!reopens || this.#isEnding || this.#hasPlainPeer) this.#end(messageOf(error));
          handler(error, reopens, ...facts);
        };
        onClose.call(transport, ended, ...rest);
      }),
      replace(transport, "destroy", () => {
        destroy.call(transport);
        this.#end("the connection was destroyed");
      }),
    ];
  }

  /** Restores the transport, its target and its ports. */
  stop() {
    for (const undo of [...this.#restore, ...this.#ports.values()]) undo();
    this.#ports.clear();
  }

  #end(reason) {
    this.#isEnding = false;
    this.#peer = undefined;
    this.#point.close(reason);
  }

  /** Whether the peer does not support sessions. Such a peer has no port: its messages cross on the target itself. */
  get #hasPlainPeer() {
    return this.#peer !== undefined && this.#peer.port.start === undefined;
  }

  #send(isPosted, message, transfer, send) {
    const entries = isPosted ? this.#point.value(true, message, transfer, this.#isList) : undefined;
    try {
      send();
    } catch (error) {
      cancel(entries);
      throw error;
    }
  }

  #receive(message) {
    this.#point.value(false, message, undefined, this.#isList);
  }

  /** Returns whether a message of the target belongs to this connection. Other connections may share the target. */
  #isOwn({ id, method, params }) {
    if (method === "rpc.hello") return params?.channel === this.#channel;
    if (method === undefined && this.#helloIds.includes(id) && id !== undefined) return true;
    if (method === "rpc.bye") return params?.key !== undefined && params.key === this.#key;
    return this.#peer === undefined ? !this.#hadSession : this.#hasPlainPeer;
  }

  #tapPort(port) {
    const { postMessage, close } = port;
    const onMessage = ({ data }) => {
      if (data?.method === "rpc.key") this.#key = data.params?.key;
      this.#receive(data);
    };
    // This listener precedes the listener of the session, so a message is recorded before it is handled.
    port.addEventListener("message", onMessage);
    const restore = [
      () => port.removeEventListener("message", onMessage),
      replace(port, "postMessage", (message, transfer) =>
        this.#send(true, message, transfer, () => postMessage.call(port, message, transfer)),
      ),
      replace(port, "close", () => {
        undo();
        this.#ports.delete(port);
        if (port === this.#peer?.port) this.#isEnding = true;
        close.call(port);
      }),
    ];
    const undo = () => restore.forEach((one) => one());
    this.#ports.set(port, undo);
  }
}

/** Returns whether a target posts a message to one of the origins. It posts nothing to an iframe that is loading. */
function reaches({ allowed, frame, currentWindow }, to) {
  if (currentWindow === undefined) return true;
  if (currentWindow() === null) return false;
  const known = frame?.contentDocument?.defaultView?.origin;
  return postOrigins(to === undefined ? allowed : [to]).some(
    (origin) => origin === "*" || known === undefined || known === origin,
  );
}
