"""Reading and writing files so that a killed process leaves them whole: written beside their place
and moved into it, or appended to line by line (`Journal`) and taken up again.

A folder may be a stranger's, so whatever is read in it or written to it goes through `open_file`. A
folder that the user named may be reached through links; below it none is followed out of it
(`check_inside`)."""

from __future__ import annotations

import csv
import errno
import fcntl
import io
import json
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeVar

from tripwright.errors import NotJson, UserError, first_line, json_at, object_or_none, read_json

Row = TypeVar("Row")
MB = 1 << 20
# a TOML file; what is read into memory whole, such as a JSON object or a training's metrics, and
# one line of a file of any length
MOST_OF_TOML, MOST_AT_ONCE = MB, 64 * MB
MOST_NESTED = 100  # levels of a JSON object; what reads them goes down one call or two a level


def open_file(
    path: Path, mode: str = "rb", most: int | None = None, follow: bool = False, **how: Any
) -> Any:
    """`open` of a regular file of at most `most` bytes. `follow`: the user named this file, not a
    folder, and it may be a link. Raises UserError for a link, a pipe, a device or a folder, at once
    and with nothing read or written, and for a longer file."""

    def opener(name: str, flags: int) -> int:
        try:
            # a pipe without a writer would keep us waiting
            flags |= os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
            descriptor = os.open(name, flags, 0o666)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise
            raise UserError(f"'{path}' is no regular file, or a link to one.") from None
        found, problem = os.fstat(descriptor), "is no regular file"
        if stat.S_ISREG(found.st_mode):
            if most is None or found.st_size <= most:
                return descriptor
            problem = f"is too large: {found.st_size / MB:,.0f} MB, of at most {most / MB:,.0f}"
        os.close(descriptor)
        raise UserError(f"'{path}' {problem}.")

    return open(path, mode, opener=opener, **how)


def check_inside(folder: Path, path: Path) -> None:
    """Raises UserError where a link on the way from `folder` to `path` leads out of it."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise UserError(f"'{path}' leads out of '{folder}' by a link, which is not followed.")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Whoever reads `path` sees the old content or the new one, however this process ends."""
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, which takes its place when all is well and leaves nothing
    behind when not."""
    make_parent(path)
    partial = path.with_name(path.name + ".partial")
    try:
        with _named(path), open_file(partial, "wb") as out:
            yield out
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


# for the weights of `tripwright serve model`: a training in the same folder finds it
WEIGHTS_TOKEN = Path("runs/serve/weights-token")
TOKEN_BEGIN = "tripwright-"


def shared_token(path: Path) -> str:
    """The content of `path`, by which programs of one user know each other: whoever comes first
    makes it, whole and readable by its owner alone. Raises UserError for any other file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent) as partial:  # of mode 0600
            print(TOKEN_BEGIN + secrets.token_urlsafe(32), file=partial, flush=True)
            with suppress(FileExistsError):  # another has come first
                os.link(partial.name, path)
    with open_file(path, "r", follow=True, errors="replace") as file:
        token = "" if os.fstat(file.fileno()).st_mode & 0o077 else file.readline(200).strip()
    if not token.startswith(TOKEN_BEGIN):  # a recipe may name any file, and any address
        raise UserError(f"'{path}' is no file with a token that its owner alone can read.")
    return token


def lock(file: IO[Any] | int, in_use: str) -> None:
    """Until it is closed, or this process is gone, however it ended. Raises UserError, which says
    `in_use`, where another has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UserError(in_use) from None


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """An empty folder that becomes `path` once it is filled, however this process ends; what a
    killed process has left there is gone. Raises UserError where another process fills it now."""
    partial = path.with_name(path.name + ".partial")
    partial.mkdir(parents=True, exist_ok=True)
    # its lock dies with this process; no link, since what it holds is removed
    folder = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        busy = f"Another process is writing '{path}' now. Wait for it, or choose another folder."
        lock(folder, busy)
        # the writer before us may have moved it into its place just now
        if not (partial.exists() and os.path.samestat(os.fstat(folder), partial.stat())):
            raise UserError(busy)
        for left in partial.iterdir():
            left.unlink() if left.is_symlink() or not left.is_dir() else shutil.rmtree(left)
        try:
            yield partial
        except BaseException:
            shutil.rmtree(partial)
            raise
        os.replace(partial, path)
    finally:
        os.close(folder)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """The system does not say which file it had no room for; the user wants to know."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def written_by_library(folder: Path) -> Iterator[None]:
    """Each library has an error of its own for a disk that is full. Raises UserError for it."""
    try:
        yield
    except (OSError, UserError):
        raise
    except Exception as error:
        raise UserError(
            f"'{folder}' cannot be written: {first_line(error)}. Is the disk full?"
        ) from error


def json_object(path: Path) -> dict[str, Any] | None:
    """What `path` holds, or None where that is no JSON object, or no file."""
    try:
        return read_object(path)
    except (UserError, FileNotFoundError):
        return None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a file. Raises UserError that says what is wrong with it."""
    with open_file(path, most=MOST_AT_ONCE) as file:
        text = file.read()
    try:
        record = read_json(text, keeps_repeated=True)
    except NotJson as problem:
        raise UserError(f"'{path}' is not JSON ({problem}).") from None
    if not isinstance(record, dict):
        raise UserError(f"'{path}' is not a JSON object.")
    level: list[Any] = [record]
    for _ in range(MOST_NESTED):
        held = [value for value in level if isinstance(value, dict | list)]
        level = [each for v in held for each in (v.values() if isinstance(v, dict) else v)]
        if not level:
            return record
    raise UserError(f"'{path}' is nested more than {MOST_NESTED} levels deep.")


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One object a line, as `json_lines` reads them."""
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    write_atomically(path, "".join(lines))


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) for every line that is not empty. Raises UserError at the first that is
    no JSON."""
    with open_file(path, follow=True) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, json_at(line, f"{path}:{number}")


def some_of(path: Path, rows: Iterable[Row], what: str, expected: str) -> Iterator[Row]:
    """What is read from a file that the user named, at least one row. Raises UserError where there
    is no such file, or nothing in it: `what` was looked for, and which file was `expected`."""
    if not path.is_file():
        raise UserError(f"No {what} file at '{path}'. {expected}")
    row = None
    for row in rows:
        yield row
    if row is None:
        raise UserError(f"No {what} in '{path}'. {expected}")


# how a text begins that a spreadsheet takes for a formula: a number is none
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+(e[+-]?\d+)?$)")


def toml_table(path: Path) -> dict[str, Any]:
    """Raises UserError, which repeats nothing of the file: somebody may have put a key there."""
    try:
        return tomllib.loads(toml_text(path))
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise UserError(f"{path}: not TOML: nested too deeply.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        place = re.search(r"at (line \d+, column \d+|end of document)", str(error))
        raise UserError(f"{path}: not TOML{f' {place[0]}' if place else ''}.") from None


def toml_text(path: Path) -> str:
    with open_file(path, most=MOST_OF_TOML, follow=True) as file:
        return str(file.read().decode("utf-8"))


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated values with one line of names. Numbers have six digits, what is missing is
    empty, and no text is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_csv_cell(value) for value in row] for row in (head, *rows))
    return out.getvalue()


def _csv_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    text = "" if value is None else str(value)
    return f"'{text}" if _FORMULA.match(text) else text


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, column → cell) of a table, as spreadsheets save it. Raises UserError for what
    is none."""
    try:
        with open_file(path, follow=True) as file:
            text = file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UserError(f"No table at '{path}': expected CSV in UTF-8.") from None
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            if None in row or None in row.values():
                where = f"{path}:{rows.line_num}"
                raise UserError(f"{where}: not as many cells as the first line names.")
            yield rows.line_num, row
    except csv.Error as problem:
        raise UserError(f"{path}:{rows.line_num}: not CSV ({problem}).") from None


class Line(NamedTuple):
    """One line of a file of JSON lines: its number from 1, the byte where it begins, its bytes."""

    number: int
    offset: int
    text: bytes


def whole_lines(path: Path, most: int | None = None) -> Iterator[Line]:
    """The lines of a file of at most `most` bytes that is only ever appended to, but for empty
    ones. Raises UserError for a line that is longer than any of ours.

    What stands behind the last end of line was torn by a kill, or is still being written: it is no
    line yet. If it is a whole JSON object then nothing of it is missing but its end, and it counts.
    """
    offset = 0
    with open_file(path, most=most, buffering=1 << 16) as lines:
        for number, text in enumerate(iter(lambda: lines.readline(MOST_AT_ONCE), b""), start=1):
            if len(text) == MOST_AT_ONCE:
                raise UserError(f"{path}:{number}: a line of {MOST_AT_ONCE // MB} MB or more.")
            if not text.isspace() and (text.endswith(b"\n") or object_or_none(text) is not None):
                yield Line(number, offset, text)
            offset += len(text)


# is shown a record; raises KeyError, TypeError, ValueError or AttributeError where it is of another
# kind
Take = Callable[[Any], object]


def _take_lines(path: Path, take: Take, foreign: str) -> Iterator[tuple[Line, object]]:
    """Each line and what `take` says of it. Raises UserError that names the first line that is not
    of this file's kind: `foreign`."""
    for line in whole_lines(path):
        try:
            yield line, take(read_json(line.text))
        except UserError:
            raise
        except (NotJson, KeyError, TypeError, ValueError, AttributeError):
            raise UserError(f"{path}:{line.number}: {foreign}") from None


def keep_lines(path: Path, keep: Callable[[Any], bool], foreign: str) -> None:
    """Takes out of a journal the lines whose records `keep` refuses, and a torn last line. Other
    bad lines are refused, as by Journal."""
    if not path.exists():
        return
    rest = b"".join(line.text for line, stays in _take_lines(path, keep, foreign) if stays)
    if len(rest) != path.stat().st_size:
        write_atomically(path, rest)


class Journal:
    """A file of JSON lines that is only ever appended to, a whole line at a time: a kill at any
    moment costs at most the line under way.

    Opening it shows each earlier record to `take`, cuts off what a kill left of the last line, and
    refuses any other bad line with its place and `foreign`; until all is read nothing in the file
    is changed. One process has it: another is refused with `in_use`; without it, whoever
    has locked the folder has it.
    """

    def __init__(
        self,
        path: Path,
        take: Take = lambda record: None,
        foreign: str = "not of this file.",
        in_use: str | None = None,
    ):
        self.path = path
        make_parent(path)
        # unbuffered: what could not be written must not come with what is written later
        self._file = open_file(path, "ab", buffering=0)
        try:
            if in_use:  # two writers would cut off each other's lines
                lock(self._file, in_use)
            self._file.truncate(self._take_up(take, foreign))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, record: Any) -> None:
        """Hands one line to the system. ASCII, so that any text comes back as it was, halves of a
        surrogate pair too."""
        self._write(json.dumps(record).encode() + b"\n")

    def sync(self) -> None:
        """Forces what was appended onto the disk, where it outlives the machine."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def _write(self, line: bytes) -> None:
        """All of it or nothing: where there is no room for a line, its beginning is cut off."""
        begin, written = os.fstat(self._file.fileno()).st_size, 0
        try:
            with _named(self.path):
                while written < len(line):
                    written += self._file.write(line[written:])
        except OSError:
            self._file.truncate(begin)
            raise

    def _take_up(self, take: Take, foreign: str) -> int:
        """Where the next line begins."""
        end, text = 0, b"\n"
        for (_, offset, text), _ in _take_lines(self.path, take, foreign):
            end = offset + len(text)
        if not text.endswith(b"\n"):
            self._write(b"\n")
            end += 1
        return end


def check_new(path: Path, restart: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raises UserError where writing `path` would overwrite something, unless that is wanted; an
    input of the same command never is."""
    if any(path.resolve() == each.resolve() for each in inputs):
        raise UserError(f"'{path}' is what the command reads. Name another file with --out.")
    if path.is_dir():
        raise UserError(f"'{path}' is a folder: --out names a file.")
    if path.exists() and not restart:
        raise UserError(
            f"'{path}' is there already. Name another file with --out, or replace it with"
            " --restart."
        )


def is_no_model(model: str | Path) -> bool:
    """Whether it is neither a folder nor a name on a hub, "owner/name". What begins with the name
    of a folder that is here is a path: nobody waits for a hub because of a slip in it."""
    owner, slash, name = str(model).partition("/")
    is_name = slash and owner and name and "/" not in name and owner[0] not in ".~"
    return not Path(model).is_dir() and (not is_name or Path(owner).is_dir())


TEMPLATES = "additional_chat_templates"  # of a model folder, the one in it that libraries look into


def model_file(path: Path) -> Path:
    """A file of a model folder; in the hub's cache, the blob that a snapshot's name links to."""
    folder = Path(os.path.realpath(path.parent))
    snapshots = folder.parents[folder.name == TEMPLATES]
    blob = Path(os.path.realpath(path))
    is_hub = snapshots.name == "snapshots" and blob.parent == snapshots.parent / "blobs"
    return blob if is_hub else path


def check_model_files(model: str | Path) -> None:
    """Before libraries open by name what a model's folder holds; a name on a hub is none. Raises
    UserError for a file that `open_file` refuses, and for a text too large to be a model's."""
    folder, templates = Path(model), Path(model) / TEMPLATES
    check_inside(folder, templates)
    places = [place for place in (folder, templates) if place.is_dir()]
    for path in (path for place in places for path in place.iterdir()):
        if not path.is_dir():
            is_text = path.suffix in (".json", ".jinja", ".txt", ".model")
            open_file(model_file(path), most=MOST_AT_ONCE if is_text else None).close()


def check_folder(folder: Path) -> None:
    """Raises UserError where it cannot be made: a file stands in its place, or above it."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise UserError(f"'{folder}' cannot be made: '{place}' is a file, expected a folder.")


def make_parent(path: Path) -> None:
    """The folder that `path` is to lie in. Raises UserError where a file stands in its place."""
    check_folder(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
