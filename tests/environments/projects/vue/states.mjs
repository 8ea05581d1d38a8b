// Tests peers and params in the reactive state of Vue, over a real MessageChannel.

import init, { connect } from "portway";
import { isProxy, reactive, readonly, ref, shallowReactive, toRaw } from "vue";
import { equal } from "./calls.js";
import { save } from "./form.mjs";
import { report } from "./report.js";

await init();
const { port1, port2 } = new MessageChannel();
const [peer, other] = await Promise.all([
  connect(port1),
  connect(port2, { methods: { save: (form) => form, ping: () => "pong" } }),
]);

const form = { name: "Anna", tags: ["new"], at: new Map([["a", { b: [1] }]]) };
const plain = (value) => JSON.stringify({ ...value, at: [...value.at] });

await report([
  ["a peer in a ref sends reactive params", async () => equal(await save(peer), { name: "Anna", tags: ["new"] })],
  [
    "a peer in a reactive object or in a readonly object makes calls",
    async () => {
      equal(await reactive({ peer }).peer.request("ping"), "pong");
      equal(await readonly({ peer }).peer.remote.ping(), "pong");
    },
  ],
  [
    "a reactive object returns the remote of a peer without a proxy around it",
    async () => {
      const { remote } = peer;
      equal(reactive({ remote }).remote === remote && toRaw(remote) === remote, true);
      equal(isProxy(remote), false);
      equal(await toRaw(reactive({ remote }).remote).ping(), "pong");
    },
  ],
  ...Object.entries({ reactive, readonly, shallowReactive, ref: (value) => ref(value).value }).map(([name, wrap]) => [
    `values in ${name} arrive in a single call, in the second of two calls, and as a result`,
    async () => {
      equal(plain(await peer.request("save", wrap(form))), plain(form));
      const [, saved] = await Promise.all([peer.request("ping"), peer.request("save", wrap(form))]);
      equal(plain(saved), plain(form));
      other.method("load", () => wrap(form));
      equal(plain(await peer.request("load")), plain(form));
    },
  ]),
]);
peer.destroy();
other.destroy();
