"""Results of other people's harnesses → a run folder, so that `compare` and `report` read them as
they read a run: with intervals over questions and seeds.

| harness | file | as written by |
|---|---|---|
| evalscope | `reviews/MODEL/BENCHMARK_SUBSET.jsonl` | 1.14.1, `ReviewResult` |
| inspect | a log in JSON (`--log-format json`) | inspect_ai 0.3.285, `EvalLog` |

Figures are the harness's own; nothing is judged again. Which of them says that an answer passed:
evalscope's main score, the first score of Inspect's first scorer; 1 is passed. What a harness marks
as a failure of its own side (a dead endpoint, a dead judge) is unscored, and so is what an Inspect
log lists and does not hold (of a cancelled evaluation); any other file that does not hold what it
states is refused.

The figure that decides is the verdict, and each figure is a `measure` of the episode: a mean over
answers, in which a share of several checks counts as often as it has checks. Where a benchmark has
parts (subsets, levels of difficulty), `mean_over_parts` gives each the same weight.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.run_card import environment
from tripwright.evals.scoreboard import score_records
from tripwright.files import json_lines, whole_folder, write_json_lines
from tripwright.runs import CARD, SCORE, TRANSCRIPTS, VERSION, VERSION_ENTRY
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.verdict import FORMAT, SCHEMA, Verdict, format_group, verified_by

OUTSIDE = "outside"  # stands where other episodes name their domain
Json = Mapping[str, Any]
DECODING = ("temperature", "top_p", "top_k", "max_tokens", "seed")


@dataclass(frozen=True)
class HarnessAnswer:
    """One answer as a harness scored it. `sample` tells answers to one `question` apart; `part` is
    the subset it belongs to, or how hard it is. `figures` by name, the one that decides first, with
    the number of checks that each is a share of; empty where the harness's side failed, for which
    `fault` is the reason. `tokens` were written by the model."""

    question: str
    sample: str
    part: str | None
    messages: Sequence[tuple[str, str]]  # (role, text)
    figures: Mapping[str, tuple[float, int]]
    stop_reason: StopReason = StopReason.ANSWER
    fault: str | None = None
    tokens: int | None = None

    @property
    def passed(self) -> bool:
        return bool(self.figures) and next(iter(self.figures.values()))[0] == 1


@dataclass(frozen=True)
class HarnessResult:
    benchmark: str
    model: str
    version: str | None
    decoding: Json
    answers: Sequence[HarnessAnswer]
    counted: int | None  # samples of the whole evaluation, where the file does not list them
    listed: Set[tuple[str, str]] = frozenset()  # (question, sample)


def evalscope(path: Path) -> HarnessResult:
    """The benchmark's name is that of its report beside the reviews, which counts their samples."""
    reports = path.parents[2].glob(f"reports/{path.parent.name}/*.json")
    ours = {each.stem: each for each in reports if path.stem.startswith(f"{each.stem}_")}
    benchmark = max(ours, key=len, default=path.stem)
    part = path.stem.removeprefix(benchmark).strip("_") or None
    answers = []
    for _, record in json_lines(path):
        sample = record["sample_score"]
        score, group = sample["score"], sample.get("group_id")
        values, main = score["value"], score.get("main_score_name")
        usable = score.get("status", "success") in ("success", "fallback", "degraded") and values
        first = {main: values[main]} if main in values else {}
        weights = (score.get("metadata") or {}).get("metric_weights", {})
        answers.append(
            HarnessAnswer(
                str(sample["sample_id"] if group is None else group),
                str(sample["sample_id"]),
                part,
                list(_messages(record.get("messages", ()))),
                _figures({**first, **values}, weights) if usable else {},
                fault=None if usable else f"evalscope: {score.get('status')}, no score",
            )
        )
    if answers and not ours:
        raise LookupError("no report in reports/: evalscope writes it when all is scored")
    report = read_json(ours[benchmark].read_bytes()) if ours else {}
    subsets = (report.get("execution_summary") or {}).get("subsets", {})
    counted = subsets.get(part, {}).get("requested")
    return HarnessResult(benchmark, path.parent.name, None, {}, answers, counted)


_INSPECT_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_INSPECT_LIMITS = {
    "context": StopReason.CONTEXT_OVERFLOW,
    "token": StopReason.CONTEXT_OVERFLOW,
    "message": StopReason.MAX_TURNS,
}


def inspect(path: Path) -> HarnessResult:
    log = read_json(path.read_bytes())
    run = log["eval"]
    answers = []
    for sample in log["samples"]:
        values = dict[str, Any]()
        for name, score in (sample.get("scores") or {}).items():
            value = score["value"]
            parts = value if isinstance(value, dict) else {"": value}
            values |= {
                f"{name}_{part}".rstrip("_"): _INSPECT_GRADES.get(each, each)
                for part, each in parts.items()
            }
        error = (sample.get("error") or {}).get("message")
        figures = {} if error else _figures(values)
        limit = (sample.get("limit") or {}).get("type")
        level = sample.get("metadata", {}).get("level")
        answers.append(
            HarnessAnswer(
                str(sample["id"]),
                str(sample["epoch"]),
                None if level is None else str(level),
                list(_messages(sample["messages"])),
                figures,
                _INSPECT_LIMITS.get(str(limit), StopReason.ANSWER),
                error or (None if figures else "Inspect gave no score"),
                (sample.get("model_usage") or {}).get(run["model"], {}).get("output_tokens"),
            )
        )
    settings = {**(log["plan"].get("config") or {}), **run.get("model_generate_config", {})}
    decoding = {name: settings[name] for name in DECODING if name in settings}
    version = run.get("packages", {}).get("inspect_ai")
    dataset, config = run.get("dataset") or {}, run.get("config") or {}
    epochs = range(1, (config.get("epochs") or 1) + 1)
    listed = {(str(each), str(n)) for n in epochs for each in dataset.get("sample_ids") or ()}
    chosen = listed or config.get("limit") or config.get("sample_id")  # so it counts others too
    counted = None if chosen else dataset.get("samples", 0) * len(epochs) or None
    return HarnessResult(run["task"], run["model"], version, decoding, answers, counted, listed)


# with what is expected of a file
HARNESSES: Mapping[str, tuple[Callable[[Path], HarnessResult], str]] = {
    "evalscope": (evalscope, "reviews/MODEL/BENCHMARK_SUBSET.jsonl"),
    "inspect": (
        inspect,
        "a log in JSON, from 'inspect eval … --log-format json' or 'log convert'",
    ),
}


def _read(path: Path, harness: str) -> HarnessResult:
    """Raises UserError for what is no result of this harness, or an empty one."""
    read, expected = HARNESSES[harness]
    try:
        result = read(path)
    except (NotJson, UnicodeDecodeError, LookupError, TypeError, AttributeError) as problem:
        why = f"it has no {problem}" if isinstance(problem, KeyError) else str(problem)
        raise UserError(
            f"'{path}' is no result of {harness}: {why}. Expected {expected}."
        ) from None
    if not result.answers:
        raise UserError(f"'{path}' holds no answers. Expected {expected}.")
    held = {(answer.question, answer.sample) for answer in result.answers}
    listed = result.listed or held
    if result.counted not in (None, len(held)) or held - listed:
        stated = f"{result.counted or len(listed)} stated, {len(held)} there"
        raise UserError(f"'{path}' does not hold the samples that it states: {stated}.")
    parts = {answer.question: answer.part for answer in result.answers}
    missing = [
        HarnessAnswer(question, sample, parts.get(question), (), {}, fault=f"{harness}: not played")
        for question, sample in sorted(listed - held)
    ]
    return replace(result, answers=[*result.answers, *missing])


def _figures(
    values: Mapping[str, Any], weights: Mapping[str, int] = MappingProxyType({})
) -> dict[str, tuple[float, int]]:
    """What is a number, NaN (Inspect's "unscored") left out."""
    return {
        str(name): (float(value), weights.get(name, 1))
        for name, value in values.items()
        if isinstance(value, int | float) and not math.isnan(value)
    }


def _messages(messages: Any) -> Iterator[tuple[str, str]]:
    """(role, text) of messages in the chat format, whose content may come in blocks; a turn's calls
    are written after its words."""
    for message in messages:
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "".join(
                block.get("text") or block.get("reasoning") or "" for block in content
            )
        for call in message.get("tool_calls") or ():
            named = call.get("function", call.get("name"))
            of = named if isinstance(named, dict) else {**call, "name": named}
            content += f"\n{of.get('name')}({of.get('arguments')})"
        role = message["role"]
        yield (role if role in ("system", "assistant", "tool") else "user"), content.strip()


def import_results(
    files: Sequence[Path], harness: str, out: Path, model: str | None = None
) -> dict[str, Any]:
    """Writes `out` and returns its score. Several files are parts of one evaluation. `model` is how
    the policy is called, by default as the harness calls it. Raises UserError, and then leaves
    nothing behind."""
    if out.exists():
        raise UserError(f"'{out}' is there already. Choose a new folder for --out.")
    results = [_read(path, harness) for path in files]
    first = results[0]
    for path, result in zip(files, results, strict=True):
        if (result.benchmark, result.model) != (first.benchmark, first.model):
            raise UserError(
                f"'{path}' is of {result.model} on {result.benchmark}, and '{files[0]}' of"
                f" {first.model} on {first.benchmark}. Import them into folders of their own."
            )
    answers = [answer for result in results for answer in result.answers]
    samples = Counter((answer.part, answer.question, answer.sample) for answer in answers)
    if twice := [each for each, count in samples.items() if count > 1]:
        raise UserError(
            f"Samples stand there more than once, as (part, question, sample): {twice[:3]}."
        )
    rules = verified_by(f"{harness} {first.benchmark}")
    questions = Counter(f"{answer.part} {answer.question}" for answer in answers)
    names = json.dumps(sorted(questions)).encode()
    card = {
        "policy": {"kind": harness, "model": model or first.model},
        "decoding": dict(first.decoding),
        "rules": rules,
        "dialect": {"name": harness},
        "queries": {"sha256": hashlib.sha256(names).hexdigest()},
        "world": {"name": first.benchmark},
        "samples": max(questions.values()),
        **environment(),
        VERSION_ENTRY: VERSION,
        "harness": {
            "name": harness,
            "version": first.version,
            "files": {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
        },
    }
    records = list(_records(answers, first.benchmark, rules))
    score = score_records(records, rules, card)
    with whole_folder(out) as partial:
        (partial / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        write_json_lines(partial / TRANSCRIPTS, records)
        (partial / SCORE).write_text(json.dumps(score, indent=2) + "\n", encoding="utf-8")
    return score


def _records(
    answers: Sequence[HarnessAnswer], benchmark: str, rules: str
) -> Iterator[dict[str, Any]]:
    sizes = Counter(answer.part for answer in answers if answer.figures)
    samples = Counter[str]()
    for answer in answers:
        question = answer.question if answer.part is None else f"{answer.part} {answer.question}"
        texts = [text for role, text in answer.messages if role == "assistant"]
        transcript = Transcript(
            [Segment(role, text) for role, text in answer.messages],  # type: ignore[arg-type]
            answer.stop_reason if answer.figures else StopReason.UNSCORED,
            texts[-1] if texts else None,
            answer.fault,
            Counter() if answer.tokens is None else Counter(completion_tokens=answer.tokens),
        )
        measures: dict[str, tuple[float, float]] = dict(answer.figures)
        if len(sizes) > 1 and answer.figures:
            weight = sizes.total() / sizes[answer.part]
            measures["mean_over_parts"] = (float(answer.passed), weight)
        verdict = Verdict(rules, (format_group(None),), answer.passed)
        request = next((text for role, text in answer.messages if role == "user"), "")
        yield {
            "id": f"{question}-s{samples[question]:02d}",
            "domain": OUTSIDE,
            "request": {"query": request, "question": question, "level": answer.part},
            "world": benchmark,
            "transcript": transcript.to_json(),
            "verdict": verdict.record() if answer.figures else None,
            **({} if answer.figures else {"asked": {FORMAT: [SCHEMA]}}),
            "measures": measures,
        }
        samples[question] += 1
