"""A small language server with pygls. tests/peers/pygls.rs calls this server.

The server reports a warning for each line that contains TODO.
"""

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

server = LanguageServer("todo-server", "1.0", text_document_sync_kind=types.TextDocumentSyncKind.Full)


def publish(uri: str) -> None:
    document = server.workspace.get_text_document(uri)
    diagnostics = [
        types.Diagnostic(
            range=types.Range(
                start=types.Position(line=number, character=line.index("TODO")),
                end=types.Position(line=number, character=line.index("TODO") + 4),
            ),
            message=f"to do: {line.strip()}",
            severity=types.DiagnosticSeverity.Warning,
            source="todo",
        )
        for number, line in enumerate(document.lines)
        if "TODO" in line
    ]
    server.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=uri, version=document.version, diagnostics=diagnostics)
    )


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: types.DidOpenTextDocumentParams) -> None:
    publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: types.DidChangeTextDocumentParams) -> None:
    publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
def completion(params: types.CompletionParams) -> types.CompletionList:
    document = server.workspace.get_text_document(params.text_document.uri)
    words = sorted({word for line in document.lines for word in line.split() if word.isalpha()})
    return types.CompletionList(is_incomplete=False, items=[types.CompletionItem(label=word) for word in words])


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover | None:
    document = server.workspace.get_text_document(params.text_document.uri)
    word = document.word_at_position(params.position)
    if not word:
        return None
    return types.Hover(contents=types.MarkupContent(kind=types.MarkupKind.Markdown, value=f"**{word}** 😀"))


@server.command("todo.greeting")
async def greeting(*arguments) -> str:
    """Requests the configuration of the client, and then returns the greeting."""
    answer = await server.workspace_configuration_async(
        types.ConfigurationParams(items=[types.ConfigurationItem(section="todo")])
    )
    return f"{answer[0]['greeting']}, {arguments[0]}"


@server.feature("todo/fail")
def fail(params):
    raise JsonRpcInvalidParams(message="not this", data={"param": "name"})


@server.feature("todo/crash")
def crash(params):
    raise RuntimeError("an accident")


server.start_io()
