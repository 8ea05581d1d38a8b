// A client on vscode-jsonrpc: calls the server that tests/peers/vscode_jsonrpc.rs runs on the socket given as argument.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import rpc from "vscode-jsonrpc/node";

const socket = connect(process.argv[2]);
await once(socket, "connect");
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(socket),
  new rpc.StreamMessageWriter(socket),
);
connection.onRequest("answer", ({ question }) => (question === "how many?" ? 42 : null));
connection.listen();

const fails = (call) =>
  call.then(
    (result) => assert.fail(`no error, but ${result}`),
    (error) => error,
  );

assert.deepEqual(await connection.sendRequest("echo", { text: "é€😀", list: [1, null, { a: true }] }), {
  text: "é€😀",
  list: [1, null, { a: true }],
});
assert.equal(await connection.sendRequest("add", 1, 2), 3);
assert.equal(await connection.sendRequest("nothing"), null);

const failure = await fails(connection.sendRequest("fail"));
assert.deepEqual([failure.code, failure.message, failure.data], [-32001, "no such file", ["main.rs"]]);
assert.equal((await fails(connection.sendRequest("nope"))).code, rpc.ErrorCodes.MethodNotFound);
assert.equal((await fails(connection.sendRequest("add", "one", "two"))).code, rpc.ErrorCodes.InvalidParams);
assert.equal((await fails(connection.sendRequest("crash"))).code, rpc.ErrorCodes.InternalError);

// The server calls back while it is called.
assert.equal(await connection.sendRequest("ask", { question: "how many?" }), "how many? 42");

// Notifications, in their order, before the request behind them.
for (let number = 0; number < 100; number += 1) connection.sendNotification("log", { line: `line ${number}` });
assert.deepEqual(
  await connection.sendRequest("lines"),
  Array.from({ length: 100 }, (_, number) => `line ${number}`),
);

// A call that is cancelled is answered with that, and its handler is dropped.
const source = new rpc.CancellationTokenSource();
const waiting = fails(connection.sendRequest("wait", {}, source.token));
await connection.sendRequest("started");
source.cancel();
assert.equal((await waiting).code, -32800);
assert.equal(await connection.sendRequest("dropped"), true);

// Many at once, each with its own answer.
const many = Array.from({ length: 1_000 }, (_, number) => connection.sendRequest("echo", { number }));
assert.deepEqual(
  (await Promise.all(many)).map(({ number }) => number),
  Array.from({ length: 1_000 }, (_, number) => number),
);

// Far more than a socket holds.
const text = "é€😀".repeat(500_000);
assert.equal((await connection.sendRequest("echo", { text })).text, text);

connection.end();
console.log("all is well");
process.exit(0);
