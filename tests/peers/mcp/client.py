"""Uses an MCP server with the Python package `mcp`: `client.py MODE TARGET`. MODE is `legacy`, `auto` or a version, and
TARGET is a URL or a program. The server is examples/mcp-conformance-server.rs."""

import json
import sys

import anyio
from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

mode, target = sys.argv[1:]


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ada", "username": "Ada"})


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///project", name="a project")])


async def main():
    server = target if target.startswith("http") else StdioServerParameters(command=target)
    options = {"mode": mode, "elicitation_callback": elicit, "list_roots_callback": list_roots}
    async with Client(server, **options) as client:
        assert client.server_info is None or client.server_info.name == "portway-conformance", client.server_info
        tools = (await client.list_tools()).tools
        assert any(tool.name == "test_simple_text" for tool in tools), tools

        async def call(name, values=None, **options):
            return (await client.call_tool(name, values or {}, **options)).content[0].text

        assert "simple text" in await call("test_simple_text")
        assert json.loads(await call("test_x_mcp_header", {"region": "Zürich"})) == {"region": "Zürich"}
        seen = []

        async def on_progress(progress, total, message):
            seen.append(progress)

        await call("test_tool_with_progress", progress_callback=on_progress)
        assert seen == [0, 50, 100], seen
        assert "Ada" in await call("test_elicitation", {"message": "name?"})
        assert "file:///project" in await call("test_input_required_result_list_roots")
        assert (await call("test_input_required_result_multi_round")).count("Ada") == 4  # two answers with two members
        assert (await client.call_tool("test_error_handling", {})).is_error
        read = await client.read_resource("test://template/7/data")
        assert json.loads(read.contents[0].text)["id"] == "7", read
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "é"})
        assert "arg2='é'" in prompt.messages[0].content.text, prompt
        with anyio.move_on_after(0.05) as scope:
            await call("test_tool_with_progress")
        assert scope.cancelled_caught
        assert "simple text" in await call("test_simple_text")
        print("ok", client.protocol_version)


anyio.run(main)
