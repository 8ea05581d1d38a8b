// A client with vscode-jsonrpc. It calls the server of tests/peers/vscode_jsonrpc.rs on the socket that the argument
// names.

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

const errorOf = (call) =>
  call.then(
    (result) => assert.fail(`the call must fail, but returned ${result}`),
    (error) => error,
  );

assert.deepEqual(await connection.sendRequest("echo", { text: "é€😀", list: [1, null, { a: true }] }), {
  text: "é€😀",
  list: [1, null, { a: true }],
});
assert.equal(await connection.sendRequest("add", 1, 2), 3);
assert.equal(await connection.sendRequest("nothing"), null);

const failure = await errorOf(connection.sendRequest("fail"));
assert.deepEqual([failure.code, failure.message, failure.data], [-32001, "no such file", ["main.rs"]]);
assert.equal((await errorOf(connection.sendRequest("nope"))).code, rpc.ErrorCodes.MethodNotFound);
assert.equal((await errorOf(connection.sendRequest("add", "one", "two"))).code, rpc.ErrorCodes.InvalidParams);
assert.equal((await errorOf(connection.sendRequest("crash"))).code, rpc.ErrorCodes.InternalError);

// During this call, the server calls the client.
assert.equal(await connection.sendRequest("ask", { question: "how many?" }), "how many? 42");

// The server must handle the notifications in order, and before the request that follows them.
for (let number = 0; number < 100; number += 1) connection.sendNotification("log", { line: `line ${number}` });
assert.deepEqual(
  await connection.sendRequest("lines"),
  Array.from({ length: 100 }, (_, number) => `line ${number}`),
);

// The response to a cancelled call is an error, and the handler of the call is dropped.
const source = new rpc.CancellationTokenSource();
const pendingCall = errorOf(connection.sendRequest("wait", {}, source.token));
await connection.sendRequest("started");
source.cancel();
assert.equal((await pendingCall).code, -32800);
assert.equal(await connection.sendRequest("dropped"), true);

// Each of many calls at the same time must receive its own response.
const calls = Array.from({ length: 1_000 }, (_, number) => connection.sendRequest("echo", { number }));
assert.deepEqual(
  (await Promise.all(calls)).map(({ number }) => number),
  Array.from({ length: 1_000 }, (_, number) => number),
);

// This text is much longer than the buffer of a socket.
const text = "é€😀".repeat(500_000);
assert.equal((await connection.sendRequest("echo", { text })).text, text);

connection.end();
console.log("all is well");
process.exit(0);
