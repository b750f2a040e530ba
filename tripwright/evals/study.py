"""The human study (DeepTravel, appendix A.5; row D10): transcripts drawn blind from runs go out as
files, labels that people gave them come in.

People label in a spreadsheet, Label Studio, Argilla or whatever else reads CSV or JSON lines. A
study is a folder; `study.json` is written last, so a folder that has it is whole.

| file | what it holds |
|---|---|
| `study.json` | seed, and the questions with their criteria |
| `items.jsonl`, `items.csv` | what raters see, an item a line; nothing says which run it is from |
| `key.jsonl` | item → run, transcript, the verdicts it carried: not for raters |
| `labels.jsonl` | what was imported; of one rater and item the last line counts |

The figures: for each dimension, and for all of them together, the share that people call TRUE and
how far they agree; by run where the study is unblinded; and how often what machines said agrees
with people. The unit is the item. Its label is what more than half of its raters say; a tie is
counted as not TRUE and said beside it. Wilson's interval is then over items: labels of one item
stand and fall together and are not independent. A machine's verdict that is not there is left out
and never counted as a failure. Transcripts carry the verdicts of their run; `tripwright verify
--out` writes others, named after their file.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from tripwright.domains import domains
from tripwright.domains.domain import judged_final
from tripwright.errors import UserError
from tripwright.evals.outcome import request_facts
from tripwright.files import json_lines, json_object, write_atomically
from tripwright.runs import TRANSCRIPTS, LinePlace, episode_lines, record_at, transcripts_at
from tripwright.statistics.agreement import (
    Item,
    cohens_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from tripwright.statistics.rates import rate
from tripwright.transcript import StopReason, ToolCall, Transcript

STUDY, ITEMS, FORM, KEY, LABELS = (
    "study.json", "items.jsonl", "items.csv", "key.jsonl", "labels.jsonl"
)  # fmt: skip
ALL = "all"  # all dimensions TRUE
RUBRIC = "rubric "  # begins the name of a verdict on one rubric of an answer
OF_FILE = ": "  # between the name of a file of verdicts and a verdict in it
PER_RUN = 50  # as the paper's study
LONGEST_NAME, LONGEST_NOTE = 40, 4_000  # characters
LONGEST_CELL = 32_000  # of a spreadsheet
# with apostrophes before it, so that every text comes back as it was
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_WORDS = {
    **dict.fromkeys(("true", "1", "yes"), True),
    **dict.fromkeys(("false", "0", "no"), False),
    "": None,
}

Kind = Literal["paper", "reading"]
Json = dict[str, Any]
Votes = Mapping[str, Mapping[str, bool]]  # item → rater → TRUE or FALSE
Verdicts = Mapping[str, Mapping[str, bool]]  # item → verdict → whether it passes


@dataclass(frozen=True)
class Dimension:
    """`true` and `false` say when a rater chooses which."""

    key: str
    name: str
    question: str
    true: str
    false: str


@dataclass(frozen=True)
class Label:
    """One rater's judgement of one item; a dimension that is not in `values` is not judged."""

    item: str
    rater: str
    values: Mapping[str, bool]
    note: str = ""

    def passes(self, keys: Iterable[str]) -> bool | None:
        """All TRUE; False as soon as one is FALSE, None while that is open."""
        values = [self.values.get(key) for key in keys]
        return False if False in values else None if None in values else True


Labels = Mapping[str, Mapping[str, Label]]  # rater → item → label


@dataclass(frozen=True)
class KeyEntry:
    """Where an item is from. `verdicts` are those that its transcript carried, by name."""

    item: str
    run: str
    id: str
    verdicts: Mapping[str, bool]


@dataclass(frozen=True)
class Study:
    folder: Path
    dimensions: tuple[Dimension, ...]

    @classmethod
    def open(cls, folder: Path) -> Study:
        """Raises UserError where the folder holds no whole study."""
        path = folder / STUDY
        if not path.is_file():
            raise UserError(
                f"No study in '{folder}': expected a folder that 'tripwright study make' wrote."
            )
        try:
            dimensions = tuple(
                Dimension(**each) for each in (json_object(path) or {})["dimensions"]
            )
        except (KeyError, TypeError) as problem:
            raise UserError(
                f"'{path}' cannot be read: {type(problem).__name__} {problem}."
            ) from None
        if not dimensions or len({each.key for each in dimensions}) < len(dimensions):
            raise UserError(f"'{path}' must have dimensions with different keys.")
        return cls(folder, dimensions)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dimension.key for dimension in self.dimensions)

    @cached_property
    def key(self) -> dict[str, KeyEntry]:
        """Item → where it is from, in the order of the items, which is random. Not for raters."""
        path = self.folder / KEY
        if not path.is_file():
            raise UserError(f"The study lacks '{path}'.")
        return {entry["item"]: KeyEntry(**entry) for _, entry in json_lines(path)}

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys(entry.run for entry in self.key.values()))

    def labels(self) -> dict[str, dict[str, Label]]:
        """Rater → item → what counts."""
        by_rater: dict[str, dict[str, Label]] = {}
        if (path := self.folder / LABELS).is_file():
            for _, label in _labels(self, path):
                by_rater.setdefault(label.rater, {})[label.item] = label
        return by_rater


# ---- out


class StudyCounts(NamedTuple):
    """What was drawn: items, requests that several runs answer; and how many transcripts were left
    out, as our side failed or nothing was read out of their words."""

    items: int
    shared_requests: int
    left_out: int


class _Candidate(NamedTuple):
    id: str
    request: str
    place: LinePlace


def make_study(
    paths: Sequence[Path], out: Path, kind: Kind = "paper", per_run: int = PER_RUN, seed: int = 0
) -> StudyCounts:
    """Draws at most `per_run` items of each run and writes the study; requests that more runs
    answer come first, so that runs are compared on the same ones. Equal files and seeds give equal
    studies.

    `kind` "reading" (STAR, B.4; row S2): items are plans beside the words that they were read out
    of, and no verdict is held against the labels.
    """
    if out.is_dir() and any(out.iterdir()):
        what = "a study" if (out / STUDY).exists() else "other files"
        raise UserError(f"'{out}' holds {what} already. Choose a new folder for --out.")
    sources = _sources(paths)
    candidates = {run: list(_candidates(path, kind)) for run, path in sources.items()}
    scored = {run: [each for each in of if each is not None] for run, of in candidates.items()}
    rng = Random(seed)
    answers = Counter(request for of in scored.values() for request in {c.request for c in of})
    requests = sorted(answers)
    rng.shuffle(requests)
    requests.sort(key=lambda request: -answers[request])
    draws: list[tuple[str, _Candidate]] = []
    for run, of in scored.items():
        by_request: dict[str, list[_Candidate]] = {}
        for candidate in of:
            by_request.setdefault(candidate.request, []).append(candidate)
        chosen = [request for request in requests if request in by_request][:per_run]
        draws += [(run, rng.choice(by_request[request])) for request in chosen]
    if not draws:
        raise UserError(
            "No transcript to label: all are unscored, no plan was read out of their words, or the"
            " files are empty."
        )
    rng.shuffle(draws)
    items, key = [], []
    for number, (run, candidate) in enumerate(draws, start=1):
        name = f"item-{number:0{len(str(len(draws)))}d}"
        record = record_at(sources[run], candidate.place)
        items.append({"item": name, **blind_content(record, kind)})
        key.append(
            KeyEntry(name, run, candidate.id, verdicts_of(record) if kind == "paper" else {})
        )
    questions = tomllib.loads(
        files(__package__).joinpath("study.toml").read_text(encoding="utf-8")
    )[kind]
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / ITEMS, _json_lines(items))
    write_atomically(out / FORM, _form(items, [each["key"] for each in questions]))
    write_atomically(out / KEY, _json_lines(map(asdict, key)))
    about = {"seed": seed, "items": len(items), "dimensions": questions}
    write_atomically(out / STUDY, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    times = Counter(candidate.request for _, candidate in draws)
    return StudyCounts(
        len(items),
        sum(count > 1 for count in times.values()),
        sum(each is None for of in candidates.values() for each in of),
    )


def _sources(paths: Sequence[Path]) -> dict[str, Path]:
    """Name of a run → its transcripts, of run folders or .jsonl files. Raises UserError."""
    transcripts = [transcripts_at(path) for path in paths]
    if len({file.resolve() for file in transcripts}) < len(transcripts):
        raise UserError("The same transcripts were named twice.")
    names = [
        file.resolve().parent.name if file.name == TRANSCRIPTS else file.stem
        for file in transcripts
    ]
    return {
        name if names.count(name) == 1 else str(path): file
        for name, path, file in zip(names, paths, transcripts, strict=True)
    }


def _candidates(path: Path, kind: Kind) -> Iterator[_Candidate | None]:
    """None for each episode that is left out."""

    def candidate(record: Json) -> tuple[str, bool]:
        request, domain = record["request"], record["domain"]
        words = str(request.get("query") or json.dumps(request, sort_keys=True))
        transcript = Transcript.from_json(record["transcript"])
        is_labelled = transcript.stop_reason is not StopReason.UNSCORED and (
            kind == "paper" or _reading(domain, record, transcript) is not None
        )
        return " ".join(words.split()), is_labelled

    for line in episode_lines(path):
        request, is_labelled = line.read(candidate)
        id = line.place.id or str(line.place.number)
        yield _Candidate(id, request, line.place) if is_labelled else None


def blind_content(record: Mapping[str, Any], kind: Kind) -> Json:
    """What a rater may know of a transcript: the request, the answer, the tool calls with their
    answers, the seconds it took. Not the run, not the model, not what the agent thought, not what
    the judge or the oracle said."""
    transcript = Transcript.from_json(record["transcript"])
    facts = request_facts(record) if record["domain"] in domains() else []
    content = {
        "request": str(record["request"].get("query") or ""),
        "facts": "\n".join(f"{label}: {text}" for label, text in facts),
    }
    if kind == "reading":
        reading = _reading(record["domain"], record, transcript)
        return content | {"answer": reading, "calls": "", "seconds": None}
    seconds = transcript.usage.get("seconds")
    return content | {
        "answer": _answer(record["domain"], record, transcript),
        "calls": "\n\n".join(_calls(transcript)),
        "seconds": round(float(seconds), 1) if isinstance(seconds, int | float) else None,
    }


def _answer(domain: str, record: Mapping[str, Any], transcript: Transcript) -> str:
    """As Markdown, or why there is none."""
    if plan := _days(domain, record):
        return plan
    text = (transcript.answer or "").strip()
    if not text:
        why = (
            "it is empty" if transcript.answer is not None else transcript.stop_reason or "unknown"
        )
        return f"(no answer: {str(why).replace('_', ' ')})"
    return domains()[domain].answer_page(text) if domain in domains() else text


def _reading(domain: str, record: Mapping[str, Any], transcript: Transcript) -> str | None:
    """The answer's words, and below them the plan that was read out of them. None where nothing
    was, or where the answer is no words but data."""
    words, plan = (transcript.answer or "").strip(), _days(domain, record)
    if not plan or not words or words[0] in "[{":
        return None
    return f"# The answer\n\n{words}\n\n---\n\n# The plan as read\n\n{plan}"


def _days(domain: str, record: Mapping[str, Any]) -> str:
    days = domains()[domain].answer_days(record) if domain in domains() else None
    return "\n\n".join(
        "\n".join(
            [
                f"**Day {day['number']}: {day['city']}**\n",
                *(f"- {label}: {'; '.join(pieces)}" for label, *pieces in day["lines"]),
            ]
        )
        for day in days or ()
    )


def _calls(transcript: Transcript) -> Iterator[str]:
    """With what the agent was given instead, where its text does not hold the tool's whole answer:
    a page of it, or a fault."""
    segments = transcript.segments
    calls = [place for place, segment in enumerate(segments) if segment.call is not None]
    for number, place in enumerate(calls, start=1):
        call: ToolCall = segments[place].call  # type: ignore[assignment]
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        text = f"Call {number}: {call.name} {arguments}\n{_result(call)}"
        shown = [each.text for each in segments[place : place + 2] if each.role == "tool"]
        if shown and call.result not in shown[0]:
            text += f"\nThe agent was shown instead: {shown[0]}"
        yield text


def _result(call: ToolCall) -> str:
    """Numbered rows, as evidence cards name them ("[call 2, row 1]"), or the tool's text."""
    if call.rows is None or not call.rows.values:
        return call.result
    about = [f"{name}: {value}" for name, value in call.rows.about.items()]
    rows = [
        f"row {number}: {json.dumps(row, ensure_ascii=False)}"
        for number, row in enumerate(call.rows.records(), start=1)
    ]
    return "\n".join([*about, *rows])


def verdicts_of(record: Mapping[str, Any]) -> dict[str, bool]:
    """What machines said of a transcript, as its domain names it."""
    domain = domains().get(record["domain"])
    return domain.opinions(record) if domain is not None else judged_final(record)


def _form(items: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """A spreadsheet to fill in: an empty column for the rater, each dimension and a note."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*items[0], "rater", *keys, "note"])
    writer.writerows([*map(_csv_cell, item.values()), *[""] * (len(keys) + 2)] for item in items)
    return text.getvalue()


def _csv_cell(value: Any) -> str:
    """A text that a spreadsheet would take for a formula gets an apostrophe, as spreadsheets write
    it themselves."""
    text = "" if value is None else str(value)
    if len(text) > LONGEST_CELL:
        text = f"{text[:LONGEST_CELL]} … (the rest is in {ITEMS})"
    return f"'{text}" if _FORMULA.match(text) else text


def _json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


# ---- in


def import_labels(study: Study, path: Path) -> list[Label]:
    """Takes all lines of a file or none: raises UserError with the number of the first bad line.
    What is imported later counts, where it is about the same rater and item."""
    if path.suffix not in (".csv", ".jsonl") or not path.is_file():
        raise UserError(f"No labels at '{path}'. Expected a .csv or .jsonl file.")
    imports: dict[tuple[str, str], Label] = {}
    for number, label in _labels(study, path):
        if (label.rater, label.item) in imports:
            raise UserError(
                f"{path}:{number}: '{label.rater}' has labelled {label.item} on an earlier line."
            )
        imports[label.rater, label.item] = label
    if not imports:
        raise UserError(f"'{path}' holds no labels.")
    before = study.folder / LABELS
    lines = before.read_text(encoding="utf-8") if before.is_file() else ""
    write_atomically(before, lines + _json_lines(map(asdict, imports.values())))
    return list(imports.values())


def _labels(study: Study, path: Path) -> Iterator[tuple[int, Label]]:
    """A line holds the dimensions itself, as in a table, or in an object "values". Columns of other
    names are left alone: labelling tools add some. A row in which nobody has labelled anything is
    passed over, so that a form may be half full."""
    for number, line in json_lines(path) if path.suffix == ".jsonl" else _csv_lines(path):
        try:
            if not isinstance(line, dict):
                raise UserError("expected an object.")
            values = line.get("values", line)
            if not isinstance(values, dict):
                raise UserError("expected an object in 'values'.")
            if "values" not in line and (absent := [key for key in study.keys if key not in line]):
                raise UserError(f"no '{absent[0]}': expected item, rater, {', '.join(study.keys)}.")
            judged = {key: _read_word(key, values[key]) for key in study.keys if key in values}
            given = {key: value for key, value in judged.items() if value is not None}
            rater, note = line.get("rater") or line.get("annotator") or "", line.get("note") or ""
            if not given and not rater and not note:
                continue
            if (item := str(line.get("item"))) not in study.key:
                raise UserError(f"no item '{item:.80}' in this study.")
            if not isinstance(note, str) or len(note) > LONGEST_NOTE:
                raise UserError(f"a note is text of at most {LONGEST_NOTE:,} characters.")
            yield number, Label(item, rater_name(rater), given, note)
        except UserError as problem:
            raise UserError(f"{path}:{number}: {problem}") from None


def _csv_lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(f"'{path}' is not text in UTF-8 (byte {problem.start + 1}).") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        if None in row or None in row.values():
            raise UserError(f"{path}:{reader.line_num}: not as many cells as the first line names.")
        note = row.get("note", "")
        is_escaped = note[:1] == "'" and _FORMULA.match(note[1:])
        yield reader.line_num, {**row, "note": note[1:] if is_escaped else note}


def rater_name(value: Any) -> str:
    """ "  Ann  Lee" and "ann lee" are one rater; numbers are names too, as labelling tools give."""
    name = unicodedata.normalize("NFC", " ".join(str(value).split())).casefold()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UserError(f"a rater's name has 1 to {LONGEST_NAME} characters, found {value!r:.80}.")
    return name


def _read_word(key: str, cell: Any) -> bool | None:
    word = str("" if cell is None else cell).strip().casefold()
    if word not in _WORDS:
        raise UserError(f"'{key}' must be TRUE, FALSE or empty, found {cell!r:.80}.")
    return _WORDS[word]


# ---- figures


def summary(
    study: Study, unblind: bool = False, verdicts: Verdicts | None = None
) -> dict[str, Any]:
    """All figures as JSON values. Runs are named only where it is `unblind`. `verdicts` are more
    than those that transcripts carry."""
    labels = study.labels()
    votes = {name: _votes_on(study, labels, name) for name in (*study.keys, ALL)}
    figures: dict[str, Any] = {
        "items": len(study.key),
        "raters": {
            rater: {
                "begun": sum(bool(label.values) for label in by_item.values()),
                "done": sum(len(label.values) == len(study.keys) for label in by_item.values()),
            }
            for rater, by_item in sorted(labels.items())
        },
        "dimensions": {name: _dimension_figures(of) for name, of in votes.items()},
        "verdicts": _verdict_figures(study, votes, verdicts or {}),
    }
    if unblind:
        items = {run: [e.item for e in study.key.values() if e.run == run] for run in study.runs}
        figures["runs"] = {
            run: {
                "items": len(mine),
                "true": {
                    name: _share([of[item] for item in mine if of[item]])
                    for name, of in votes.items()
                },
            }
            for run, mine in items.items()
        }
    return figures


def _votes_on(study: Study, labels: Labels, name: str) -> Votes:
    """On one dimension, or on ALL of them; only labels that were given."""
    votes: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for rater, by_item in labels.items():
        for item, label in by_item.items():
            value = label.passes(study.keys) if name == ALL else label.values.get(name)
            if value is not None:
                votes[item][rater] = value
    return votes


def majority(item: Iterable[bool]) -> bool | None:
    """TRUE or FALSE as more than half of the labels say; None on a tie or without labels."""
    votes = Counter(item)
    return None if votes[True] == votes[False] else votes[True] > votes[False]


def _share(items: Sequence[Mapping[str, bool]]) -> Any:
    return rate(sum(majority(vote.values()) is True for vote in items), len(items))


def _dimension_figures(votes: Votes) -> dict[str, Any]:
    """Fleiss' kappa is over the items that every rater has labelled, the others over all that they
    can use; the counts say how many."""
    items: list[Item] = [vote for vote in votes.values() if vote]
    raters = sorted({rater for vote in items for rater in vote})
    complete = [vote for vote in items if len(vote) == len(raters)]
    values = [value for vote in votes.values() for value in vote.values()]
    pairs = {
        f"{a} · {b}": cohens_kappa([(each[a], each[b]) for each in items if {a, b} <= each.keys()])
        for a, b in combinations(raters, 2)
    }
    return {
        "true": _share([vote for vote in votes.values() if vote]),
        "tied": sum(bool(vote) and majority(vote.values()) is None for vote in votes.values()),
        "labels": {"true": sum(values), "n": len(values)},
        "agreement": percent_agreement(items),
        "compared": sum(len(vote) > 1 for vote in items),
        "cohen_kappa": next(iter(pairs.values())) if len(pairs) == 1 else None,
        "cohen_kappa_by_pair": pairs,
        "fleiss_kappa": fleiss_kappa(complete) if len(raters) > 1 else None,
        "complete": len(complete) if len(raters) > 1 else 0,
        "krippendorff_alpha": krippendorff_alpha(items),
    }


def _counterparts() -> dict[str, str]:
    """Verdict → the dimension that asks nearly the same, of all domains."""
    return {name: key for domain in domains().values() for name, key in domain.counterparts.items()}


def _verdict_figures(study: Study, votes: Mapping[str, Votes], more: Verdicts) -> dict[str, Any]:
    """Verdict → the dimension it is held against (all of them where none is alike), and how often
    it says what most raters say; items on which they are tied have no say."""
    figures, counterparts = {}, _counterparts()
    verdicts = {item: {**entry.verdicts, **more.get(item, {})} for item, entry in study.key.items()}
    for name in dict.fromkeys(name for of in verdicts.values() for name in of):
        against = counterparts.get(name.rpartition(OF_FILE)[2], ALL)
        if against not in votes:
            continue
        pairs = [
            (of[name], people)
            for item, of in verdicts.items()
            if name in of and (people := majority(votes[against][item].values())) is not None
        ]
        figures[name] = {
            "against": against,
            "agreement": rate(sum(a == b for a, b in pairs), len(pairs)),
            "cohen_kappa": cohens_kappa(pairs),
            "too_strict": pairs.count((False, True)),
            "too_lenient": pairs.count((True, False)),
        }
    return figures


def written_verdicts(study: Study, texts: Sequence[str]) -> dict[str, dict[str, bool]]:
    """Item → verdicts of `tripwright verify --out`. Each of `texts` is FILE, or RUN=FILE where the
    study has several runs.

    Raises UserError for a run that the study does not have, for what is no such file, and where
    none of its verdicts is of an item.
    """
    by_item: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for text in texts:
        run, path = _run_and_path(text, study.runs)
        item_of = {entry.id: entry.item for entry in study.key.values() if entry.run == run}
        if not path.is_file():
            raise UserError(
                f"No verdicts at '{path}': expected a file that 'tripwright verify --out' wrote."
            )
        ids, items = list[str](), ", ".join(map(repr, list(item_of)[:3]))
        for number, record in json_lines(path):
            if not isinstance(record, dict) or "id" not in record or "reward" not in record:
                raise UserError(
                    f"{path}:{number}: expected a verdict of 'tripwright verify --out', an object"
                    ' with "id" and "reward".'
                )
            ids.append(str(record["id"]))
            if ids[-1] in item_of:
                by_item[item_of[ids[-1]]] |= {
                    f"{path.stem}{OF_FILE}{name}": passes
                    for domain in domains().values()
                    for name, passes in domain.opinions({"verifier": record}).items()
                }
        if not item_of.keys() & ids:
            raise UserError(
                f"No verdict in '{path}' is of an item from run '{run}': the file has"
                f" {', '.join(map(repr, ids[:3])) or 'none'}, the items are {items}."
            )
    return by_item


def _run_and_path(text: str, runs: Sequence[str]) -> tuple[str, Path]:
    """RUN=FILE, where RUN may itself hold a "=" and FILE may too: a run of the study decides."""
    for run in sorted(runs, key=len, reverse=True):
        if text.startswith(f"{run}="):
            return run, Path(text[len(run) + 1 :])
    if len(runs) == 1:
        return runs[0], Path(text)
    raise UserError(
        f"Of which run are the verdicts '{text}'? Give RUN=FILE, with RUN one of {', '.join(runs)}."
    )


def merged(study: Study, run: str | None = None) -> list[dict[str, Any]]:
    """A line for each item on which most raters agree in every dimension; `trajectory` and
    `rubrics` are what labels that a judge is held against consist of (`verify --labels`)."""
    if run is not None and run not in study.runs:
        raise UserError(f"No run '{run}' in this study: expected {', '.join(study.runs)}.")
    labels = study.labels()
    votes = {key: _votes_on(study, labels, key) for key in study.keys}
    rubrics = {
        name.removeprefix(RUBRIC): key
        for name, key in _counterparts().items()
        if name.startswith(RUBRIC) and key in study.keys
    }
    lines = []
    for item, entry in study.key.items():
        values = {key: majority(votes[key][item].values()) for key in study.keys}
        if None in values.values() or run not in (None, entry.run):
            continue
        lines.append(
            {
                "item": item,
                "id": entry.id,
                "run": entry.run,
                "passes": all(values.values()),
                "trajectory": all(values.values()),
                "rubrics": {rubric: values[key] for rubric, key in rubrics.items()},
                "dimensions": values,
                "raters": sorted({rater for key in study.keys for rater in votes[key][item]}),
            }
        )
    return lines
