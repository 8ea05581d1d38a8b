"""A JSON-RPC server with the package `websockets`. It prints its port.

`echo` returns its params. `ask` calls the method `name` of the client before it answers. `tick` notifies the client.
`drop` closes the connection with 1012.
"""

import asyncio
import json

from websockets.asyncio.server import serve


async def converse(socket):
    def send(**members):
        return socket.send(json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=False))

    asking = None
    async for text in socket:
        message = json.loads(text)
        method, params, number = message.get("method"), message.get("params"), message.get("id")
        if method is None:
            await send(id=asking, result=["héllo 😀", message.get("result")])
        elif method == "echo":
            await send(id=number, result=params)
        elif method == "ask":
            asking = number
            await send(id="question", method="name", params=[])
        elif method == "tick":
            for tick in range(3):
                await send(method="ticked", params=[tick])
            await send(id=number, result=None)
        elif method == "drop":
            await socket.close(1012, "restart")
        elif number is not None:
            await send(id=number, error={"code": -32601, "message": f"no {method}", "data": [method]})


async def main():
    async with serve(converse, "127.0.0.1", 0) as server:
        print(f"listening on port {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


asyncio.run(main())
