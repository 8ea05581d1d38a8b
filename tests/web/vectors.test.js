// The vectors of `tests/data` over a real port; `tests/data/README.md` defines them.

import { assert } from "chai";
import { CallError, JSONRPCClient, JSONRPCServer, RPCError, inNode, validateMessage } from "./support/portway.js";
import { scriptedChannel } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

async function vectors(name) {
  const url = new URL(`../data/${name}.json`, import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

function serve(transport) {
  const nothing = () => {};
  return new JSONRPCServer(transport, { onError: nothing })
    .method("subtract", (params) => {
      const [a, b] = Array.isArray(params) ? params : [params.minuend, params.subtrahend];
      return a - b;
    })
    .method("sum", (numbers) => numbers.reduce((sum, number) => sum + number, 0))
    .method("get_data", () => ["hello", 5])
    .method("echo", (params) => params)
    .method("fail", ({ code, message, data }) => {
      throw new RPCError(code, message, data);
    })
    .method("nothing", nothing)
    .method("update", nothing)
    .method("notify_hello", nothing)
    .method("notify_sum", nothing);
}

/**
 * Returns a reply in a comparable form: the replies of a batch are sorted. If the message "Method not found" has the
 * right name of the method in `sent`, the name is removed.
 */
function canonical(reply, sent) {
  if (Array.isArray(reply)) {
    const items = reply.map((item) => canonical(item, sent));
    return items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  const { error } = reply;
  if (error?.code !== -32601) return sorted(reply);
  const request = [sent].flat().find((message) => message?.id === reply.id);
  const name = [...(request?.method ?? "")].slice(0, 100).join("");
  const message = error.message === `Method not found: ${name}` ? "Method not found" : error.message;
  return sorted({ ...reply, error: { ...error, message } });
}

function sorted(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

/** Returns the message that the server receives in a vector. */
function received({ receive, receive_repeated: repeated }) {
  return repeated === undefined ? receive : Array(repeated.times).fill(repeated.element);
}

for (const file of ["spec_examples", "envelope"]) {
  const forBoundaries = (await vectors(file)).filter((vector) => !("receive_text" in vector || "profile" in vector));

  describe(`a server handles the messages of ${file}.json:`, () => {
    for (const vector of forBoundaries) {
      it(vector.name, async () => {
        const { transport, remoteEnd } = scriptedChannel();
        serve(transport);
        const message = received(vector);
        remoteEnd.post(message);
        const replies = await remoteEnd.unreadBeforeResponse();
        const expected = "boundary_reply" in vector ? vector.boundary_reply : vector.reply;
        assert.deepEqual(
          replies.map((reply) => canonical(reply, message)),
          expected === null ? [] : [canonical(expected)],
        );
      });
    }
  });
}

const responses = (await vectors("responses")).filter((vector) => !("answer_text" in vector || "profile" in vector));

describe("a client handles the messages of responses.json:", () => {
  for (const { name, answer, outcome } of responses) {
    it(name, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const call = new JSONRPCClient(transport, { onError() {} }).request("anything");
      await remoteEnd.next();
      remoteEnd.post(answer);
      remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "the call still waits" });
      if (outcome === null) {
        assert.equal(await call, "the call still waits");
      } else if (outcome === "invalid") {
        const error = await rejection(call);
        assert.instanceOf(error, CallError);
        assert.equal(error.reason, "invalid-response");
      } else if ("error" in outcome) {
        const error = await rejection(call);
        assert.instanceOf(error, RPCError);
        const { code, message, data } = error;
        assert.deepEqual({ code, message, data }, { data: undefined, ...outcome.error });
      } else {
        assert.deepEqual(await call, outcome.result);
      }
    });
  }
});

const reports = (await vectors("validator")).filter((vector) => !("message_text" in vector));

describe("the validator reports the errors in the messages of validator.json:", () => {
  for (const { name, message, expect, errors, warnings } of reports) {
    it(name, () => {
      const report = validateMessage(message, expect === undefined ? undefined : { type: expect });
      assert.deepEqual(report, { isValid: errors.length === 0, errors, warnings });
    });
  }
});
