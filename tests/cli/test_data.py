"""`data` as a user types it: from runs of the experts to the files of other trainers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, queries and two runs of the expert, on five queries each; requests and a run of the
    errand expert on them."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        told("world build --out world --scale nano --seed 2")
        told("query make --world world --count 10 --seed 1 --out queries.jsonl --workers 1")
        lines = Path("queries.jsonl").read_text().splitlines(keepends=True)
        for name, half in (("a", lines[:5]), ("b", lines[5:])):
            Path(f"{name}.jsonl").write_text("".join(half))
            told(f"{RUN} expert --rules strict --queries {name}.jsonl --out runs/{name}")
        made = "--count 6 --constraints mixed --seed 1 --out requests.jsonl"
        told(f"request make --world world {made}")
        told(f"{RUN} {ERRANDS} --queries requests.jsonl --out runs/errands")
    return folder


RUN = "run --world world --policy"
ERRANDS = "errand-expert --dialect deeptravel_cards_compact"


def told(words: str) -> None:
    assert main(words.split()) == 0


@pytest.fixture(autouse=True)
def there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()


@pytest.fixture
def asked(typed: Callable[..., Any]) -> Callable[[str], str]:
    """asked(words) → what `tripwright data` prints."""
    return lambda words: typed(f"data {words}").out


def test_collect_and_stats(asked):
    told = asked("collect runs/a runs/b --out sft.jsonl").splitlines()
    assert [line.split() for line in told[-2:]] == [["a", "5", "5"], ["b", "5", "5"]]
    found = json.loads(asked("collect runs/a --world world --out again.jsonl --json"))
    counts = dict.fromkeys(("episodes", "kept", "requests", "judged_again"), 5)
    runs = {"a": {"episodes": 5, "kept": 5}}
    assert found == {"out": "again.jsonl", "rules": "strict", "dropped": {}, "runs": runs, **counts}
    assert "characters" in asked("stats sft.jsonl")
    assert json.loads(asked("stats sft.jsonl --json"))["levels"]["all"]["n"] == 10


def test_a_cold_start_of_deeptravel_s_kind(asked):
    """From its run to the files, without rules and without a world."""
    found = json.loads(asked("collect runs/errands --out cold.jsonl --json"))
    passed = json.loads(Path("runs/errands/score.json").read_text())["metrics"]["final"]["k"]
    assert found["kept"] + sum(found["dropped"].values()) == found["episodes"] == 6
    assert found["rules"] == json.loads(Path("runs/errands/run_card.json").read_text())["rules"]
    assert found["judged_again"] == 0 and 1 <= found["kept"] == passed
    stats = json.loads(asked("stats cold.jsonl --json"))
    assert stats["dialects"] == {"deeptravel_cards_compact": passed} and "wishes" in stats
    said = asked("export cold.jsonl --out c.jsonl")
    assert said == f"c.jsonl: {passed} rows\n"
    split = "split requests.jsonl --parts train:4,validation:2 --out request_parts --json"
    parts = json.loads(asked(split))["parts"]
    assert [sum(part["mix"].values()) for part in parts.values()] == [4, 2]
    told(f"{RUN} {ERRANDS} --queries request_parts/validation.jsonl --out runs/part")


def test_split(asked):
    words = "split queries.jsonl a.jsonl --parts train:6,validation:3 --seed 4 --out parts"
    found = json.loads(asked(f"{words} --json"))
    assert (found["requests"], found["duplicates"], found["left_out"]) == (10, 5, 1)
    assert [part["n"] for part in found["parts"].values()] == [6, 3]


def test_reliability_and_its_check(asked, typed):
    found = typed("data reliability runs/a runs/b --json").record
    assert found["synthetic"]["k"] == found["given"]["k"] == 5


WRONG = """
collect nowhere --out x.jsonl | No run folder at 'nowhere'
collect runs/a --out x.json | .jsonl
collect runs/a --out x.jsonl --rules kind | 'kind'
collect runs/a --out x.jsonl --rules official | strict rules
collect runs/errands runs/a --out x.jsonl | one kind at a time
collect runs/errands --out x.jsonl --rules strict | --rules is for
collect runs/errands --out x.jsonl --world world | --world is for
stats runs/a/transcripts.jsonl runs/errands/transcripts.jsonl | one kind at a time
stats requests.jsonl | requests.jsonl:1: not an episode of a run
stats nowhere.jsonl | 'nowhere.jsonl'
export queries.jsonl --out x | .parquet or .jsonl
export queries.jsonl --out x.jsonl | queries.jsonl:1: not an episode of a run
export runs/a/transcripts.jsonl --out x.jsonl | which tools
split requests.jsonl queries.jsonl --parts train:1 --out x | one kind at a time
split queries.jsonl --parts train --out x | --parts 'train'
split queries.jsonl --parts train:0 --out x | --parts 'train:0'
split queries.jsonl --parts ../t:1 --out x | --parts '../t:1'
split queries.jsonl --parts train:11 --out x | 11 requests
reliability runs/a runs/a | same requests
reliability runs/a nowhere | 'nowhere'
"""


@pytest.mark.parametrize("wrong", WRONG.strip().splitlines())
def test_wrong_inputs_are_one_line_and_write_nothing(folder, wrong, refused):
    pytest.importorskip("pyarrow")
    words, why = wrong.split(" | ")
    assert why in refused(f"data {words}")
    assert not list(folder.glob("x*"))
