"""Echoes the messages of websockets. Prints its address once it listens."""

import asyncio
import logging

from websockets.asyncio.server import serve


async def echo(socket):
    async for message in socket:
        await socket.send(message)


async def main():
    # The suite breaks the protocol on purpose, which is not worth a line each.
    logging.disable(logging.CRITICAL)
    async with serve(echo, "127.0.0.1", 0, max_size=32 << 20) as server:
        print(":".join(map(str, server.sockets[0].getsockname())), flush=True)
        await server.serve_forever()


asyncio.run(main())
