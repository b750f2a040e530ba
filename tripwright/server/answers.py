"""A tool call as bytes in, bytes out: what the server answers, without any HTTP.

A closed world's answer is a pure function of the wording (face, rows of a page), the tool and the
body. Answers are therefore kept under the request's own bytes, in a cache bounded in bytes: a call
that was asked before costs neither parsing nor look-ups. Live tools (a domain's `routes/`) are
remembered by their sandbox instead.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs

from tripwright.domains import domain_of_face, face_named, faces
from tripwright.domains.domain import Domain, Place
from tripwright.domains.folders import alike, open_folder
from tripwright.errors import UserError
from tripwright.server.metrics import CACHE_HITS, UNKNOWN_TOOL
from tripwright.tools.face import Face
from tripwright.tools.toolbox import Tools
from tripwright.world.store import World

MAX_BODY_BYTES = 1_000_000
ENTRY_BYTES = 400  # what Python needs for one entry besides the bytes of key and answer
LONGEST_BODY_BYTES = 4_096  # a longer call is not asked twice
MAX_WORDINGS = 64  # toolboxes kept; they are cheap to make again
WORDING_PARAMETERS = ("face", "page_rows")
MAX_PAGE_ROWS = 1_000_000


Json = dict[str, Any]
Key = tuple[str | None, bytes, bytes]  # tool (None: it is in the body), query, body


class EncodedAnswer(NamedTuple):
    body: bytes  # {"text": …, "error": …, "rows": …, "row_ends": …}
    tool: str  # by the core's name, whatever the face calls it; UNKNOWN_TOOL where there is none
    error: bool


class AnswerCache:
    """Least recently used answers out first. Not for several threads."""

    def __init__(self, max_bytes: int):
        self.max_bytes, self.bytes = max_bytes, 0
        self._answers: OrderedDict[Key, EncodedAnswer] = OrderedDict()

    def get(self, key: Key) -> EncodedAnswer | None:
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
            CACHE_HITS.inc()
        return answer

    def put(self, key: Key, answered: EncodedAnswer) -> None:
        """`key` is not in the cache."""
        size = _size(key, answered)
        if len(key[2]) > LONGEST_BODY_BYTES or size > self.max_bytes:
            return
        self._answers[key] = answered
        self.bytes += size
        while self.bytes > self.max_bytes:
            self.bytes -= _size(*self._answers.popitem(last=False))


def _size(key: Key, answered: EncodedAnswer) -> int:
    return len(key[0] or "") + len(key[1]) + len(key[2]) + len(answered.body) + ENTRY_BYTES


class ServedTools(ABC):
    """The tools of a server, for callers who choose the wording with each call. Raises UserError
    for a wording that does not exist.

    `what` and `about` say to people what is served, `manifest` to programs; `content_hash` differs
    where it differs. With `live`, a call may take seconds, and raises ToolHostDown where nobody
    answers.
    """

    live: ClassVar[bool]
    what: str
    about: str
    content_hash: str

    def __init__(self, faces: Mapping[str, Face], default_face: str, cache_bytes: int):
        self.faces, self.default_face = faces, face_named(default_face, faces).name
        self.cache = AnswerCache(cache_bytes)
        self._boxes: dict[bytes, Tools] = {}

    @property
    @abstractmethod
    def manifest(self) -> Json: ...

    @property
    @abstractmethod
    def samples(self) -> dict[str, Json]:
        """Arguments by the core's names, tool by tool, with which each can be tried."""

    @abstractmethod
    def _box(self, face: Face, page_rows: int | None) -> Tools: ...

    @abstractmethod
    def close(self) -> None:
        """When the server ends."""

    def call(self, tool: str, body: bytes, query: bytes = b"") -> EncodedAnswer:
        """`body` holds the arguments, meant to be JSON."""
        key = (tool, query, body)
        if (cached := self.cache.get(key)) is not None:
            return cached
        answered = self._answer(self.toolbox(query), tool, _text(body))
        self.cache.put(key, answered)
        return answered

    def call_named(self, body: bytes, query: bytes = b"") -> EncodedAnswer:
        """The same with the tool's name in the body: {"name": …, "arguments": …}. Any JSON value
        may be either."""
        key = (None, query, body)
        if (cached := self.cache.get(key)) is not None:
            return cached
        try:
            call = json.loads(_text(body).removeprefix("\ufeff"))
            name, arguments = call["name"], call["arguments"]
        except (ValueError, RecursionError, LookupError, TypeError):
            raise UserError(
                'The body is no call: expected JSON like {"name": "get_cities", "arguments":'
                ' {"state": "Texas"}}.'
            ) from None
        answered = self._answer(self.toolbox(query), name, arguments)
        self.cache.put(key, answered)
        return answered

    def toolbox(self, query: bytes) -> Tools:
        """The tools in the wording that a URL's query asks for."""
        box = self._boxes.get(query)
        if box is None:
            face, page_rows = _wording(query, self.faces)
            box = self._box(self.faces[face or self.default_face], page_rows)
            if len(self._boxes) >= MAX_WORDINGS:
                self._boxes.clear()
            self._boxes[query] = box
        return box

    def _answer(self, box: Tools, tool: Any, arguments: Any) -> EncodedAnswer:
        answer = box.call(tool, arguments)
        body = json.dumps(answer.to_json(), separators=(",", ":"))
        return EncodedAnswer(
            body.encode("ascii"), box.face.offer.core_name(tool) or UNKNOWN_TOOL, answer.error
        )


class Answers(ServedTools):
    """The tools of a closed world, in the faces of all domains that live in such a one. `opened` is
    closed when the server ends."""

    live = False
    about = (
        "The tools of a closed world, as an agent calls them. It does not change while it is"
        " served: equal calls get equal answers."
    )

    def __init__(
        self,
        domain: Domain,
        place: Place,
        default_face: str,
        cache_bytes: int,
        resources: ExitStack,
    ):
        self._domains = alike(domain)
        super().__init__(
            faces({each.name: each for each in self._domains}), default_face, cache_bytes
        )
        self._place, self._opened = place, resources
        self.content_hash, self.what = (
            str(place.identity.get("content_hash", "")),
            f"world '{place.where}'",
        )

    @property
    def manifest(self) -> Json:
        identity = (
            self._place.source.manifest
            if isinstance(self._place.source, World)
            else self._place.identity
        )
        return {"name": self._place.where, **identity, "content_hash": self.content_hash}

    @cached_property
    def samples(self) -> dict[str, Json]:
        return {
            tool: arguments
            for domain in self._domains
            for tool, arguments in domain.samples(self._place.source).items()
        }

    def _box(self, face: Face, page_rows: int | None) -> Tools:
        return domain_of_face(face.name).tools(self._place.source, face, page_rows)

    def close(self) -> None:
        self._opened.close()


def world_answers(world: Path, cache_bytes: int, face: str) -> Answers:
    """The tools of the world in a folder."""
    resources = ExitStack()
    domain, place = resources.enter_context(open_folder(world, domain_of_face(face)))
    return Answers(domain, place, face, cache_bytes, resources)


def core_tools(faces: Mapping[str, Face]) -> list[str]:
    """The tools of these faces by the core's names, without repetition."""
    names = (
        (face, schema["function"]["name"]) for face in faces.values() for schema in face.schemas()
    )
    return list(dict.fromkeys(core for face, name in names if (core := face.offer.core_name(name))))


def _wording(query: bytes, faces: Mapping[str, Face]) -> tuple[str | None, int | None]:
    """(face, page_rows) of a URL's query, None where it does not say."""
    parameters = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    for name, values in parameters.items():
        if name not in WORDING_PARAMETERS:
            raise UserError(
                f"Unknown parameter '{name}'. The parameters are"
                f" {' and '.join(WORDING_PARAMETERS)}."
            )
        if len(values) > 1:
            raise UserError(f"Parameter '{name}' is given {len(values)} times, expected once.")
    face = face_named(parameters["face"][0], faces).name if "face" in parameters else None
    if "page_rows" not in parameters:
        return face, None
    text = parameters["page_rows"][0]
    if not re.fullmatch("[0-9]{1,7}", text) or not 1 <= int(text) <= MAX_PAGE_ROWS:
        raise UserError(
            f"Parameter 'page_rows' must be a whole number from 1 to {MAX_PAGE_ROWS:,}, found"
            f" '{text[:60]}'."
        )
    return face, int(text)


def _text(body: bytes) -> str:
    """JSON may hold lone surrogates, and ours sends them as it got them; other bytes that are no
    UTF-8 become a mark."""
    try:
        return body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace")
