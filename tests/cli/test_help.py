"""Help pages are quick, because they load nothing that works, and say one thing in one word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.cli.verbs import all_verbs
from tripwright.domains import (
    OWN_DIALECTS,
    OWN_FACES,
    OWN_POLICIES,
    OWN_RULES,
    dialects,
    faces,
    own_domains,
)

HEAVY = ("torch", "transformers", "numpy", "scipy", "matplotlib", "statsmodels", "pyarrow")
DOMAINS = ("tripwright.domains.travelplanner.domain", "tripwright.domains.deeptravel.domain")
OLD_WORDS = ("--n ", "--limit ", "--together ", "--tools ", "--price ", "--transcripts <path>")


def test_no_help_page_loads_what_works() -> None:
    """All in one process, as each verb's module is loaded on top of the others."""
    script = f"""
import sys
from tripwright.cli.main import main
from tripwright.cli.verbs import all_verbs
for verb in all_verbs():
    assert main([*verb.words.split(), "--help"]) == 0
    loaded = [name for name in {HEAVY + DOMAINS!r} if name in sys.modules]
    assert not loaded, (verb.words, loaded)
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=root, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "train nano/gpro",
        "sft lost.toml",
        "fit lost.toml",
        "examine lost.toml",
        "train nano/grpo --engin local",
        "examine nano/grpo --out lost",
        "run --policy local --model m --dialect compact --queries lost.jsonl --world w --out o",
    ],
)
def test_a_misspelt_name_is_noticed_before_torch_is_loaded(words: str, tmp_path: Path) -> None:
    script = (
        "import sys; from tripwright.cli.main import main;"
        f" assert main({words.split()!r}) == 2; assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 0 and done.stderr.count("\n") == 1, done.stderr


def test_help_lists_what_the_domains_have() -> None:
    own = own_domains()
    assert tuple(dialects(own)) == OWN_DIALECTS and tuple(faces(own)) == OWN_FACES
    policies = (name for domain in own.values() for name in domain.policies)
    assert tuple(dict.fromkeys(policies)) == OWN_POLICIES
    rules = (name for domain in own.values() for name in domain.rules)
    assert tuple(dict.fromkeys(rules)) == OWN_RULES and OWN_RULES[0] == "strict"


@pytest.mark.parametrize("verb", all_verbs(), ids=lambda verb: verb.words)
def test_one_word_for_one_thing(verb: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.words.split(), "--help"]) == 0  # type: ignore[attr-defined]
    options = capsys.readouterr().out.partition("Options:")[2]
    assert not [word for word in OLD_WORDS if f"  {word}" in options]
    if "--base-url" in options:
        assert "--api-key-env" in options


def test_the_table_of_verbs_is_whole_and_its_commands_exist() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
    rows = re.findall(r"^\| `([^|]*) \| .* \| `tripwright ([^`]*)` \|$", text, re.MULTILINE)
    listed = set[str]()
    for names, example in rows:
        first, *others = re.findall(r"[\w -]+", names.replace("`", ""))
        group = first.rpartition(" ")[0]
        listed |= {first.strip(), *(f"{group} {other.strip()}".strip() for other in others)}
        assert any(example.startswith(verb.words) for verb in all_verbs()), example
    assert listed == {verb.words for verb in all_verbs()}
