// A CSS language server in a worker, with the official libraries.

import { getCSSLanguageService } from "vscode-css-languageservice";
import {
  BrowserMessageReader,
  BrowserMessageWriter,
  TextDocumentSyncKind,
  TextDocuments,
  createConnection,
} from "vscode-languageserver/browser";
import { TextDocument } from "vscode-languageserver-textdocument";

const service = getCSSLanguageService();
const documents = new TextDocuments(TextDocument);
const connection = createConnection(new BrowserMessageReader(self), new BrowserMessageWriter(self));
let cancelled = 0;

const parse = (uri) => {
  const document = documents.get(uri);
  return [document, service.parseStylesheet(document)];
};

connection.onInitialize(() => ({
  capabilities: { textDocumentSync: TextDocumentSyncKind.Full, completionProvider: {}, hoverProvider: true },
}));
documents.onDidChangeContent(async ({ document }) => {
  const settings = await connection.workspace.getConfiguration("css");
  const diagnostics = service.doValidation(document, service.parseStylesheet(document), settings);
  connection.sendDiagnostics({ uri: document.uri, diagnostics });
});
connection.onCompletion(({ textDocument, position }) => {
  const [document, stylesheet] = parse(textDocument.uri);
  return service.doComplete(document, position, stylesheet);
});
connection.onRequest("test/slow", (_, token) => {
  return new Promise((resolve) => {
    token.onCancellationRequested(() => {
      cancelled++;
      resolve(null);
    });
  });
});
connection.onRequest("test/cancelled", () => cancelled);
documents.listen(connection);
connection.listen();
