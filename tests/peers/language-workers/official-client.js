// The official client of language servers, over a worker. monaco-languageclient uses this client.

export {
  BrowserMessageReader,
  BrowserMessageWriter,
  CancellationTokenSource,
  createProtocolConnection,
} from "vscode-languageserver-protocol/browser";
