"""The run card: what produced a set of figures, written before the first episode and kept for
good.

Only part of it identifies the run (IDENTITY): episodes made under one such part must never be
counted together with episodes made under another, so a folder is continued only if that part is
equal. The rest (machine, date, revision, the judge's version, paths, where the endpoint lives) is
there to be read, and may differ when a run is taken up again; a comparison of runs says where it
does.

A policy is what is compared, so it may differ; so may seeds. World, queries, rules, prompt, tools,
limits, decoding and what was done to the tools must be alike, or the difference of two figures is
theirs and not the agents'. Where a card does not say something, that is told: nothing is taken for
alike on no evidence.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tripwright
from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_of, domains, own_domains
from tripwright.errors import UserError
from tripwright.files import check_model_files, write_atomically
from tripwright.runs import CARD, TRANSCRIPTS, VERSION, VERSION_ENTRY, Run, object_in

ALIKE = (
    "rules",
    "rules_version",
    "world",
    "queries",
    "dialect",
    "decoding",
    "emptied_tools",
    "faults",
)
IDENTITY = ("policy", *ALIKE, "samples", "judging")
# of an entry that also has a hash: the hash says what it is
READ_ONLY_FACTS = frozenset({"path", "name", "base_url", "model"})
HASHES = ("sha256", "content_hash", "fingerprint")
SHOWN_CHARACTERS = 60
HOUSE = Path(tripwright.__file__).parent
# what a card that says nothing about cannot be compared by
KNOWN = ("rules", "world", "queries", "dialect")
TOLD = {"judge": "the judge's code", "tripwright": "tripwright", "samples": "samples per query"}
SAMPLED = ("endpoint", "local")  # policies that decode; a script has no temperature
JUDGES = ("domains/*/rules", "domains/*/verifiers")  # the folders whose code decides what passes


def run_card(
    policy: Mapping[str, Any],
    decoding: Mapping[str, Any],
    dialect: Dialect,
    rules: str,
    queries: Mapping[str, Any],
    place: Mapping[str, Any],
    samples: int = 1,
    emptied_tools: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """`policy` names what emits the tokens ({"kind": "endpoint", "model": …}), `decoding` how
    ({"temperature": 0.0, …}), `queries` what is asked (of a file or of requests, `queries_entry`),
    `place` what answers the tools (a world's name and content hash, the versions of services).
    `more` are further entries, of which those without a value are left out."""
    return {
        "policy": dict(policy),
        "decoding": dict(decoding),
        "rules": rules,
        "rules_version": domain_of(dialect).judge.versions.get(rules, 1),
        "dialect": dialect_entry(dialect),
        "queries": dict(queries),
        "world": dict(place),
        "samples": samples,
        "emptied_tools": emptied_tools,
        **environment(dialect),
        **{entry: value for entry, value in more.items() if value},
    }


def queries_entry(queries: Path | Iterable[Any]) -> dict[str, str]:
    """A file of requests, or requests, whose hash is that of the file that they would make."""
    if isinstance(queries, Path):
        entry, content = {"path": str(queries)}, queries.read_bytes()
    else:
        lines = (json.dumps(each.record()) + "\n" for each in queries)
        entry, content = {}, "".join(lines).encode()
    return {**entry, "sha256": hashlib.sha256(content).hexdigest()}


def dialect_entry(dialect: Dialect) -> dict[str, Any]:
    """The prompt and the tools' schemas as hashes, every limit as a number, and what a mistake
    leads to."""
    limits = {
        name: value
        for name, value in vars(dialect).items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    # tools that are not a face's: their dialect says what it shows of them
    schemas = dialect.offered() or dialect.schemas()
    return {
        "name": dialect.name,
        "system_prompt_sha256": hashlib.sha256(dialect.system_prompt.encode()).hexdigest(),
        "face": dialect.face.name,
        "tools_sha256": hashlib.sha256(json.dumps(schemas, sort_keys=True).encode()).hexdigest(),
        "tools_in_prompt": dialect.tools_in_prompt,
        "plan_format": dialect.plan_format,
        "limits": limits,
        **{name: value for name, value in vars(dialect).items() if name.startswith("on_")},
    }


def environment(dialect: Dialect | None = None) -> dict[str, Any]:
    """The part of a card that does not depend on the run: versions, machine, moment. `dialect` says
    by whose code it is judged."""
    return {
        "tripwright": tripwright.__version__,
        "judge": judge_version(judge_code(dialect.name if dialect else "")),
        "git": git_state(Path(tripwright.__file__).parent),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def machine() -> str:
    """The processor by its own name, and its cores: "AMD EPYC, 2 cores"."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def judge_code(dialect: str) -> Path:
    """The package whose code judges what this dialect says: the house, or somebody else's
    domain."""
    for domain in domains().values():
        if domain.name not in own_domains() and dialect in (each.name for each in domain.dialects):
            return Path(sys.modules[domain.requests.kind.__module__].__file__ or "").parent
    return HOUSE


@cache
def judge_version(package: Path) -> str:
    """Changes where the code that judges does, and not with its comments, docstrings or layout: a
    hash of the syntax trees, 12 digits. Of a package that is not divided as the house is, all code
    counts.

    Trees are written out differently by different versions of Python, so these are comparable
    within one of them.
    """
    digest = hashlib.sha256()
    folders = [folder for pattern in JUDGES for folder in package.glob(pattern)] or [package]
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and ast.get_docstring(node, False) is not None
            ):
                node.body = node.body[1:]
        digest.update(f"{path.relative_to(package).as_posix()}\n{ast.dump(tree)}\n".encode())
    return digest.hexdigest()[:12]


def git_state(folder: Path) -> dict[str, Any] | None:
    """{"revision", "dirty"} of the checkout whose `tripwright` is `folder`; None for an installed
    package, or without git."""
    if not (folder.parent / ".git").exists():
        return None
    # by no tag: the whole hash, and a mark where a file that git knows has changed
    words = ["git", "-C", str(folder), "describe", "--match=NONE", "--always", "--dirty"]
    command = [*words, "--abbrev=40"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    revision, dirty, _ = run.stdout.strip().partition("-dirty")
    return {"revision": revision, "dirty": bool(dirty)}


def model_fingerprint(folder: str | Path) -> str | None:
    """Tells two checkpoints in one place apart: names, sizes and the two ends of every file. None
    for a name that is no folder."""
    folder, end = Path(folder), 1 << 20
    if not folder.is_dir():
        return None
    check_model_files(folder)
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.suffix in (".json", ".safetensors")):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as content:
            digest.update(content.read(end))
            content.seek(max(end, size - end))
            digest.update(content.read(end))
    return digest.hexdigest()


def settle_card(out: Path, card: dict[str, Any]) -> dict[str, Any]:
    """The card of the run folder `out`: written now in a new folder, found (and compared) in one
    that is taken up again."""
    path, run = out / CARD, Run.at(out)
    if path.is_file():
        if not run.card:
            raise UserError(f"'{path}' is not a run card. Choose a new folder for --out.")
        run.check_version()
        if differences := differences_in(run.card, card):
            raise UserError(
                f"'{out}' holds another run: {'; '.join(differences)}. Choose a new folder for"
                " --out."
            )
        return dict(run.card)
    if run.transcripts.exists():
        raise UserError(
            f"'{out}' holds {TRANSCRIPTS} but no {CARD} to say what made it. Choose a new folder"
            " for --out."
        )
    out.mkdir(parents=True, exist_ok=True)
    card = {**card, VERSION_ENTRY: VERSION}
    write_atomically(path, json.dumps(card, indent=2) + "\n")
    return card


def differences_in(
    earlier: Mapping[str, Any],
    present: Mapping[str, Any],
    entries: Iterable[str] = IDENTITY,
    there: str = "there",
    here: str = "here",
) -> list[str]:
    """One phrase for each entry that differs, or for each part of it."""
    phrases = []
    same_rules = earlier.get("rules") == present.get("rules")
    for entry in entries:
        before, after = what_matters(earlier.get(entry)), what_matters(present.get(entry))
        if before == after or (entry == "rules_version" and not same_rules):
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            differing = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            # another name explains all the rest
            for key in [key for key in differing if key in ("kind", "name")] or differing:
                phrases.append(
                    f"{entry} {key} is {shown(before.get(key))} {there} and {shown(after.get(key))}"
                    f" {here}"
                )
        else:
            phrases.append(f"{entry} is {shown(before)} {there} and {shown(after)} {here}")
    return phrases


def what_matters(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    hashed = any(entry.get(name) for name in HASHES)
    ignored = READ_ONLY_FACTS if hashed else {"base_url"}
    return {
        key: value for key, value in json.loads(json.dumps(entry)).items() if key not in ignored
    }


def shown(value: Any) -> str:
    text = value[:12] if isinstance(value, str) and len(value) == 64 else json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


# ---- cards of several runs


def unlike(cards: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One phrase for each thing that must be alike and differs from the first run's."""
    (first_name, first), *others = cards.items()
    phrases: list[str] = []
    for name, card in others:
        both = {entry: _comparable(entry, first, card) for entry in ALIKE}
        here, there = ({entry: pair[side] for entry, pair in both.items()} for side in (0, 1))
        phrases += differences_in(here, there, ALIKE, f"in {first_name}", f"in {name}")
    return phrases


def _comparable(entry: str, *cards: Mapping[str, Any]) -> Sequence[Any]:
    """An entry of two cards, cut to what both say; two times None where one says nothing."""
    both: list[Any] = [card.get(entry) for card in cards]
    if entry == "emptied_tools":
        return [bool(each) for each in both]
    if entry == "faults":
        return both
    if entry == "rules_version":  # a card that says none is of the first
        return [each or 1 for each in both]
    if entry == "decoding":
        kinds = [object_in(card, "policy").get("kind") for card in cards]
        if not {*kinds} <= {*SAMPLED} or not all(isinstance(each, dict) for each in both):
            return None, None
        return [_decoding(each, both if kinds[0] != kinds[1] else [each]) for each in both]
    if not all(both):
        return None, None
    if not all(isinstance(each, dict) for each in both):
        return both
    return [
        {key: each[key] for key in each if all(key in other for other in both)} for each in both
    ]


def _decoding(decoding: Mapping[str, Any], known_to: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How tokens are chosen, but for the seed: what is set of the settings that all of `known_to`
    have. Policies of one kind know the same settings, and those of two only some."""
    shared = {key for key in decoding if all(key in each for each in known_to)} - {"seed"}
    said = {key: decoding[key] for key in shared if decoding[key] is not None}
    if not decoding.get("temperature"):
        said.pop("top_p", None)  # greedy
    elif all("top_p" in each for each in known_to):
        said.setdefault("top_p", 1.0)
    return said


def notes(cards: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a reader should know although it forbids nothing."""
    phrases = []
    for entry, words in TOLD.items():
        values = {name: card[entry] for name, card in cards.items() if card.get(entry) is not None}
        if len({json.dumps(value) for value in values.values()}) > 1:
            told = ", ".join(f"{value} in {name}" for name, value in values.items())
            phrases.append(f"{words} differs: {told}")
    first = next(iter(cards.values()))
    for entry in KNOWN:
        if silent := [
            name
            for name, card in cards.items()
            if not card.get(entry) or _comparable(entry, first, card)[1] == {}
        ]:
            phrases.append(
                f"not known to be alike: the run card of {', '.join(silent)} does not say its"
                f" {entry}, or says it otherwise"
            )
    return phrases


def seed_of(card: Mapping[str, Any], recipe: Mapping[str, Any]) -> int | None:
    """The training's seed where there was one, else the sampling's."""
    seed = recipe.get("seed", object_in(card, "decoding").get("seed"))
    return seed if isinstance(seed, int) else None


def but_for_seeds(card: Mapping[str, Any], recipe: Mapping[str, Any]) -> str:
    """Equal for runs that differ only by a seed: of the sampling, or of the training that made the
    weights, of which `recipe` is {} where there was none."""
    policy = object_in(card, "policy") or card.get("policy") or {}
    if recipe and isinstance(policy, dict):
        # the recipe and the stage say what the weights are; their fingerprint and place differ with
        # the seed
        policy = {key: value for key, value in policy.items() if key not in HASHES}
        if isinstance(model := policy.get("model"), str):
            policy["model"] = Path(model).name  # RUN/model/STAGE
    settings = {key: value for key, value in recipe.items() if key not in ("seed", "name")}
    decoding = {k: v for k, v in object_in(card, "decoding").items() if k != "seed"}
    rest = [what_matters(card.get(entry)) for entry in (*ALIKE, "samples") if entry != "decoding"]
    return json.dumps([policy, settings, decoding, rest], sort_keys=True, default=str)
