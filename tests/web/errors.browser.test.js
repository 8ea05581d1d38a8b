// Errors of another realm, and errors whose members are objects of the page.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { channel } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

/** Returns the rejection of a call whose handler throws the result of `make`. `make` gets the window of an iframe. */
async function rejectionFor(make) {
  const element = document.createElement("iframe");
  document.body.append(element);
  afterThisTest(() => element.remove());
  const { near, far } = channel();
  new JSONRPCServer(far).method("fail", () => {
    throw make(element.contentWindow);
  });
  return rejection(new JSONRPCClient(near).request("fail"));
}

describe("an error of another realm", () => {
  it("arrives with code, message, name and cause", async () => {
    const error = await rejectionFor(({ TypeError, Error }) =>
      Object.assign(new TypeError("x", { cause: new Error("y") }), { code: 7, errno: 1 }),
    );
    assert.deepEqual([error.code, error.message, error.data.name, error.data.errno], [7, "x", "TypeError", 1]);
    assert.equal(String(error.cause), "Error: y");
    assert.notProperty(error.data, "stack");
  });

  it("arrives with its name but without its numeric code if it is a DOMException", async () => {
    const error = await rejectionFor(({ DOMException }) => new DOMException("x", "DataCloneError"));
    assert.deepEqual([error.code, error.message, error.data], [-32603, "x", { name: "DataCloneError" }]);
  });
});

describe("an error whose member is an element", () => {
  it("arrives without this member, and without a cause that is an element", async () => {
    const error = await rejectionFor(({ Error }) =>
      Object.assign(new Error("x", { cause: document.body }), { at: document.body, by: window, errno: 1 }),
    );
    assert.deepEqual(error.data, { errno: 1 });
  });
});
