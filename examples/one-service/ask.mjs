// Calls the service on a Unix socket, with the npm package `vscode-jsonrpc`: `node ask.mjs /tmp/primes.sock`.

import { once } from "node:events";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import {
  CancellationTokenSource,
  ParameterStructures,
  ProgressType,
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
} from "vscode-jsonrpc/node";
import { makeCalls } from "./calls.js";

const REQUEST_CANCELLED = -32800;
const progressType = new ProgressType();

/** Makes all calls on the Unix socket with this path. Calls `report(purpose, outcome)` for each call. */
export async function ask(path, report) {
  const socket = connect(path);
  await once(socket, "connect");
  const connection = createMessageConnection(new StreamMessageReader(socket), new StreamMessageWriter(socket));
  const connectionEnd = new Promise((_, reject) =>
    connection.onClose(() => reject(new Error("the connection has ended"))),
  );
  connection.listen();
  try {
    await Promise.race([makeCalls(new VscodeClient(connection), report), connectionEnd]);
  } finally {
    connection.dispose();
    socket.destroy();
  }
}

/** Wraps a connection of vscode-jsonrpc. Has the methods `request` and `notify` of Portway's `JSONRPCClient`. */
class VscodeClient {
  #connection;
  #nextId = 0;

  constructor(connection) {
    this.#connection = connection;
  }

  async request(method, params, { onProgress = () => {}, signal } = {}) {
    // The token of progress is the id of the request. vscode-jsonrpc numbers its requests from 0.
    const progressListener = this.#connection.onProgress(progressType, this.#nextId++, onProgress);
    const source = new CancellationTokenSource();
    signal?.addEventListener("abort", () => source.cancel());
    try {
      return await this.#connection.sendRequest(method, ...asArguments(params), source.token);
    } catch (error) {
      throw error.code === REQUEST_CANCELLED && signal?.aborted ? signal.reason : error;
    } finally {
      progressListener.dispose();
    }
  }

  notify(method, params) {
    void this.#connection.sendNotification(method, ...asArguments(params));
  }
}

/** Returns the arguments with which vscode-jsonrpc sends these params. */
function asArguments(params) {
  if (params === undefined) return [];
  return Array.isArray(params) ? [ParameterStructures.byPosition, ...params] : [params];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ask(process.argv[2] ?? "/tmp/primes.sock", (purpose, outcome) =>
    console.log(`${purpose}\n  ${JSON.stringify(outcome)}`),
  );
}
