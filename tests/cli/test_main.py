"""The front door: help without loading anything, one line per user mistake, the promised exit
codes."""

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import python
from tripwright import __version__
from tripwright.cli.main import main
from tripwright.cli.verbs import Verb, all_verbs
from tripwright.progress import StatusLine

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "numpy", "scipy", "matplotlib", "statsmodels", "pyarrow")
DOMAINS = ("tripwright.domains.travelplanner.domain", "tripwright.domains.deeptravel.domain")
OLD_WORDS = ("--n ", "--limit ", "--together ", "--tools ", "--price ", "--transcripts <path>")
MISSPELT = (
    "train nano/gpro",
    "sft lost.toml",
    "fit lost.toml",
    "examine lost.toml",
    "train nano/grpo --engin local",
    "examine nano/grpo --out lost",
    "run --policy local --model m --dialect compact --queries lost.jsonl --world w --out o",
)
PLAYTHINGS = '''
import sys
import typer
from tripwright.errors import UserError
from tripwright.progress import StatusLine

def greet(name: str, times: int = 1) -> None:
    """Greet somebody.

    Examples:
      tripwright greet Ada
      tripwright greet Ada --times 2

    A second paragraph.
    """
    print("hello " * times + name)

def refuse() -> None:
    """Refuse."""
    raise UserError("Unknown city 'Bostn'.\\nDid you mean 'Boston'?")

def failed_check() -> None:
    """Fail a check."""
    raise typer.Exit(1)

def interrupted() -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt

def missing_file() -> None:
    """Open a file that is not there."""
    open("/nowhere/plans.jsonl")

def bug() -> None:
    """A mistake of ours."""
    {}["key"]

def quote(text: str) -> None:
    """Show a stranger's text in every way."""
    print(text)
    print(text, file=sys.stderr)
    typer.echo(text, err=True)
    sys.stdout.writelines([text, text])
    StatusLine(0, 0).show(text)
    raise UserError(text)
'''


@pytest.fixture
def verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Verb]:
    (tmp_path / "playthings_of_main.py").write_text(PLAYTHINGS)
    (tmp_path / "heavy_of_main.py").write_text("import torch\n")
    monkeypatch.setitem(sys.modules, "torch", None)  # as if the extra were not installed
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "playthings_of_main", raising=False)
    names = "greet refuse failed_check interrupted missing_file bug quote".split()
    rows = [
        Verb(name.replace("_", "-"), "playthings_of_main", name, f"Line about {name}.")
        for name in names
    ]
    return [
        *rows,
        Verb("world greet", "playthings_of_main", "greet", "Greet in a group."),
        Verb("heavy", "heavy_of_main", "heavy", "Needs torch."),
        Verb("absent", "no_such_module_of_main", "absent", "Not written yet."),
    ]


@pytest.mark.parametrize("words", [["--help"], []])
def test_help_lists_what_exists_and_loads_none_of_it(words, verbs, capsys):
    assert main(words, verbs) == 0
    page = capsys.readouterr().out
    assert "Line about greet." in page and "heavy" in page and "world" in page
    assert "absent" not in page
    assert "playthings_of_main" not in sys.modules


@pytest.mark.parametrize("words", [["greet"], ["world", "greet"]])
def test_a_verb_runs_and_its_help_keeps_the_example_lines(words, verbs, capsys):
    assert main([*words, "Ada", "--times", "2"], verbs) == 0
    assert capsys.readouterr().out == "hello hello Ada\n"
    assert main([*words, "--help"], verbs) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "tripwright greet Ada" in lines
    assert "tripwright greet Ada --times 2" in lines
    assert "\b" not in lines


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["refuse"], 2, "tripwright: Unknown city 'Bostn'. Did you mean 'Boston'?"),
        (["failed-check"], 1, ""),
        (["missing-file"], 2, "tripwright: cannot use '/nowhere/plans.jsonl': No such file"),
        (["heavy"], 2, "pip install 'tripwright[train]'"),
        (["greet"], 2, "(see 'tripwright greet --help')"),
        (["greet", "Ada", "--times", "many"], 2, "(see 'tripwright greet --help')"),
        (["greet", "Ada", "--tmes", "2"], 2, "--tmes"),
        (["world"], 2, "(see 'tripwright world --help')"),
        (["gret"], 2, "gret"),
        (["absent"], 2, "absent"),
    ],
)
def test_an_expected_failure_is_one_line_and_its_code(words, code, message, verbs, capsys):
    assert main(words, verbs) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == (1 if message else 0)
    assert not message or printed.err.startswith("tripwright: ")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_nothing_that_a_terminal_obeys_is_printed(verbs, monkeypatch, is_terminal):
    obeyed = "\x1b[2J \x1b]0;owned\x07 \r \x9b \x00 \u202e \u2066 \u200f \u2028 \x7f".split(" ")
    streams = [io.StringIO(), io.StringIO()]
    for stream, name in zip(streams, ("stdout", "stderr"), strict=True):
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
        monkeypatch.setattr(sys, name, stream)
    assert main(["quote", f"é\t😀\r\n{''.join(obeyed)}."], verbs) == 2
    assert (sys.stdout, sys.stderr) == tuple(streams)
    said = "".join(stream.getvalue() for stream in streams).replace("\r\x1b[K", "")
    # typer takes codes out of what goes to no terminal
    assert said.count("é\t😀\r\n") == 6 and said.count("?[2J") == 6
    assert not [each for each in obeyed if each[0] in said.replace("\r\n", "")]


def test_an_interrupt_says_how_to_go_on(verbs, capsys):
    assert main(["interrupted"], verbs) == 130
    assert "stopped; run the same command to continue" in capsys.readouterr().err


def test_a_bug_of_ours_keeps_its_traceback(verbs):
    with pytest.raises(KeyError):
        main(["bug"], verbs)


def test_a_missing_module_of_no_extra_is_a_bug(verbs, tmp_path):
    (tmp_path / "broken_of_main.py").write_text("import nowhere_of_main\n")
    with pytest.raises(ModuleNotFoundError):
        main(["broken"], [Verb("broken", "broken_of_main", "broken", "Broken.")])


FULL = "tripwright: cannot write everything: No space left on device.\n"


@pytest.mark.parametrize(("redirect", "told"), [(">&-", (0, "")), (">/dev/full", (2, FULL))])
def test_an_output_that_is_closed_or_full(tmp_path, redirect, told):
    assert main(["world", "build", "--out", str(tmp_path / "w")]) == 0
    command = shlex.join([sys.executable, "-m", "tripwright", "world", "info", str(tmp_path / "w")])
    done = subprocess.run(
        f"{command} {redirect}", shell=True, capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert (done.returncode, done.stderr) == told


def test_version(typed):
    assert typed("--version").out == f"tripwright {__version__}\n"


@pytest.mark.parametrize("verb", all_verbs(), ids=lambda verb: verb.words)
def test_every_verb_has_help_with_examples_and_one_word_for_one_thing(verb, typed):
    page = typed(verb.words, "--help").out
    assert f"  tripwright {verb.words}" in page.partition("\n  Examples:\n")[2]
    options = page.partition("Options:")[2]
    assert not [word for word in OLD_WORDS if f"  {word}" in options]
    assert ("--base-url, --endpoint" in options) == ("--api-key-env" in options)


def test_progress_is_told_in_whole_numbers(monkeypatch, capsys):
    monkeypatch.setattr(StatusLine, "seconds", 0.5)
    StatusLine(0, 0).count(600, 1200, "requests")
    assert "600 of 1,200 requests, 1,200 a second" in capsys.readouterr().err


def test_no_help_page_loads_what_works():
    """All in one process, as each verb's module is loaded on top of the others. Domains are loaded
    by the help of verbs that list their names."""
    script = f"""
import sys
from tripwright.cli.main import main
from tripwright.cli.verbs import all_verbs
for words in ["", *(verb.words for verb in all_verbs())]:
    assert main([*words.split(), "--help"]) == 0
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    assert not loaded, (words, loaded)
    assert words or not any(name in sys.modules for name in {DOMAINS!r})
"""
    done = python("-c", script)
    assert done.returncode == 0, done.stderr


def test_a_misspelt_name_is_noticed_before_torch_is_loaded(tmp_path):
    script = (
        "import sys; from tripwright.cli.main import main\n"
        f"for words in {MISSPELT!r}:\n"
        "    assert main(words.split()) == 2 and 'torch' not in sys.modules, words"
    )
    done = python("-c", script, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0 and done.stderr.count("\n") == len(MISSPELT), done.stderr


def test_the_table_of_verbs_is_whole_and_its_commands_exist():
    text = (ROOT / "docs" / "cli.md").read_text()
    rows = re.findall(r"^\| `([^|]*) \| .* \| `tripwright ([^`]*)` \|$", text, re.MULTILINE)
    listed = set[str]()
    for names, example in rows:
        first, *others = re.findall(r"[\w -]+", names.replace("`", ""))
        group = first.rpartition(" ")[0]
        listed |= {first.strip(), *(f"{group} {other.strip()}".strip() for other in others)}
        assert any(example.startswith(verb.words) for verb in all_verbs()), example
    assert listed == {verb.words for verb in all_verbs()}


def test_ctrl_c_while_it_starts_is_no_traceback(tmp_path):
    """Before the front door is open: while what it needs is imported."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = python("-m", "tripwright", "--help", env={"PYTHONPATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
