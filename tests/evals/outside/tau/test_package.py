"""The environment that the shop runs in: what will do, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tripwright.agent.turn import write_call
from tripwright.episode import close_session, open_session
from tripwright.errors import UserError
from tripwright.evals.outside.tau.package import Package, WorkerDown, check_environment
from tripwright.evals.outside.tau.retail import RetailTask, dialect_of
from tripwright.policies.base import say


@pytest.fixture
def python_with(tmp_path: Path) -> Callable[[dict[str, list[str]]], str]:
    """An interpreter that says of its packages what it is told."""

    def made(found: dict[str, list[str]]) -> str:
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(found)}\nEND\n")
        script.chmod(0o755)
        return str(script)

    return made


def test_inspect_evals_will_do(python_with: Callable[..., str]) -> None:
    assert (
        check_environment(
            python_with({"inspect-evals": ["0.26.0", "Evals"], "tau2": ["2.4.0", "Relaxation"]})
        )
        == "0.26.0"
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "has no inspect-evals: expected an environment with it"),
        (
            {"tau2": ["2.4.0", "Magnetic relaxation"]},
            r"has tau2 2.4.0 \(Magnetic relaxation\) .* is a physics library and not τ²-bench",
        ),
        ({"tau-bench": ["0.1.0", ""]}, "has no inspect-evals: found tau-bench 0.1.0"),
        ({"inspect-evals": ["0.3.106", ""]}, "has inspect-evals 0.3.106, expected 0.26 or newer"),
    ],
)
def test_what_else_is_there_is_refused_by_name(
    found: dict[str, list[str]], said: str, python_with: Callable[..., str]
) -> None:
    with pytest.raises(UserError, match=said) as caught:
        check_environment(python_with(found))
    assert "pip install" in str(caught.value)


def test_what_is_no_interpreter(tmp_path: Path) -> None:
    for python in (str(tmp_path / "nowhere"), "/bin/false", "/bin/echo"):
        with pytest.raises(UserError, match="is no Python interpreter that runs"):
            check_environment(python)


def test_a_worker_that_does_not_open_is_one_line() -> None:
    with pytest.raises(
        UserError, match="The retail shop does not open: its process ended: no such shop"
    ):
        Package(
            [
                sys.executable,
                "-c",
                "import sys; print('no such shop', file=sys.stderr, flush=True); sys.stdin.readline()",
            ]
        )


def test_a_fault_of_the_worker_is_told(package: Package) -> None:
    with pytest.raises(WorkerDown, match="KeyError: dance"):
        package.ask(op="dance")
    package.close()
    with pytest.raises(WorkerDown, match="cannot be spoken to"):
        package.ask(op="hello")


@pytest.fixture(scope="module")
def real() -> Iterator[Package]:
    python = os.environ.get("TRIPWRIGHT_TAU_PYTHON")
    if not python:
        pytest.skip("TRIPWRIGHT_TAU_PYTHON names no interpreter with inspect-evals")
    with Package.start(python) as opened:
        yield opened


READS = ("find_user", "get_", "list_", "calculate", "transfer_")


def gold(task: str) -> tuple[list[dict[str, Any]], list[str]]:
    """(calls, texts to the customer) that the package expects: read from its own file."""
    where = "import importlib.util as u; print(u.find_spec('inspect_evals').submodule_search_locations[0])"
    done = subprocess.run(
        [os.environ["TRIPWRIGHT_TAU_PYTHON"], "-I", "-c", where],
        capture_output=True,
        text=True,
        check=True,
    )
    file = Path(done.stdout.strip(), "tau2/data/domains/retail/tasks.json")
    (found,) = (each for each in json.loads(file.read_text()) if each["id"] == task)
    criteria: dict[str, Any] = found["evaluation_criteria"]
    return criteria["actions"], criteria["communicate_info"] or []


@pytest.mark.parametrize("number", [0, 2, 20, 113])
def test_the_real_shop_passes_who_does_what_is_expected_and_nobody_else(
    number: int, real: Package, customer: Callable[..., Any]
) -> None:
    task = real.tasks[number]
    calls, texts = gold(task.id)
    for right in (True, False):
        session = open_session(
            RetailTask(task.id, task, real, customer("Hello.", "###STOP###")), dialect_of(real)
        )
        for call in calls if right else []:
            say(session, write_call(call["name"], call["arguments"]))
        say(session, " ".join(["All done.", *(texts if right else [])]))
        episode = close_session(session)
        assert episode.verdict is not None
        changes = texts or [call for call in calls if not call["name"].startswith(READS)]
        assert episode.verdict.final is (right or not changes)


def test_the_real_shop_has_the_tasks_and_tools_of_the_benchmark(real: Package) -> None:
    assert (len(real.tasks), len(real.schemas)) == (114, 15)
    assert real.identity["package"] == "inspect-evals"
    assert real.policy.startswith("<policy>")


def test_the_real_tools_answer_and_refuse(real: Package) -> None:
    real.ask(op="open", talk=-1, task="0")

    def call(name: str, **arguments: Any) -> tuple[str, bool]:
        found = real.ask(op="call", talk=-1, name=name, arguments=arguments)
        return found["text"], found["error"]

    user, error = call(
        "find_user_id_by_name_zip", first_name="Yusuf", last_name="Rossi", zip="19122"
    )
    assert (user, error) == ("yusuf_rossi_9620", False)
    assert call("get_order_details", order_id="#W0") == ("Error: Order not found", True)
    assert call("get_order_details")[1]
    assert call("fly", to="Rome") == ("Error: Tool fly not found", True)
    assert call("calculate", expression="2 + 3 * 4") == ("14.0", False)
    assert call(
        "exchange_delivered_order_items",
        order_id=3,
        item_ids=None,
        new_item_ids=[],
        payment_method_id="x",
    )[1]
    real.ask(op="close", talk=-1)
