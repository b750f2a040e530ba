"""A talk with a simulated customer: who speaks when, what ends it, and what it comes to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.agent.turn import TALK_TURNS, Answer, Call, Unreadable, read_turn, write_call
from tripwright.episode import Episode, close_session, open_session
from tripwright.evals.outside.tau.package import Package
from tripwright.evals.outside.tau.retail import RetailTask, dialect_of, retail_tasks, score_retail
from tripwright.evals.outside.tau.talk import MOST_CUSTOMER_TURNS
from tripwright.policies.base import say
from tripwright.transcript import StopReason

CANCEL = write_call("cancel", {"order": "1"})


def played(package: Package, customer: Any, *turns: str, task: int = 1) -> Episode:
    session = open_session(
        RetailTask(f"retail/{task}", package.tasks[task], package, customer), dialect_of(package)
    )
    for turn in turns:
        say(session, turn)
    assert session.done
    return close_session(session)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Hello, who are you?", Answer("Hello, who are you?")),
        ("<think>Order?</think> Which order? ", Answer("Which order?")),
        (f"<think>Now.</think>{CANCEL}", Call("cancel", {"order": "1"})),
        (f"I cancel it. {CANCEL}", Call("cancel", {"order": "1"})),
        ("It is <answer>done</answer>", Answer("It is <answer>done</answer>")),
        ("", Answer("")),
        ("Its price is 54.04.</think>Hello", Answer("Hello")),  # the template opened the thought
        ("<thinking>54.04</thinking> Hello", Answer("Hello")),
        ("Hello. <think>54.04</think>", Answer("Hello.")),
        ("<think>54.04", Answer("")),
        (f"Perhaps {CANCEL}?</think>Are you sure?", Answer("Are you sure?")),
        (f"Perhaps {CANCEL}?</think>{CANCEL}", Call("cancel", {"order": "1"})),
    ],
)
def test_what_holds_no_call_is_said_to_the_customer(text: str, read: Answer | Call) -> None:
    assert read_turn(text, TALK_TURNS) == read


@pytest.mark.parametrize("text", ["<tool_call>cancel", "<tool_call>{}</tool_call>"])
def test_a_call_must_be_readable(text: str) -> None:
    assert isinstance(read_turn(text, TALK_TURNS), Unreadable)


def test_a_task_passes_where_the_shop_is_right_and_the_customer_was_told(
    package: Package, customer: Callable[..., Any]
) -> None:
    asks = customer("Cancel my order.", "Number 1.", "Thanks! ###STOP###")
    episode = played(package, asks, "Which one?", CANCEL, "It is done.")
    assert episode.verdict is not None
    assert episode.verdict.final
    assert [(segment.role, segment.text) for segment in episode.transcript.segments[1:]] == [
        ("user", "Cancel my order."),
        ("assistant", "Which one?"),
        ("user", "Number 1."),
        ("assistant", CANCEL),
        ("tool", "cancelled"),
        ("assistant", "It is done."),
    ]
    assert episode.more["outside"]["customer_turns"] == 3
    assert episode.more["outside"]["ended_by_customer"] is True
    assert asks.heard[-1] == [  # the same talk as the customer sees it, who hears of no tool
        {"role": "system", "content": "You want order 1 cancelled."},
        {"role": "user", "content": "Begin."},
        {"role": "assistant", "content": "Cancel my order."},
        {"role": "user", "content": "Which one?"},
        {"role": "assistant", "content": "Number 1."},
        {"role": "user", "content": "It is done."},
    ]


@pytest.mark.parametrize(
    ("turns", "facts"),
    [
        (("It is done.",), {"database": False, "communicated": True}),
        ((CANCEL, "Bye."), {"database": True, "communicated": False}),
        # a repeated call is answered again
        ((CANCEL, CANCEL, "It is done."), {"database": False, "communicated": True}),
        (
            (write_call("refund", {}), CANCEL, "It is done."),
            {"database": True, "communicated": True},
        ),
        (
            ("<tool_call>?</tool_call>", CANCEL, "It is done."),
            {"database": True, "communicated": True},
        ),
    ],
)
def test_each_half_can_fail(
    turns: tuple[str, ...], facts: dict[str, bool], package: Package, customer: Callable[..., Any]
) -> None:
    episode = played(package, customer("Cancel my order 1.", "###STOP###"), *turns)
    assert episode.verdict is not None
    assert {
        name: fact.passed for name, fact in (episode.verdict.group("checks").facts or {}).items()
    } == facts
    assert episode.verdict.final is all(facts.values())


@pytest.mark.parametrize("sign", ["###TRANSFER###", "###OUT-OF-SCOPE###", "ok ###STOP###"])
def test_every_sign_of_the_customer_ends_the_talk(
    sign: str, package: Package, customer: Callable[..., Any]
) -> None:
    assert (
        played(package, customer("Hello.", sign), "Hello.").transcript.stop_reason
        is StopReason.ANSWER
    )


def test_a_customer_who_goes_on_for_ever_is_left(
    package: Package, customer: Callable[..., Any]
) -> None:
    episode = played(
        package, customer(*["And?"] * MOST_CUSTOMER_TURNS), *["Well."] * MOST_CUSTOMER_TURNS
    )
    assert episode.more["outside"]["ended_by_customer"] is False
    assert episode.more["outside"]["customer_turns"] == MOST_CUSTOMER_TURNS


def test_a_talk_that_the_agent_does_not_end_has_failed(
    package: Package, customer: Callable[..., Any]
) -> None:
    task = RetailTask("retail/1", package.tasks[1], package, customer("Cancel 1."))
    session = open_session(task, dialect_of(package))
    say(session, CANCEL)
    session.overflow()
    episode = close_session(session)
    assert episode.verdict is not None
    assert (episode.verdict.final, episode.verdict.delivered) == (False, False)


def test_neither_customer_nor_grader_hears_a_thought(
    package: Package, customer: Callable[..., Any]
) -> None:
    asks = customer("Cancel my order 1.", "###STOP###")
    episode = played(package, asks, CANCEL, "<thinking>Now it is done.</thinking>Bye.")
    assert asks.heard[-1][-1] == {"role": "user", "content": "Bye."}
    assert episode.verdict is not None
    facts = episode.verdict.group("checks").facts
    assert facts is not None and not facts["communicated"].passed
    # as it was emitted
    assert episode.transcript.segments[-1].text == "<thinking>Now it is done.</thinking>Bye."


def test_where_the_customer_does_not_open_the_talk_the_agent_is_not_asked(
    package: Package, customer: Callable[..., Any]
) -> None:
    episode = played(package, customer(None))
    assert episode.verdict is None
    assert episode.transcript.turns == 0
    assert (
        episode.transcript.fault
        == "the simulated customer did not answer: timeout after 5 attempts: too slow"
    )


def test_a_shop_that_does_not_open_is_our_fault(
    package: Package, customer: Callable[..., Any]
) -> None:
    asks = customer("Hello.")
    package.close()
    episode = played(package, asks)
    assert episode.verdict is None
    assert "the shop did not open: its process cannot be spoken to" in str(episode.transcript.fault)
    assert not asks.heard


def test_a_customer_who_does_not_answer_is_our_fault(
    package: Package, customer: Callable[..., Any]
) -> None:
    episode = played(package, customer("Hello.", None), "Hello.")
    assert episode.verdict is None
    assert (
        episode.transcript.fault
        == "the simulated customer did not answer: timeout after 5 attempts: too slow"
    )


def test_a_shop_that_falls_down_is_our_fault(
    package: Package, customer: Callable[..., Any]
) -> None:
    episode = played(package, customer("Hello."), write_call("die", {}))
    assert episode.verdict is None
    assert "the shop did not answer die: its process ended" in str(episode.transcript.fault)


def test_ids_name_task_and_sample_and_pass_hat_is_over_tasks(
    package: Package, customer: Callable[..., Any]
) -> None:
    """Task 0 passes twice, task 1 once, of two samples: pass^1 is 3/4, pass^2 is 1/2."""
    jobs = retail_tasks(package, customer(), samples=2, limit=2)
    assert [job.id for job in jobs] == [
        "retail/0-s00",
        "retail/0-s01",
        "retail/1-s00",
        "retail/1-s01",
    ]
    records = []
    for job, right in zip(jobs, (True, True, True, False), strict=True):
        number = int(job.id[7])
        turns = (write_call("cancel", {"order": str(number)}), "done") if right else ("done",)
        episode = played(package, customer("Hello.", "###STOP###"), *turns, task=number)
        records.append({**episode.record(), "id": job.id})
    score = score_retail(json.loads(json.dumps(records)), "r", {})
    assert {k: found["value"] for k, found in score["pass^k"].items()} == {"1": 0.75, "2": 0.5}
    assert score["metrics"]["final"]["k"] == 3


def test_the_verb_plays_scores_and_resumes(
    shop_command: list[str],
    model: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tripwright.cli.main import Verb, main

    monkeypatch.setattr(Package, "start", classmethod(lambda cls, python: cls(shop_command)))
    agent = model(
        lambda messages: (
            CANCEL.replace("1", messages[1]["content"][-2])
            if messages[-1]["role"] == "user"
            else "It is done."
        )
    )
    buyer = model(
        lambda messages: (
            f"Cancel {messages[0]['content'][15]}." if len(messages) == 2 else "###STOP###"
        )
    )
    table = (Verb("outside tau-retail", "tripwright.cli.outside_tau", "tau_retail", "Help."),)
    words = [
        "outside",
        "tau-retail",
        "--python",
        "python",
        "--user-model",
        "buyer",
        "--user-url",
        buyer.url,
        *agent.words,
    ]
    assert main([*words, "--out", str(tmp_path / "out")], table) == 0
    told = capsys.readouterr().out
    assert "pass^1" in told
    assert "3/3" in told
    assert "The customer was buyer" in told
    score = json.loads((tmp_path / "out" / "score.json").read_text())
    assert score["metrics"]["final"]["k"] == 3
    assert score["run_card"]["world"]["customer"]["model"] == "buyer"
    assert score["run_card"]["world"]["judge"] == "none"
    limits = score["run_card"]["dialect"]["limits"]
    assert (limits["context_tokens"], limits["max_turns"], limits["max_calls"]) == (
        32 * 1024,
        200,
        200,
    )
    asked = len(agent.asked), len(buyer.asked)
    assert main([*words, "--out", str(tmp_path / "out"), "--json"], table) == 0
    assert (len(agent.asked), len(buyer.asked)) == asked
    words[words.index("buyer")] = "another"
    assert main([*words, "--out", str(tmp_path / "out")], table) == 2
    assert "holds another run: world customer is" in capsys.readouterr().err
