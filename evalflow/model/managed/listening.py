"""Who listens on a port, as Linux tells it under /proc."""

from __future__ import annotations

import ipaddress
from pathlib import Path

PROC = Path("/proc")
LISTEN = "0A"
WORD = 8
"""Hex digits of four bytes, which the kernel writes in the machine's order."""


def listeners(port: int) -> dict[str, bool] | None:
    """The sockets that listen on a port: inode -> whether on a loopback address; None where the system cannot say."""
    found = {}
    try:
        tables = [PROC / "net" / name for name in ("tcp", "tcp6")]
        lines = [line for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return None
    if not tables[0].exists():
        return None
    for line in lines:
        _, local, _, state, *_, inode = line.split()[:10]
        address, _, number = local.partition(":")
        if state == LISTEN and int(number, 16) == port:
            found[inode] = _is_loopback(address)
    return found


def held_by(ancestor: int) -> set[str]:
    """The inodes of the sockets that the descendants of a process hold; what may not be looked at holds none."""
    found = set()
    for pid in _descendants(ancestor):
        try:
            links = [link.readlink() for link in (PROC / str(pid) / "fd").iterdir()]
        except OSError:  # it is another user's, or it has just ended
            continue
        found |= {str(link)[len("socket:[") : -1] for link in links if str(link).startswith("socket:[")}
    return found


def _descendants(ancestor: int) -> set[int]:
    parents = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                # the name, in brackets, may hold anything
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
    found = {ancestor}
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return found


def _is_loopback(address: str) -> bool:
    words = [bytes.fromhex(address[i : i + WORD])[::-1] for i in range(0, len(address), WORD)]
    ip = ipaddress.ip_address(b"".join(words))
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback
