"""A small proxy: whole URLs for plain seats, tunnels for secure ones."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """Serves while it is open. `refuses` is the status that it answers to everything, `user` whom alone it lets in."""

    refuses: int | None = None
    user: str | None = None
    url: str = ""
    asked: list[str] = field(default_factory=list)
    """The first line of each request."""

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            line, _, rest = head.decode("latin-1").partition("\r\n")
            self.asked.append(line)
            method, target, _ = line.split(" ")
            wanted = None if self.user is None else f"basic {base64.b64encode(self.user.encode()).decode()}"
            status = 407 if wanted is not None and wanted.lower() not in rest.lower() else self.refuses
            if status is not None:
                writer.write(f"HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
            elif method == "CONNECT":
                host, _, port = target.rpartition(":")
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await self._join(reader, writer, host, int(port), b"")
            else:
                parts = urlsplit(target)
                first = f"{method} {parts.path} HTTP/1.1\r\n{rest}".encode("latin-1")
                await self._join(reader, writer, parts.hostname or "", parts.port or 80, first)
        writer.close()

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, first: bytes
    ) -> None:
        to_reader, to_writer = await asyncio.open_connection(host, port)
        to_writer.write(first)
        await asyncio.gather(_copy(reader, to_writer), _copy(to_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
