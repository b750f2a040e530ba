"""How a listening socket is closed without resetting those who are about to be answered.

The kernel completes connections before anybody accepts them, and resets those that still wait when
the socket is closed: their requests are lost. So, before a stop, the kernel is told to ignore
attempts at new connections. Those that are being made still come through and are accepted, and when
none is left, closing the socket harms nobody. A client that is ignored asks again after a second,
of the next server on the port if there is one by then; otherwise it is refused, having sent
nothing.
"""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import sys

_SO_ATTACH_FILTER = 26  # Linux; the socket module does not name it
_SYN, _ACK = 0x02, 0x10
_FLAGS_BYTE = 13  # of the TCP header, which is where the filter of a TCP socket begins to read
_LOAD_BYTE, _AND, _JUMP_IF_EQUAL, _RETURN = 0x30, 0x54, 0x15, 0x06  # classic BPF
_IGNORE_NEW = (  # operation, jump if true, jump if false, operand
    (_LOAD_BYTE, 0, 0, _FLAGS_BYTE),
    (_AND, 0, 0, _SYN | _ACK),
    (_JUMP_IF_EQUAL, 0, 1, _SYN),
    (_RETURN, 0, 0, 0),  # the packet is dropped
    (_RETURN, 0, 0, 0xFFFF_FFFF),
)


def ignore_new_connections(listener: socket.socket) -> None:
    """For all processes that share the listener. Where the system has no such filter, connections
    go on being made."""
    if sys.platform != "linux":
        return
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _IGNORE_NEW)
    buffer = ctypes.create_string_buffer(program, len(program))
    try:
        listener.setsockopt(
            socket.SOL_SOCKET,
            _SO_ATTACH_FILTER,
            struct.pack("HP", len(_IGNORE_NEW), ctypes.addressof(buffer)),
        )
    except OSError:
        # a sandbox that has none: then a connection that is made in the very last moment can still
        # be reset
        return


def readable(descriptor: int) -> bool:
    """Whether something waits there: a connection at a listener; bytes, or their end, at a
    connection."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
