"""Meta's checkers of Multi-IF, from a file that the user has: evalscope's copy where that package
is installed, or Meta's own `ifeval.py`.

They are 3,300 lines of someone else's rules, under a licence that allows copying them, and they
change; so they are not copied here. From evalscope this one file is run and not the package, which
would bring some thirty others: the logger that the file asks for is a plain one. What they need
beside it (`NEEDED`) is the extra `multi-if`.
"""

from __future__ import annotations

import importlib.util
import io
import logging
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.outside.multi_if.conversations import Dialogue, Instruction

NEEDED = ("nltk", "langdetect", "emoji", "pythainlp")
# of langdetect, which guesses by drawing, and of the arguments that a checker draws where the file
# gives none
SEED = 0
TABLE = "INSTRUCTION_DICT"
HOW = (
    "Install evalscope's copy ('pip install --no-deps evalscope'), or give Meta's 'ifeval.py' with"
    " --checkers FILE"
)
SAMPLE = "This is a sentence. Here is another one, with a comma.\n\n* A point of a list."


class UnknownInstruction(KeyError):
    """No checker for this name."""


class CheckerUnfit(Exception):
    """A checker lacks something of this machine's: nothing that a model could be blamed for (law
    4)."""


class Checkers:
    """`table`: name of an instruction → its class, as in Meta's `INSTRUCTION_DICT`."""

    def __init__(self, table: Mapping[str, Any], identity: Mapping[str, Any]):
        self._table, self.identity = table, dict(identity)

    def knows(self, name: str) -> bool:
        return name in self._table

    def follows(self, instruction: Instruction, response: str) -> bool:
        """Whether a response that is not empty does as told. Raises UnknownInstruction,
        CheckerUnfit, and whatever the checker raises."""
        if instruction.id not in self._table:
            raise UnknownInstruction(instruction.id)
        drawing = random.getstate()  # checkers draw from the one stream that everybody shares
        random.seed(SEED)
        try:
            # some print what they make of an answer, where our figures go
            with redirect_stdout(io.StringIO()):
                checker = self._table[instruction.id](instruction.id)
                checker.build_description(**instruction.arguments)
                return bool(checker.check_following(response))
        except Exception as error:
            # nltk's error where its data is not there
            if isinstance(error, ImportError) or type(error) is LookupError:
                raise CheckerUnfit(
                    f"the checker of {instruction.id} cannot work here: {_first_words(error)}"
                ) from None
            raise
        finally:
            random.setstate(drawing)

    def check_fit(self, dialogues: Sequence[Dialogue]) -> list[str]:
        """Tries each instruction of the file once. Returns the names without a checker. Raises
        UserError where something is missing on this machine, before anything is paid for."""
        tried: dict[str, Instruction] = {}
        for dialogue in dialogues:
            for turn in dialogue.turns:
                tried |= {instruction.id: instruction for instruction in turn.instructions or ()}
        for instruction in tried.values():
            try:
                self.follows(instruction, SAMPLE)
            except CheckerUnfit as problem:
                raise UserError(
                    f"Multi-IF: {str(problem).rstrip('.')}. For nltk's data: python -m"
                    " nltk.downloader punkt punkt_tab."
                ) from None
            except Exception:  # whatever a checker thinks of the sample
                continue
        return sorted(name for name in tried if not self.knows(name))


def load_checkers(path: Path | None = None) -> Checkers:
    """From Meta's file at `path`, or from the evalscope that is installed. Raises UserError."""
    file = path or _evalscope_file()
    if not file.is_file():
        raise UserError(f"No file of checkers at '{file}'. {HOW}.")
    source = file.read_bytes()
    if lacking := [
        name
        for name in NEEDED
        if name.encode() in source and importlib.util.find_spec(name) is None
    ]:
        raise UserError(
            f"The checkers in '{file}' need {', '.join(lacking)}: pip install"
            " 'tripwright[multi-if]'."
        )
    table = getattr(_run(file), TABLE, None)
    if not isinstance(table, dict) or not table:
        raise UserError(
            f"'{file}' has no table {TABLE}, as Meta's checkers of Multi-IF have. {HOW}."
        )
    if "langdetect" in sys.modules:
        sys.modules["langdetect"].DetectorFactory.seed = SEED
    return Checkers(
        table, {"source": "file" if path else "evalscope", "sha256": sha256(source).hexdigest()}
    )


def _evalscope_file() -> Path:
    """The package is found and not imported."""
    found = importlib.util.find_spec("evalscope")
    if found is None or not found.submodule_search_locations:
        raise UserError(f"No checkers of Multi-IF. {HOW}.")
    return Path(found.submodule_search_locations[0]) / "benchmarks" / "multi_if" / "ifeval.py"


def _run(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tripwright_multi_if_checkers", file)
    if spec is None or spec.loader is None:
        raise UserError(f"'{file}' is no Python file. {HOW}.")
    module = importlib.util.module_from_spec(spec)
    try:
        with _without_evalscope():
            spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(
            f"The checkers in '{file}' do not load: {_first_words(error)}. {HOW}."
        ) from None
    return module


@contextmanager
def _without_evalscope() -> Iterator[None]:
    """While it lasts, `from evalscope.utils import get_logger` gives a plain logger and imports
    nothing."""
    package, utils = ModuleType("evalscope"), ModuleType("evalscope.utils")
    utils.get_logger = lambda: logging.getLogger("multi_if")  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in ("evalscope", "evalscope.utils")}
    sys.modules |= {"evalscope": package, "evalscope.utils": utils}
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _first_words(error: Exception) -> str:
    """An error of someone else's in one line: the first that says something."""
    said = next(
        (line.strip() for line in str(error).splitlines() if any(map(str.isalnum, line))), ""
    )
    return f"{type(error).__name__}: {said[:200]}"
