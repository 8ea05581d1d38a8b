// Probes the options of a call, and the actions that a library supports while a call runs.

import axios from "axios";
import { createServer } from "node:http";
import { UNSUPPORTED, connected, ending, outcome, pause, quiet, describe } from "./channel.mjs";

/** Returns all texts in a value, including properties of errors that `Object.keys` omits. */
function textsIn(value, seen = new Set()) {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  return Object.getOwnPropertyNames(value).flatMap((name) => textsIn(value[name], seen));
}

export const features = [
  {
    id: "errors",
    text: "A handler's error arrives with code, message and data, as a class of the library",
    async probe(library) {
      const { call, seen } = await connected(library, {
        build() {
          throw library.failure(-32001, "no such file", { line: 3 });
        },
      });
      const { error } = await ending(call("build", {}));
      const has = {
        code: error?.code === -32001,
        message: error?.message === "no such file",
        data: error?.data?.line === 3,
        class: library.errorClass !== undefined && error instanceof library.errorClass,
      };
      const arrived = Object.keys(has).filter((part) => has[part]);
      const says = arrived.length === 4 ? "yes" : arrived.length === 0 ? "no" : `${arrived.join(", ")} only`;
      const stack = seen.some((message) => JSON.stringify(message).includes("features.mjs"));
      return outcome(says, `arrived: ${arrived.join(", ")}; with a stack: ${stack}`);
    },
  },
  {
    id: "disclosure",
    text: "Members of an uncaught `AxiosError` that the caller receives",
    async probe(library) {
      const secrets = { "request headers": "Bearer s3cret", cookies: "session=s3cret" };
      const server = createServer((_, response) => response.writeHead(403, { "set-cookie": secrets.cookies }).end());
      await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
      const address = `http://127.0.0.1:${server.address().port}/`;
      const get = () => axios.get(address, { headers: { Authorization: secrets["request headers"] } });
      const { call, seen } = await connected(library, { build: get });
      await ending(call("build", {}));
      await quiet();
      server.close();
      const texts = textsIn(seen);
      const parts = {
        message: "Request failed with status code 403",
        name: /^AxiosError$/,
        code: /^ERR_BAD_REQUEST$/,
        stack: /\n +at /,
        ...secrets,
      };
      const receivedParts = Object.keys(parts).filter((part) => texts.some((text) => text.search(parts[part]) >= 0));
      return outcome(receivedParts.join(", "), receivedParts.join(", "));
    },
  },
  {
    id: "cancel",
    text: "Cancelling ends the call at once and notifies the handler",
    async probe(library) {
      let received = false;
      const { call, callAndCancel } = await connected(library, {
        async build(_, { onCancel }) {
          onCancel?.(() => (received = true));
          await pause(1500);
        },
        echo: () => 1,
      });
      await call("echo", {});
      if (callAndCancel === undefined) return UNSUPPORTED;
      const controller = new AbortController();
      const running = callAndCancel("build", {}, controller.signal);
      await pause(50);
      controller.abort();
      const end = await ending(running, 300);
      await quiet();
      const ended = end.state === "rejected";
      const says = ended && received ? "yes" : ended || received ? "partly" : "no";
      return outcome(says, `the call: ${describe(end)}, handler notified: ${received}`);
    },
  },
  {
    id: "progress",
    text: "Calls can report progress",
    async probe(library) {
      const { callForProgress } = await connected(library, {
        async build(_, { progress }) {
          await progress(1);
          await progress(2);
          return "done";
        },
      });
      if (callForProgress === undefined) return UNSUPPORTED;
      const values = [];
      const end = await ending(callForProgress("build", {}, (value) => void values.push(value)));
      return outcome(values.join() === "1,2" && end.value === "done" ? "yes" : "no", `${values.join()}; ${end.state}`);
    },
  },
  {
    id: "transfer",
    text: "Transfers an `ArrayBuffer` in params and in results",
    async probe(library) {
      const back = new ArrayBuffer(8);
      const { call, callWithTransfer } = await connected(library, {
        take: ({ buffer }) => buffer.byteLength,
        give: (_, { transfer }) => transfer?.({ buffer: back }, [back]) ?? { buffer: back },
      });
      const buffer = new ArrayBuffer(8);
      const takeOutcome = callWithTransfer && (await ending(callWithTransfer("take", { buffer }, [buffer])));
      const giveOutcome = await ending(call("give", {}));
      const params = takeOutcome?.value === 8 && buffer.byteLength === 0;
      const results = giveOutcome.value?.buffer.byteLength === 8 && back.byteLength === 0;
      const says = params && results ? "yes" : params ? "params only" : results ? "results only" : "no";
      return outcome(says, `params: ${params}, results: ${results}`);
    },
  },
  {
    id: "values",
    text: "`Map`, `Date` and `Uint8Array` keep their types",
    async probe(library) {
      const { call } = await connected(library, { echo: ({ value }) => ({ value }) });
      const value = { map: new Map([["a", 1]]), date: new Date(0), bytes: new Uint8Array([1, 2]) };
      const { map, date, bytes } = (await ending(call("echo", { value }))).value?.value ?? {};
      const whole = map?.get?.("a") === 1 && date?.getTime?.() === 0 && bytes instanceof Uint8Array && bytes[1] === 2;
      return outcome(whole ? "yes" : "no", whole ? "whole" : "changed");
    },
  },
];
