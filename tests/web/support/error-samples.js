// Errors of libraries and platforms, and the parts of each error that are sent by default. The parts that must not be
// sent contain the text SECRET, or a path.

import axios from "axios";
import { rejection } from "./outcomes.js";
import { RPCError, inNode } from "./portway.js";

export const SECRET = "s3cret";

/** Returns an address that responds with an error status. */
async function failingAddress(afterThisTest) {
  if (!inNode) return `${location.origin}/nothing-is-here`;
  const { createServer } = await import("node:http");
  const server = createServer((_, response) =>
    response.writeHead(403, { "set-cookie": `session=${SECRET}` }).end(SECRET),
  );
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  afterThisTest(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

/** Returns the rejection of axios for an error status. */
export async function axiosError(afterThisTest) {
  const address = await failingAddress(afterThisTest);
  const headers = { Authorization: `Bearer ${SECRET}` };
  return rejection(axios.get(address, { headers, params: { path: `/home/${SECRET}` } }));
}

/** An error with the members that errors of schema libraries have. */
class ValidationError extends Error {
  name = "ValidationError";
  issues = [{ code: "invalid_type", path: [SECRET], received: SECRET }];
  errors = [{ code: "too_small", message: "too short", path: [SECRET], received: SECRET }, "is required"];
}

class HttpError extends Error {
  status = 403;
  body = SECRET;
  get name() {
    return "HttpError";
  }
  get code() {
    return "E_FORBIDDEN";
  }
  get data() {
    return SECRET;
  }
}

class User {
  name = "user";
  password = SECRET;
}

const thrower = () => {
  throw new Error(SECRET);
};

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const withProperty = (error, key, descriptor) => Object.defineProperty(error, key, { enumerable: true, ...descriptor });

const internal = (message, data) => ({ code: -32603, message, ...(data !== undefined && { data }) });
const onlyInternalError = internal("Internal error");

/**
 * The cases. `make` returns the thrown value, or a promise of this value if `isAsync` is set. `make` gets a function
 * that registers a cleanup after the test. `sent` is the error object of the response, or a function that returns this
 * object for the thrown value.
 */
export const errorCases = [
  { name: "an Error", make: () => new Error("x"), sent: internal("x") },
  {
    name: "an AxiosError",
    isAsync: true,
    make: axiosError,
    sent: ({ message }) => internal(message, { name: "AxiosError", code: "ERR_BAD_REQUEST" }),
  },
  {
    name: "an error whose cause is an AxiosError",
    isAsync: true,
    make: async (afterThisTest) => new Error("no such file", { cause: await axiosError(afterThisTest) }),
    sent: ({ cause: { message } }) =>
      internal("no such file", { cause: { name: "AxiosError", message, code: "ERR_BAD_REQUEST" } }),
  },
  {
    name: "a DOMException",
    make: () => Object.assign(new DOMException("no room", "QuotaExceededError"), { quota: SECRET }),
    sent: internal("no room", { name: "QuotaExceededError" }),
  },
  {
    name: "a DOMException of the platform, whose numeric code is not sent",
    make() {
      try {
        return atob("%");
      } catch (error) {
        return error;
      }
    },
    sent: ({ message }) => internal(message, { name: "InvalidCharacterError" }),
  },
  {
    name: "an AggregateError with causes",
    make: () =>
      Object.assign(
        new AggregateError(
          [
            Object.assign(
              new TypeError("a", { cause: Object.assign(new Error("b"), { syscall: SECRET, errno: -2 }) }),
              { token: SECRET },
            ),
            new DOMException("c", "DataCloneError"),
            "d",
            { code: 7, message: "e", token: SECRET },
            () => SECRET,
            { token: SECRET },
          ],
          "all",
          { cause: new RPCError(-32001, "f", { g: 1 }) },
        ),
        { token: SECRET },
      ),
    sent: internal("all", {
      name: "AggregateError",
      cause: { name: "RPCError", message: "f", code: -32001, data: { g: 1 } },
      errors: [
        { name: "TypeError", message: "a", cause: { name: "Error", message: "b", errno: -2 } },
        { name: "DataCloneError", message: "c" },
        "d",
        { message: "e", code: 7 },
      ],
    }),
  },
  {
    name: "an error of a schema library",
    make: () => new ValidationError("2 problems"),
    sent: internal("2 problems", {
      name: "ValidationError",
      errors: [{ message: "too short", code: "too_small" }, "is required"],
    }),
  },
  {
    name: "an error whose class has getters",
    make: () => new HttpError("forbidden"),
    sent: internal("forbidden", { name: "HttpError", code: "E_FORBIDDEN" }),
  },
  {
    name: "an error with getters of its own",
    make: () =>
      ["data", "body", "config"].reduce(
        (error, key) => withProperty(error, key, { get: () => SECRET }),
        new Error("x"),
      ),
    sent: internal("x"),
  },
  {
    name: "an error whose getters throw",
    make: () =>
      ["name", "data", "body", "errno", "cause"].reduce(
        (error, key) => withProperty(error, key, { get: thrower }),
        Object.assign(new Error("x"), { code: "E_X" }),
      ),
    sent: internal("x", { code: "E_X" }),
  },
  {
    name: "an error with members of 10 MB",
    make: () =>
      Object.assign(new RangeError("x"), {
        body: SECRET.repeat(1_700_000),
        bytes: new Uint8Array(10_000_000),
        list: Array.from({ length: 1_000_000 }, () => SECRET),
      }),
    sent: internal("x", { name: "RangeError" }),
  },
  {
    name: "an error whose members have unexpected types",
    make: () =>
      Object.assign(new Error("x"), { code: { a: SECRET }, errno: true, name: 5, stack: SECRET, data: undefined }),
    sent: internal("x", { name: 5 }),
  },
  {
    name: "an RPCError",
    make: () => Object.assign(new RPCError(-32001, "x"), { token: SECRET }),
    sent: { code: -32001, message: "x" },
  },
  {
    name: "an RPCError with data",
    make: () => Object.assign(new RPCError(-32001, "x", { a: 1 }, { cause: new Error(SECRET) }), { token: SECRET }),
    sent: { code: -32001, message: "x", data: { a: 1 } },
  },
  {
    name: "an error with an integer code",
    make: () => Object.assign(new TypeError("x"), { code: 7, errno: 8, token: SECRET }),
    sent: { code: 7, message: "x", data: { name: "TypeError", errno: 8 } },
  },
  {
    name: "an error with data of its own",
    make: () => Object.assign(new TypeError("x"), { data: { a: 1 }, code: "E_X", token: SECRET }),
    sent: internal("x", { a: 1 }),
  },
  {
    name: "an error with data of its own that is not enumerable",
    make: () => withProperty(new TypeError("x"), "data", { value: null, enumerable: false }),
    sent: internal("x", null),
  },
  { name: "a string", make: () => "oh no", sent: internal("Internal error", "oh no") },
  { name: "null", make: () => null, sent: onlyInternalError },
  { name: "a function", make: () => () => SECRET, sent: onlyInternalError },
  {
    name: "a plain object",
    make: () => ({ message: "gone", code: -32001, status: 404, headers: { cookie: SECRET } }),
    sent: internal("gone", { code: -32001 }),
  },
  { name: "an instance of a class", make: () => new User(), sent: internal("Internal error", { name: "user" }) },
  { name: "a Map", make: () => new Map([["token", SECRET]]), sent: onlyInternalError },
  {
    name: "an array",
    make: () => [{ token: SECRET }, new RangeError("x")],
    sent: internal("Internal error", [{ name: "RangeError", message: "x" }]),
  },
  {
    name: "a proxy of an error",
    make: () => new Proxy(Object.assign(new TypeError("x"), { token: SECRET }), {}),
    sent: internal("x", { name: "TypeError" }),
  },
  { name: "a revoked proxy", make: revoked, sent: onlyInternalError },
  {
    name: "a proxy whose traps throw",
    make: () =>
      new Proxy({}, { get: thrower, getPrototypeOf: thrower, getOwnPropertyDescriptor: thrower, ownKeys: thrower }),
    sent: onlyInternalError,
  },
];

/**
 * Returns an object with the error of a case. The promise must not resolve to the error itself: if the error is a
 * proxy, the engine would read its member `then`.
 */
export async function errorOf({ make, isAsync }, afterThisTest) {
  return { error: isAsync ? await make(afterThisTest) : make() };
}

/** Returns the response that is sent if a handler fails with the error of a case. */
export function replyTo(id, { sent }, error) {
  return { jsonrpc: "2.0", error: typeof sent === "function" ? sent(error) : sent, id };
}
