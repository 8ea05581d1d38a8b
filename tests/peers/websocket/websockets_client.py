"""Calls a JSON-RPC server with the package `websockets`: `websockets_client.py URL`. Prints the answers as JSON.

The server must have the method `add`, and the method `ask`, which calls `name` of this client.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect


async def main():
    async with connect(sys.argv[1]) as socket:
        async def send(**members):
            await socket.send(json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=False))

        await send(id=1, method="add", params=[1, 2])
        added = json.loads(await socket.recv())
        await send(id="ü", method="nope")
        unknown = json.loads(await socket.recv())
        await socket.send("no JSON")
        garbage = json.loads(await socket.recv())
        # A text in three fragments is one message.
        await socket.send(['{"jsonrpc":"2.0","id":2,', '"method":"add",', '"params":[40,2]}'])
        fragments = json.loads(await socket.recv())
        await send(id=3, method="ask", params=["é€😀" * 50_000])
        question = json.loads(await socket.recv())
        await send(id=question["id"], result="Ada")
        asked = json.loads(await socket.recv())
        pong = await socket.ping()
        await pong
    print(json.dumps({
        "added": added,
        "unknown": [unknown["id"], unknown["error"]["code"]],
        "garbage": [garbage["id"], garbage["error"]["code"]],
        "fragments": fragments["result"],
        "question": question["method"],
        "asked": asked["result"],
        "closed": socket.close_code,
    }))


asyncio.run(main())
