// Transports under test: two connected transports, or one transport whose peer is the test.

import { afterThisTest } from "./cleanup.js";
import { portTransport } from "./portway.js";
import { until } from "./outcomes.js";

/** Returns a transport for each port of a real `MessageChannel`, and the ports. */
export function channel() {
  const { port1, port2 } = new MessageChannel();
  const near = portTransport(port1);
  const far = portTransport(port2);
  afterThisTest(() => [near, far].forEach((end) => end.destroy()));
  return { near, far, port1, port2 };
}

/** The other end of a boundary, with which the test acts as the peer. It records received messages. */
export class RemoteEnd {
  received = [];
  #port;
  #read = 0;
  #drainCount = 0;

  constructor(port) {
    this.#port = port;
    port.addEventListener("message", ({ data }) => this.received.push(data));
    port.start?.();
  }

  post(message, transfer) {
    this.#port.postMessage(message, transfer);
  }

  /** Returns the next unread message. */
  async next() {
    await until(() => this.received.length > this.#read, "no message arrived");
    return this.received[this.#read++];
  }

  /** Returns the unread messages, which stay unread. In place of a received array, returns its elements. */
  unread() {
    return this.received.slice(this.#read).flat();
  }

  /** Posts a request, and waits for its response. Returns the other unread messages, and marks them as read. */
  async unreadBeforeResponse() {
    const id = `drain ${++this.#drainCount}`;
    this.post({ jsonrpc: "2.0", method: "no such method", id });
    const isAnswer = (message) => message?.id === id;
    // The response may be in an array with other messages.
    await until(() => this.received.flat().some(isAnswer), "the peer did not respond");
    const unread = this.received.slice(this.#read);
    this.#read = this.received.length;
    const rest = unread.map((message) => (Array.isArray(message) ? message.filter((one) => !isAnswer(one)) : message));
    return rest.filter((message) => !isAnswer(message) && message?.length !== 0);
  }
}

/** Returns a transport over a real port, the port, and the `RemoteEnd` with which the test acts as the peer. */
export function scriptedChannel() {
  const { port1, port2 } = new MessageChannel();
  const transport = portTransport(port1);
  const remoteEnd = new RemoteEnd(port2);
  afterThisTest(() => {
    transport.destroy();
    port2.close();
  });
  return { transport, remoteEnd, port: port1 };
}

/** Returns two custom transports. The `send` of each transport synchronously delivers a copy to the other transport. */
export function loopback() {
  const handlers = [() => {}, () => {}];
  const end = (index) => ({
    sent: [],
    destroyed: 0,
    send(message) {
      this.sent.push(message);
      handlers[1 - index](structuredClone(message));
    },
    onMessage(handler) {
      handlers[index] = handler;
    },
    destroy() {
      this.destroyed++;
    },
  });
  return { near: end(0), far: end(1) };
}

/** Returns a transport without a peer. It records sent messages, and `deliver` delivers a message to the library. */
export function recorder() {
  return {
    sent: [],
    destroyed: 0,
    deliver: undefined,
    send(message, transfer) {
      this.sent.push(message);
      if (transfer !== undefined) (this.transfers ??= []).push(transfer);
    },
    onMessage(handler) {
      this.deliver = handler;
    },
    destroy() {
      this.destroyed++;
    },
  };
}

/** Wraps a transport, and records the messages of both directions. */
export function tapped(transport) {
  return {
    sent: [],
    received: [],
    send(message, transfer) {
      this.sent.push(message);
      transport.send(message, transfer);
    },
    onMessage(handler) {
      transport.onMessage((message) => {
        this.received.push(message);
        handler(message);
      });
    },
    destroy: () => transport.destroy?.(),
  };
}
