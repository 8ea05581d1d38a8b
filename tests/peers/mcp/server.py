"""An MCP server on the Python package `mcp`. It serves both eras: over standard streams, or over HTTP on a port.

With the word `cors` after the port, pages of other origins can use the server.
"""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel

server = MCPServer("portway-peer")

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    for step in range(1, count + 1):
        await ctx.report_progress(progress=step, total=count)
    return "done"


@server.tool()
async def wait(file: str) -> str:
    """Waits until the client cancels the request, and then writes a file."""
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        with open(file, "w") as output:
            output.write("cancelled")
        raise
    return "not cancelled"


@server.tool()
async def greet(ctx: Context) -> str:
    """Asks for a name by a request of its own, as servers with `initialize` do."""
    answer = await ctx.elicit(message="name?", schema=Name)
    return f"hello {answer.data.name}" if answer.action == "accept" else answer.action


@server.tool()
async def greet_later(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name in its result, as servers of 2026-07-28 do."""
    answer = (ctx.input_responses or {}).get("name")
    if not isinstance(answer, ElicitResult):
        question = ElicitRequest(params=ElicitRequestFormParams(message="name?", requested_schema=NAME))
        return InputRequiredResult(input_requests={"name": question}, request_state="asked")
    return f"hello {answer.content['name']}, {ctx.request_state}"


@server.resource("text://readme")
def readme() -> str:
    return "é😀"


if len(sys.argv) > 2 and sys.argv[2] == "cors":
    import uvicorn
    from starlette.middleware.cors import CORSMiddleware

    app = CORSMiddleware(
        server.streamable_http_app(host="127.0.0.1"),
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id"],
    )
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
elif len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
