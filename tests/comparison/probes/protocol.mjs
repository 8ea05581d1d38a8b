// Probes the messages on the channel, and whether a library can share its channel.

import init, { validateMessage } from "../../../pkg/node.js";
import { UNSUPPORTED, connected, ending, outcome, pause, quiet, tap, describe } from "./channel.mjs";

const echo = { echo: ({ text }) => text };

/** Messages of other programs that a library may receive in a page. */
const FOREIGN = [
  "webpackHotUpdate",
  42,
  null,
  [1, 2, 3],
  { type: "ping" },
  { source: "react-devtools-bridge", payload: { event: "init" } },
  { _zenfs: true, id: "1", method: "stat", args: ["/"] },
  new Uint8Array(4),
];

export const protocol = [
  {
    id: "wire",
    text: "Messages are JSON-RPC 2.0",
    async probe(library) {
      const { call, notify, seen } = await connected(library, {
        ...echo,
        fail() {
          throw library.failure(-32001, "no", { line: 3 });
        },
      });
      await ending(call("echo", { text: "hi" }));
      await ending(call("fail", {}));
      notify("echo", { text: "hi" });
      await quiet();
      await init();
      const valid = seen.length > 0 && seen.every((message) => validateMessage(message).isValid);
      return outcome(valid ? "yes" : "no", valid ? "every message is valid" : "not every message is valid");
    },
  },
  {
    id: "plain-peer",
    text: "Works with a hand-written JSON-RPC 2.0 peer",
    async probe(library) {
      const asServer = new MessageChannel();
      asServer.port2.onmessage = ({ data: { id, method, params } = {} }) => {
        if (method === "echo") asServer.port2.postMessage({ jsonrpc: "2.0", id, result: params.text });
      };
      const client = library.connectCaller(asServer.port1).then(({ call }) => call("echo", { text: "hi" }));
      const calls = (await ending(client)).value === "hi";
      const asClient = new MessageChannel();
      library.serve(asClient.port1, echo);
      const seen = tap(asClient.port2);
      asClient.port2.postMessage({ jsonrpc: "2.0", id: "a", method: "echo", params: { text: "hi" } });
      await quiet();
      const answers = seen.some((message) => message.id === "a" && message.result === "hi");
      return outcome(calls && answers ? "yes" : "no", `calls: ${calls}, answers: ${answers}`);
    },
  },
  {
    id: "notification",
    text: "Notifications without a response",
    async probe(library) {
      let received = 0;
      const { notify, seen } = await connected(library, { log: () => void received++ });
      // The handshake of the library may still be running.
      await quiet();
      const before = seen.length;
      notify("log", { text: "hi" });
      await quiet();
      const crossed = seen.length - before;
      return outcome(received === 1 && crossed === 1 ? "yes" : "no", `received: ${received}, messages: ${crossed}`);
    },
  },
  {
    id: "batch",
    text: "Batches",
    async probe(library) {
      const { call, batch, seen, here } = await connected(library, echo);
      await call("echo", { text: "hi" });
      const text = (text) => ({ method: "echo", params: { text } });
      const written = ["x", "y"].map((id) => ({ jsonrpc: "2.0", id, ...text(id) }));
      here.postMessage([...written, { jsonrpc: "2.0", ...text("z") }]);
      await quiet();
      const reply = seen.find((message) => Array.isArray(message) && message.every((item) => "result" in item));
      // The responses of a batch may have any order (JSON-RPC 2.0 §6).
      const answers =
        reply
          ?.map(({ id, result }) => `${id}: ${result}`)
          .sort()
          .join() === "x: x,y: y";
      const sent = batch && (await ending(batch([text("a"), { ...text("b"), notify: true }, text("c")])));
      const sends = sent?.value?.join() === "a,,c";
      if (!sends && !answers) return batch ? outcome("no", "neither sent nor answered") : UNSUPPORTED;
      return outcome(sends && answers ? "yes" : "partly", `sends: ${sends}, answers: ${answers}`);
    },
  },
  {
    id: "both-ways",
    text: "Both peers call each other over one channel",
    async probe(library) {
      const { port1, port2 } = new MessageChannel();
      const whoMethods = (name) => ({ who: ({ caller }) => `${name} to ${caller}` });
      const { serveAndCall, serveAndCallAsChild = serveAndCall } = library;
      const ends = Promise.all([serveAndCall(port1, whoMethods("one")), serveAndCallAsChild(port2, whoMethods("two"))]);
      const [one, two] = await ends;
      const calls = [one.call("who", { caller: "one" }), two.call("who", { caller: "two" })];
      const { value, state } = await ending(Promise.all(calls));
      return outcome(value?.join() === "two to one,one to two" ? "yes" : "no", value?.join() ?? state);
    },
  },
  {
    id: "two-clients",
    text: "Two clients on one port receive only their own responses",
    async probe(library) {
      const { port1, port2 } = new MessageChannel();
      library.serve(port2, {
        async profile({ name }) {
          // The first call is answered last.
          await pause(name === "anna" ? 100 : 10);
          return name;
        },
      });
      const end = await ending(async () => {
        const clients = [await library.connectCaller(port1), await library.connectCaller(port1)];
        return Promise.all(["anna", "bert"].map((name, n) => clients[n].call("profile", { name })));
      });
      const answers = end.value?.join();
      return outcome(answers === "anna,bert" ? "yes" : "no", answers ?? describe(end));
    },
  },
  {
    id: "early",
    text: "Calls made before the peer listens to its port are answered",
    async probe(library) {
      const { port1, port2 } = new MessageChannel();
      const answer = library.connectCaller(port1).then(({ call }) => call("echo", { text: "hi" }));
      await quiet();
      library.serve(port2, echo);
      const end = await ending(answer);
      return outcome(end.value === "hi" ? "yes" : "no", end.state);
    },
  },
  {
    id: "foreign",
    text: "Shares a port: ignores foreign messages and keeps `onmessage`",
    async probe(library, noise) {
      const { port1, port2 } = new MessageChannel();
      let received = 0;
      const onmessage = () => void received++;
      port1.onmessage = onmessage;
      port2.onmessage = onmessage;
      const seen = tap(port1, port2);
      library.serve(port2, echo);
      const { call } = await library.connectCaller(port1);
      await call("echo", { text: "hi" });
      const before = { received, seen: seen.length, noise: noise.length };
      for (const port of [port1, port2]) for (const message of FOREIGN) port.postMessage(message);
      await quiet();
      const sent = 2 * FOREIGN.length;
      const kept = received - before.received === sent;
      const replies = seen.length - before.seen - sent;
      const logged = noise.length - before.noise;
      const end = await ending(call("echo", { text: "hi" }));
      const works = end.value === "hi";
      const silent = replies === 0 && logged === 0;
      const saw = `onmessage kept: ${kept}, replies: ${replies}, errors logged: ${logged}, still works: ${works}`;
      return outcome(kept && works ? (silent ? "yes" : "partly") : "no", saw);
    },
  },
];
