// Calls the service on a socket with the npm package `vscode-jsonrpc`: `node ask.mjs /tmp/primes.sock`.

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
const progress = new ProgressType();

/** Makes all calls on the socket with this path. */
export async function ask(path, report) {
  const socket = connect(path);
  await once(socket, "connect");
  const connection = createMessageConnection(new StreamMessageReader(socket), new StreamMessageWriter(socket));
  const lost = new Promise((_, reject) => connection.onClose(() => reject(new Error("the connection has ended"))));
  connection.listen();
  try {
    await Promise.race([makeCalls(new Service(connection), report), lost]);
  } finally {
    connection.dispose();
    socket.destroy();
  }
}

/** A connection of vscode-jsonrpc, with the methods `request` and `notify` of Portway's `JSONRPCClient`. */
class Service {
  #connection;
  #requests = 0;

  constructor(connection) {
    this.#connection = connection;
  }

  async request(method, params, { onProgress = () => {}, signal } = {}) {
    // The service reports progress with the id of the request as its token. vscode-jsonrpc counts ids from 0.
    const listening = this.#connection.onProgress(progress, this.#requests++, onProgress);
    const source = new CancellationTokenSource();
    signal?.addEventListener("abort", () => source.cancel());
    try {
      return await this.#connection.sendRequest(method, ...asArguments(params), source.token);
    } catch (error) {
      throw error.code === REQUEST_CANCELLED && signal?.aborted ? signal.reason : error;
    } finally {
      listening.dispose();
    }
  }

  notify(method, params) {
    void this.#connection.sendNotification(method, ...asArguments(params));
  }
}

function asArguments(params) {
  if (params === undefined) return [];
  return Array.isArray(params) ? [ParameterStructures.byPosition, ...params] : [params];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ask(process.argv[2] ?? "/tmp/primes.sock", (what, answer) =>
    console.log(`${what}\n  ${JSON.stringify(answer)}`),
  );
}
