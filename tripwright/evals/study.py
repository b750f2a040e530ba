"""The human study (DeepTravel, appendix A.5; row D10): transcripts drawn blind from runs go out as
files, files with people's labels come in.

People label in a spreadsheet, Label Studio, Argilla or whatever else reads CSV or JSON lines. A
study is a folder; `study.json` is written last, so a folder that has it is whole.

| file | what it holds |
|---|---|
| `study.json` | seed, and the questions with their criteria |
| `items.jsonl`, `items.csv` | what raters see, an item a line; nothing says which run it is from |
| `key.jsonl` | item → run, transcript: not for raters |

The figures: for each dimension, and for all of them together, the share that people call TRUE and
how far they agree; by run where the study is unblinded. The unit is the item. Its label is what
more than half of its raters say; a tie is counted as not TRUE and said beside it. Wilson's interval
is then over items: labels of one item stand and fall together and are not independent.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from tripwright.domains import domains
from tripwright.errors import UserError
from tripwright.evals.comparison import run_names
from tripwright.evals.outcome import request_facts
from tripwright.files import (
    csv_rows,
    csv_text,
    json_lines,
    json_object,
    write_atomically,
    write_json_lines,
)
from tripwright.runs import TRANSCRIPTS, episode_lines, transcripts_at
from tripwright.statistics.agreement import (
    Item,
    cohens_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from tripwright.statistics.rates import rate
from tripwright.transcript import StopReason, Transcript

STUDY, ITEMS, FORM, KEY = "study.json", "items.jsonl", "items.csv", "key.jsonl"
ALL = "all"  # all dimensions TRUE
PER_RUN = 50  # as the paper's study
LONGEST_NAME = 40  # characters, of a rater
LONGEST_CELL = 32_000  # of a spreadsheet
_WORDS = {
    **dict.fromkeys(("true", "1", "yes"), True),
    **dict.fromkeys(("false", "0", "no"), False),
    "": None,
}

Kind = Literal["paper", "reading"]
Json = dict[str, Any]
Labels = Mapping[tuple[str, str], Mapping[str, bool]]  # (rater, item) → dimension → TRUE or FALSE
Votes = Mapping[str, Mapping[str, bool]]  # item → rater → TRUE or FALSE


@dataclass(frozen=True)
class Study:
    folder: Path

    @cached_property
    def names(self) -> dict[str, str]:
        """Key of a dimension → how it is called. Raises UserError where there is no whole study."""
        study = json_object(self.folder / STUDY)
        if study is None:
            raise UserError(
                f"No study in '{self.folder}': expected a folder that 'tripwright study make'"
                " wrote."
            )
        try:
            return {each["key"]: each["name"] for each in study["dimensions"]}
        except (KeyError, TypeError):
            raise UserError(
                f"'{self.folder / STUDY}' must have dimensions with a key and a name."
            ) from None

    @cached_property
    def key(self) -> dict[str, Json]:
        """Item → its `run` and the transcript's `id`, in the order of the items, which is random.
        Not for raters."""
        return {entry["item"]: entry for _, entry in json_lines(self.folder / KEY)}

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys(entry["run"] for entry in self.key.values()))


# ---- out


class StudyCounts(NamedTuple):
    """What was drawn: items, requests that several runs answer; and how many transcripts were left
    out, as our side failed or nothing was read out of their words."""

    items: int
    shared_requests: int
    left_out: int


def make_study(
    paths: Sequence[Path], out: Path, kind: Kind = "paper", per_run: int = PER_RUN, seed: int = 0
) -> StudyCounts:
    """Draws at most `per_run` items of each run and writes the study; requests that more runs
    answer come first, so that runs are compared on the same ones. Equal files and seeds give equal
    studies.

    `kind` "reading" (STAR, B.4; row S2): items are plans beside the words that they were read out
    of.
    """
    if out.is_dir() and any(out.iterdir()):
        raise UserError(f"'{out}' is not empty. Choose a new folder for --out.")
    answers, left_out = _answers(paths, kind)
    rng = Random(seed)
    answered = Counter(request for by_request in answers.values() for request in by_request)
    requests = sorted(answered)
    rng.shuffle(requests)
    requests.sort(key=lambda request: -answered[request])
    draws = [
        (request, run, rng.choice(by_request[request]))
        for run, by_request in answers.items()
        for request in [each for each in requests if each in by_request][:per_run]
    ]
    if not draws:
        raise UserError(
            "No transcript to label: all are unscored, no plan was read out of their words, or the"
            " files are empty."
        )
    rng.shuffle(draws)
    digits = len(str(len(draws)))
    items, key = [], []
    for number, (_, run, drawn) in enumerate(draws, start=1):
        name = f"item-{number:0{digits}d}"
        items.append({"item": name, **drawn["content"]})
        key.append({"item": name, "run": run, "id": drawn["id"]})
    all_questions = files(__package__).joinpath("study.toml").read_text(encoding="utf-8")
    questions = tomllib.loads(all_questions)[kind]
    out.mkdir(parents=True, exist_ok=True)
    write_json_lines(out / ITEMS, items)
    # a spreadsheet to fill in: an empty column for the rater, each dimension and a note
    blank = ["rater", *(each["key"] for each in questions), "note"]
    rows = ([*map(_cell, item.values()), *[""] * len(blank)] for item in items)
    write_atomically(out / FORM, csv_text([*items[0], *blank], rows))
    write_json_lines(out / KEY, key)
    about = {"seed": seed, "items": len(items), "dimensions": questions}
    write_atomically(out / STUDY, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    times = Counter(request for request, _, _ in draws)
    return StudyCounts(len(items), sum(count > 1 for count in times.values()), left_out)


def _answers(paths: Sequence[Path], kind: Kind) -> tuple[dict[str, dict[str, list[Json]]], int]:
    """Run → request → what was answered, with the transcript's id; and how many are left out."""
    transcripts = [transcripts_at(path) for path in paths]
    names = run_names(
        [each.parent if each.name == TRANSCRIPTS else each.with_suffix("") for each in transcripts]
    )
    answers: dict[str, dict[str, list[Json]]] = {name: {} for name in names}
    left_out = 0
    for run, path in zip(names, transcripts, strict=True):
        for line in episode_lines(path):
            if (read := line.read(lambda record: _content(record, kind))) is None:
                left_out += 1
                continue
            request, content = read
            entry = {"id": line.place.id or str(line.place.number), "content": content}
            answers[run].setdefault(request, []).append(entry)
    return answers, left_out


def _content(record: Json, kind: Kind) -> tuple[str, Json] | None:
    """What tells requests apart; and what a rater may know of a transcript: the request, the
    answer, the tool calls with their answers, the seconds it took. Not the run, not the model, not
    what the agent thought, not what the judge or the oracle said. None where there is nothing to
    judge."""
    request, domain = record["request"], domains().get(record["domain"])
    transcript = Transcript.from_json(record["transcript"])
    if transcript.stop_reason is StopReason.UNSCORED:
        return None
    answer = (transcript.answer or "").strip()
    page = domain.report.page(record) if domain is not None else None
    calls, seconds = "\n\n".join(_calls(transcript)), transcript.usage.get("seconds")
    if kind == "reading":
        # nothing was read, or no words but data
        if not record.get("plan") or not answer or answer[0] in "[{":
            return None
        shown = f"# The answer\n\n{answer}\n\n---\n\n# The plan as read\n\n{page}"
        calls, seconds = "", None
    elif page or answer:
        shown = page or answer
    else:
        empty = transcript.answer is not None
        why = "it is empty" if empty else str(transcript.stop_reason or "unknown")
        shown = f"(no answer: {why.replace('_', ' ')})"
    words = str(request.get("query") or "")
    facts = request_facts(record) if domain is not None else []
    return " ".join(words.split()) or json.dumps(request, sort_keys=True), {
        "request": words,
        "facts": "\n".join(f"{label}: {text}" for label, text in facts),
        "answer": shown,
        "calls": calls,
        "seconds": None if seconds is None else round(float(seconds), 1),
    }


def _calls(transcript: Transcript) -> Iterator[str]:
    """Rows are numbered, as evidence cards name them ("[call 2, row 1]"). With what the agent was
    given instead, where its text does not hold the tool's whole answer: a page of it, or a
    fault."""
    segments = transcript.segments
    calls = [(place, each.call) for place, each in enumerate(segments) if each.call is not None]
    for number, (place, call) in enumerate(calls, start=1):
        arguments, result = json.dumps(call.arguments, ensure_ascii=False), call.result
        if call.rows is not None and call.rows.values:
            lines = [f"{name}: {value}" for name, value in call.rows.about.items()]
            for row_number, row in enumerate(call.rows.records(), start=1):
                lines.append(f"row {row_number}: {json.dumps(row, ensure_ascii=False)}")
            result = "\n".join(lines)
        text = f"Call {number}: {call.name} {arguments}\n{result}"
        shown = [each.text for each in segments[place : place + 2] if each.role == "tool"]
        if shown and call.result not in shown[0]:
            text += f"\nThe agent was shown instead: {shown[0]}"
        yield text


def _cell(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_CELL:
        return f"{value[:LONGEST_CELL]} … (the rest is in {ITEMS})"
    return value


# ---- in


def read_labels(study: Study, paths: Sequence[Path]) -> Labels:
    """Raises UserError with the number of the first bad line. A line holds the dimensions. Columns
    of other names are left alone: labelling tools add some. A row in which nobody has labelled
    anything is passed over, so that a form may be half full."""
    labels: dict[tuple[str, str], dict[str, bool]] = {}
    for path in paths:
        if path.suffix not in (".csv", ".jsonl") or not path.is_file():
            raise UserError(f"No labels at '{path}'. Expected a .csv or .jsonl file.")
        before = len(labels)
        for number, line in json_lines(path) if path.suffix == ".jsonl" else csv_rows(path):
            try:
                if values := _values(study, line):
                    whose = _whose(study, line)
                    if whose in labels:
                        raise UserError(f"'{whose[0]}' has labelled {whose[1]} on an earlier line.")
                    labels[whose] = values
            except UserError as problem:
                raise UserError(f"{path}:{number}: {problem}") from None
        if len(labels) == before:
            raise UserError(f"'{path}' holds no labels.")
    return labels


def _values(study: Study, line: Any) -> dict[str, bool]:
    """Dimension → label, of those that have one."""
    if not isinstance(line, dict) or not study.names.keys() <= line.keys():
        raise UserError(f"expected item, rater, {', '.join(study.names)}.")
    words = {
        key: "" if line[key] is None else str(line[key]).strip().casefold() for key in study.names
    }
    for key, word in words.items():
        if word not in _WORDS:
            raise UserError(f"'{key}' must be TRUE, FALSE or empty, found {line[key]!r:.80}.")
    return {key: value for key, word in words.items() if (value := _WORDS[word]) is not None}


def _whose(study: Study, line: Mapping[str, Any]) -> tuple[str, str]:
    """(rater, item). "  Ann  Lee" and "ann lee" are one rater; numbers are names too, as labelling
    tools give."""
    given = line.get("rater") or line.get("annotator") or ""
    rater, item = " ".join(str(given).split()).casefold(), str(line.get("item"))
    if item not in study.key:
        raise UserError(f"no item '{item:.80}' in this study.")
    if not rater or len(rater) > LONGEST_NAME or not rater.isprintable():
        raise UserError(f"a rater's name has 1 to {LONGEST_NAME} characters, found {given!r:.80}.")
    return rater, item


# ---- figures


def summary(study: Study, labels: Labels, unblind: bool = False) -> Json:
    """All figures as JSON values. Runs are named only where it is `unblind`."""
    votes = {name: _votes_on(study, labels, name) for name in (*study.names, ALL)}
    done: dict[str, list[bool]] = {}
    for (rater, _), values in sorted(labels.items()):
        done.setdefault(rater, []).append(len(values) == len(study.names))
    figures: Json = {
        "items": len(study.key),
        "raters": {rater: {"begun": len(of), "done": sum(of)} for rater, of in done.items()},
        "dimensions": {name: _dimension_figures(of) for name, of in votes.items()},
    }
    if unblind:
        figures["runs"] = {}
        for run in study.runs:
            mine = [item for item, entry in study.key.items() if entry["run"] == run]
            shares = {n: _share([of[i] for i in mine if of[i]]) for n, of in votes.items()}
            figures["runs"][run] = {"items": len(mine), "true": shares}
    return figures


def _votes_on(study: Study, labels: Labels, name: str) -> Votes:
    """On one dimension, or on ALL of them: FALSE as soon as one is FALSE, and open while one is
    missing. Only labels that were given."""
    votes: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for (rater, item), values in labels.items():
        if name in values:
            votes[item][rater] = values[name]
        elif name == ALL and (False in values.values() or len(values) == len(study.names)):
            votes[item][rater] = all(values.values())
    return votes


def majority(item: Iterable[bool]) -> bool | None:
    """TRUE or FALSE as more than half of the labels say; None on a tie or without labels."""
    votes = Counter(item)
    return None if votes[True] == votes[False] else votes[True] > votes[False]


def _share(items: Sequence[Mapping[str, bool]]) -> Any:
    return rate(sum(majority(vote.values()) is True for vote in items), len(items))


def _dimension_figures(votes: Votes) -> Json:
    """The figures of agreement are over all items that they can use; `compared` says how many have
    two labels or more."""
    items: list[Item] = [vote for vote in votes.values() if vote]
    values = [value for vote in votes.values() for value in vote.values()]
    raters = sorted({rater for vote in votes.values() for rater in vote})
    pairs = [(vote[raters[0]], vote[raters[1]]) for vote in items if len(raters) == len(vote) == 2]
    return {
        "true": _share([vote for vote in votes.values() if vote]),
        "tied": sum(bool(vote) and majority(vote.values()) is None for vote in votes.values()),
        "labels": {"true": sum(values), "n": len(values)},
        "agreement": percent_agreement(items),
        "compared": sum(len(vote) > 1 for vote in items),
        "cohen_kappa": cohens_kappa(pairs),  # of two raters
        "krippendorff_alpha": krippendorff_alpha(items),
    }


def merged(study: Study, labels: Labels, run: str | None = None) -> list[Json]:
    """A line for each item on which most raters agree in every dimension; `trajectory` and
    `rubrics` are what labels that a judge is held against consist of (`verify --labels`)."""
    if run is not None and run not in study.runs:
        raise UserError(f"No run '{run}' in this study: expected {', '.join(study.runs)}.")
    votes = {key: _votes_on(study, labels, key) for key in study.names}
    rubrics = {
        rubric: key
        for domain in domains().values()
        for rubric, key in domain.report.counterparts.items()
        if key in study.names
    }
    lines = []
    for item, entry in study.key.items():
        values = {key: majority(of[item].values()) for key, of in votes.items()}
        if None in values.values() or run not in (None, entry["run"]):
            continue
        lines.append(
            {
                "item": item,
                "id": entry["id"],
                "run": entry["run"],
                "passes": all(values.values()),
                "trajectory": all(values.values()),
                "rubrics": {rubric: values[key] for rubric, key in rubrics.items()},
                "dimensions": values,
                "raters": sorted({rater for of in votes.values() for rater in of[item]}),
            }
        )
    return lines
