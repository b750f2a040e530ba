"""The table of quickstarts in docs/results.md, made from their run folders.

    python benchmarks/results.py RUN... [--page docs/results.md] [--picture docs/quickstart.svg]

RUN is the folder of a finished `tripwright quickstart` (or of any training that was examined).
Everything in a row is read from it: run card, recipe, metrics and the scores of its examinations.
Cards of before 30 November 2026 do not name the processor: `RUN="AMD EPYC, fp32 on AVX2"` says it,
and the row marks it with a star. The table stands between two comments of the page and is replaced
whole, so name all runs at once. `--picture` draws what the first run and its controls pass.
Without --page the table is printed. No peer: it measures nothing.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.report.charts import FONT
from tripwright.evals.report.folder import BASELINES, EVALUATIONS, ReportedRun, metric_of
from tripwright.evals.report.learning import most
from tripwright.evals.report.markup import Estimate, estimate
from tripwright.files import read_object, write_atomically
from tripwright.runs import SCORE, object_in

BEGIN, END = "<!-- benchmarks/results.py begins -->\n", "<!-- benchmarks/results.py ends -->\n"
COLUMNS = {
    "run": "the folder, and the seed",
    "when": "the day it was begun, and the commit",
    "processor": "the number format of its matrix products, and how many cores it used",
    "steps": "of imitation, of GRPO",
    "training": "minutes, without the examinations",
    "imitation": "pass rate of unseen trips after it",
    "and GRPO": "after both",
    "gained, lost": "trips that pass after GRPO and not before, and the other way round",
    "dense reward": "of 5, after GRPO less before",
}
BARS = ("first_row", "cheapest_row", "teacher", "after_sft", "after_rl", "emptied_tools", "expert")


def passed(found: Estimate | None) -> str:
    if found is None:
        return "–"
    low, high = found.ends
    return f"{100 * found.value:.1f}% [{100 * low:.1f}, {100 * high:.1f}] of {found.n}"


def score_of(run: ReportedRun, name: str) -> Estimate | None:
    if name in BASELINES:
        file = run.path / "eval" / "difficulty" / name / SCORE
        return metric_of(read_object(file), "final") if file.is_file() else None
    return metric_of(run.evaluations[name].score, "final") if name in run.evaluations else None


def row_of(run: ReportedRun, processor: str) -> list[str]:
    card, git = run.card, object_in(run.card, "git")
    told = ", ".join(str(card[key]) for key in ("machine", "products") if card.get(key))
    told = told.replace("torch.", "") or (f"{processor}*" if processor else "not recorded")
    steps = [most(run.stage(stage), "step") for stage in ("sft", "rl")]
    minutes, final = most(run.metrics, "minutes"), object_in(run.comparison, "final")
    reward = estimate(run.comparison.get("dense_reward"))
    return [
        f"{run.path.name}, {card.get('seed', '–')}",
        f"{str(card.get('date', '–'))[:10]}, {str(git.get('revision', '–'))[:8]}"
        + (" and changes" if git.get("dirty") else ""),
        f"{told}, {card.get('threads', '–')} of its cores",
        ", ".join("–" if each is None else f"{each:,.0f}" for each in steps),
        "–" if minutes is None else f"{minutes:.1f}",
        passed(score_of(run, "after_sft")),
        f"**{passed(score_of(run, 'after_rl'))}**",
        f"{final.get('gained', '–')}, {final.get('lost', '–')}",
        "–"
        if reward is None
        else f"{reward.value:+.3f} [{reward.ends[0]:+.3f}, {reward.ends[1]:+.3f}]",
    ]


def table(runs: dict[ReportedRun, str]) -> str:
    rows = [list(COLUMNS), ["---"] * len(COLUMNS), *(row_of(*each) for each in runs.items())]
    final = defaultdict[str, list[float]](list)  # by the steps taken
    for run, row in zip(runs, rows[2:], strict=True):
        if share := score_of(run, "after_rl"):
            final[row[3]].append(share.value)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.append("")
    for steps, shares in final.items():
        spread = f"median {100 * statistics.median(shares):.1f}%, lowest {100 * min(shares):.1f}%"
        lines += [f"- {steps} steps: {len(shares)} runs, {spread}."] if len(shares) > 1 else []
    for title, name in (("cheapest row", "cheapest_row"), ("tools emptied", "emptied_tools")):
        controls = sorted({passed(each) for run in runs if (each := score_of(run, name))})
        lines += [f"- Control, {title}: {'; '.join(controls)}."] if controls else []
    legend = "; ".join(f"*{name}*: {words}" for name, words in COLUMNS.items())
    star = " A star: told by hand." if any("*" in row[2] for row in rows) else ""
    return "\n".join([*lines, "", f"{legend}. Intervals are of 95%.{star}", ""])


def picture(run: ReportedRun) -> str:
    titles: dict[str, Any] = BASELINES | EVALUATIONS
    size = 'viewBox="0 0 720 330" width="720" height="330"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}">']
    parts.append('<rect width="100%" height="100%" rx="10" fill="#ffffff"/>')
    shown = [(name, each) for name in BARS if (each := score_of(run, name))]
    for place, (name, share) in enumerate(shown):
        y, (low, high) = 20 + 43 * place, share.ends
        colour = {"after_sft": "#d97726", "after_rl": "#2788c1"}.get(name, "#9aa5b1")
        parts += [
            f'<text x="16" y="{y + 12}" font-size="13" font-weight="600" fill="#1d2430">'
            f'{titles[name][0]}<tspan font-weight="400" fill="#626b78">  {titles[name][1]}</tspan>',
            f'</text><rect x="16" y="{y + 18}" width="{4.8 * 100 * share.value:.1f}" height="15"'
            f' fill="{colour}"/><text x="{26 + 480 * high:.0f}" y="{y + 30}" font-size="13"'
            f' fill="#1d2430">{100 * share.value:.1f}%  <tspan fill="#626b78">'
            f"{100 * low:.1f} to {100 * high:.1f} of {share.n}</tspan></text>",
            f'<path d="M{16 + 480 * low:.1f} {y + 25.5}H{16 + 480 * high:.1f}" stroke="#1d2430"/>',
        ]
    return "".join([*parts, "</svg>\n"])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="RUN[=PROCESSOR]")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    named = (text.partition("=") for text in given.runs)
    try:
        runs = {ReportedRun(Path(path)): processor for path, _, processor in named}
    except UserError as problem:
        parser.error(str(problem))
    made = table(runs)
    if given.page is None:
        print(made)
    else:
        before, _, rest = given.page.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not end:
            parser.error(f"{given.page} has no '{BEGIN.strip()}' with its end")
        write_atomically(given.page, f"{before}{BEGIN}\n{made}\n{END}{after}")
        print(f"{given.page}: {len(runs)} rows")
    if given.picture is not None:
        write_atomically(given.picture, picture(next(iter(runs))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
