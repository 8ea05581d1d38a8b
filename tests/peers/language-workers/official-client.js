// The official client of language servers over a worker, which monaco-languageclient uses.

export {
  BrowserMessageReader,
  BrowserMessageWriter,
  CancellationTokenSource,
  createProtocolConnection,
} from "vscode-languageserver-protocol/browser";
