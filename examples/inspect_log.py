"""A log of Inspect as a run folder, which `tripwright compare` and `tripwright report` read like
any other: seeds joined by commas, intervals over questions.

    python examples/inspect_log.py logs/….eval runs/np_trip [NAME OF THE POLICY]

Figures are Inspect's own; nothing is judged again. The first score decides (1 is passed), and each
numeric score is a mean beside it. Epochs are samples of one question. A sample that ended with an
error has no score, as in Inspect.
"""

import hashlib
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.scorer import value_to_float

from tripwright.errors import UserError
from tripwright.evals.run_card import environment
from tripwright.evals.scoreboard import score_records
from tripwright.files import whole_folder, write_json_lines
from tripwright.runs import CARD, SCORE, TRANSCRIPTS, VERSION, VERSION_ENTRY
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.verdict import FORMAT, SCHEMA, Verdict, format_group

DECODING = ("temperature", "top_p", "top_k", "max_tokens", "seed")


def figures(sample: EvalSample) -> dict[str, float]:
    """By name; of a score of several values one for each. Inspect's "unscored" is NaN."""
    values = dict[str, Any]()
    for name, score in ({} if sample.error else sample.scores or {}).items():
        parts = score.value if isinstance(score.value, dict) else {"": score.value}
        values |= {f"{name}_{part}".rstrip("_"): value_to_float()(v) for part, v in parts.items()}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def record(log: EvalLog, sample: EvalSample, rules: str) -> dict[str, Any]:
    measures = figures(sample)
    fault = None if measures else sample.error.message if sample.error else "no score"
    segments = []
    for message in sample.messages:
        calls = [
            f"{call.function}({call.arguments})" for call in getattr(message, "tool_calls", 0) or ()
        ]
        segments.append(Segment(message.role, "\n".join([message.text, *calls]).strip()))
    usage = (sample.model_usage or {}).get(log.eval.model)
    transcript = Transcript(
        segments,
        StopReason.ANSWER if measures else StopReason.UNSCORED,
        sample.output.completion,
        fault,
        Counter(completion_tokens=usage.output_tokens) if usage else Counter(),
    )
    passed = next(iter(measures.values()), 0) == 1
    said = next((message.text for message in sample.messages if message.role == "user"), "")
    level = sample.metadata.get("level")
    return {
        "id": f"{sample.id}-s{sample.epoch - 1:02d}",
        "domain": "outside",  # no domain of ours
        "request": {"query": said, "question": sample.id, "level": level},
        "world": log.eval.task,
        "transcript": transcript.to_json(),
        "verdict": Verdict(rules, (format_group(None),), passed).record() if measures else None,
        "asked": {FORMAT: [SCHEMA]},
        "measures": {name: (value, 1) for name, value in measures.items()},
    }


def import_log(path: str, out: Path, model: str | None = None) -> dict[str, Any]:
    """Writes `out` and returns its score."""
    if out.exists():
        raise UserError(f"'{out}' is there already: choose a new folder.")
    log = read_eval_log(path)
    if log.status != "success" or not log.samples:
        raise UserError(f"'{path}' ended as '{log.status}': 'inspect eval-retry' plays the rest.")
    rules = f"inspect {log.eval.task}"
    settings = log.plan.config.model_dump() | log.eval.model_generate_config.model_dump(
        exclude_none=True
    )
    ids = sorted({str(sample.id) for sample in log.samples})
    card = {
        "policy": {"kind": "inspect", "model": model or log.eval.model},
        "decoding": {name: settings[name] for name in DECODING if settings[name] is not None},
        "rules": rules,
        "dialect": {"name": "inspect"},
        "queries": {"sha256": hashlib.sha256(json.dumps(ids).encode()).hexdigest()},
        "world": {"name": log.eval.task},
        "samples": log.eval.config.epochs or 1,
        **environment(),
        VERSION_ENTRY: VERSION,
    }
    records = [record(log, sample, rules) for sample in log.samples]
    score = score_records(records, rules, card)
    with whole_folder(out) as partial:
        (partial / CARD).write_text(json.dumps(card, indent=2), encoding="utf-8")
        write_json_lines(partial / TRANSCRIPTS, records)
        (partial / SCORE).write_text(json.dumps(score, indent=2), encoding="utf-8")
    return score


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    try:
        score = import_log(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
    except (UserError, OSError) as error:
        sys.exit(str(error))
    print(json.dumps(score["metrics"], indent=2))
