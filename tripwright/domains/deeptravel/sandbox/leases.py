"""Locks between threads and processes that share a store, so that only one of them asks a vendor
for a missing answer."""

from __future__ import annotations

import os
import secrets
import socket
import threading

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.errors import UserError


class Leases:
    """The leases of one process. While it lives they are renewed in the background, however long a
    vendor takes; when it is killed they run out after `seconds`."""

    def __init__(self, store: Store, seconds: float):
        self._store, self._seconds = store, seconds
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._idle = threading.Event()
        self._keeper: threading.Thread | None = None

    def claim(self, key: str) -> bool:
        if not self._store.claim(key, self.owner, self._seconds):
            return False
        with self._lock:
            self._held.add(key)
            self._idle.clear()
            if self._keeper is None:
                self._keeper = threading.Thread(
                    target=self._renew, name="tripwright leases", daemon=True
                )
                self._keeper.start()
        return True

    def release(self, key: str) -> None:
        with self._lock:
            self._held.discard(key)
            if not self._held:
                self._idle.set()
        self._store.release(key, self.owner)

    def _renew(self) -> None:
        """Ends when nothing is held any more: the next claim starts it again."""
        while True:
            if self._idle.wait(self._seconds / 3):
                with self._lock:
                    if not self._held:
                        self._keeper = None
                        return
                continue  # released and claimed again: a lease that is new needs nothing yet
            try:
                self._store.renew(self.owner, self._seconds)
            except (ProviderFault, UserError):
                continue  # whoever asks next meets the same fault and reports it
