// Adapts vscode-jsonrpc to the probes, by its reader and writer for browsers with their defaults. The adapter has
// functions only for features that vscode-jsonrpc has.

import {
  BrowserMessageReader,
  BrowserMessageWriter,
  CancellationTokenSource,
  ProgressType,
  ResponseError,
  createMessageConnection,
} from "vscode-jsonrpc/browser";

const progressType = new ProgressType();

export const errorClass = ResponseError;
/** The reader and writer for browsers support only ports and workers. */
export const boundaries = ["port", "worker"];

export function failure(code, message, data) {
  return new ResponseError(code, message, data);
}

export function serve(endpoint, methods) {
  const connection = start(endpoint, methods);
  return { close: () => connection.dispose() };
}

export async function connectCaller(endpoint) {
  return serveAndCall(endpoint, {});
}

export async function serveAndCall(endpoint, methods) {
  const connection = start(endpoint, methods);
  let lastToken = 0;
  return {
    call: (method, params) => connection.sendRequest(method, params),
    callForProgress(method, params, onProgress) {
      const token = ++lastToken;
      connection.onProgress(progressType, token, onProgress);
      return connection.sendRequest(method, { ...params, token });
    },
    callAndCancel(method, params, signal) {
      const source = new CancellationTokenSource();
      signal.addEventListener("abort", () => source.cancel());
      return connection.sendRequest(method, params, source.token);
    },
    notify: (method, params) => connection.sendNotification(method, params),
    close: () => connection.dispose(),
  };
}

function start(endpoint, methods) {
  const connection = createMessageConnection(new BrowserMessageReader(endpoint), new BrowserMessageWriter(endpoint));
  for (const [method, handler] of Object.entries(methods)) {
    connection.onRequest(method, (params, token) =>
      handler(params, {
        onCancel: (onAbort) => token.onCancellationRequested(onAbort),
        progress: (value) => connection.sendProgress(progressType, params.token, value),
      }),
    );
    connection.onNotification(method, (params) => handler(params, {}));
  }
  connection.listen();
  return connection;
}
