"""Credit by evidence: who is charged for a broken constraint, and with which words."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.credit import places_of
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.rewards import SUM
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, close_session, open_session
from tripwright.world.generator import build_tables
from tripwright.world.store import World

pytest.importorskip("torch")


from tripwright.training.credit import advantages_by_evidence
from tripwright.training.rollouts import RolloutGroup


@pytest.fixture(scope="module")
def task() -> TripTask:
    world = World.in_memory(build_tables("nano", 21))
    return TripTask("t", next(make_queries(world, 1, 5, Mix(levels=(1, 0, 0)))), world)


@pytest.fixture
def played(task: TripTask, chat: Any) -> Any:
    """played(change) → the expert's episode, its answer changed by a function of the days, all of
    it as tokens."""

    def play(change: Any = None) -> Any:
        dialect = replace(dialect_named("compact"), max_turn_tokens=2000, context_tokens=4000)
        (expert,) = ExpertPolicy().play([open_session(task, dialect, chat)])
        session: Session = open_session(task, dialect, chat)
        for segment in expert.transcript.segments:
            if segment.role == "assistant":
                text = segment.text
                if expert.transcript.answer in text and change is not None:
                    days = json.loads(expert.transcript.answer)
                    change(days)
                    text = f"<answer>{json.dumps(days, separators=(',', ':'))}</answer>"
                session.say(text)
        return close_session(session)

    return play


def credited(group: RolloutGroup, chat: Any, member: int) -> list[tuple[str, float]]:
    """(token's text, its advantage) of the agent's own tokens."""
    advantages = advantages_by_evidence(group, chat)[member]
    transcript = group.episodes[member].transcript
    rows = zip(transcript.token_ids, transcript.loss_mask, advantages, strict=True)
    assert all(a == 0 for _, mask, a in rows if not mask)
    return [
        (chat.decode([i]), a)
        for i, m, a in zip(transcript.token_ids, transcript.loss_mask, advantages, strict=True)
        if m
    ]


def group_of(*episodes: Any) -> RolloutGroup:
    made = RolloutGroup(0, episodes[0].task, list(episodes))
    made.rewards = made.rewarded(SUM)
    return made


def same_dinner(days: list[dict[str, Any]]) -> None:
    days[1]["dinner"] = days[1]["lunch"]


def test_a_repeated_meal_is_charged_to_that_meal_of_that_day(played, chat):
    good, bad = played(), played(same_dinner)
    assert good.verdict.final
    assert bad.verdict.group("commonsense").facts["is_valid_restaurants"].passed is False
    tokens = credited(group_of(good, bad), chat, 1)
    text, charged, at = "".join(t for t, _ in tokens), [], 0
    for piece, advantage in tokens:
        if advantage < 0:
            charged.append(at)
        at += len(piece)
    answer = text[text.index("<answer>") :]
    start = text.index("<answer>") + answer.index('"days":2')
    day = text[start : text.index('"days":3')]
    dinner = start + day.index('"dinner"')
    inside = [c for c in charged if c >= text.index("<answer>") + len("<answer>[{")]
    # structure ("days":2, keys before the first value) has no field and carries the whole; values
    # of other fields carry nothing
    values = {c for c in inside if dinner <= c < text.index('"days":3')}
    assert values, "the repeated dinner is charged"
    accommodation = text.index('"accommodation":"', dinner - len(day)) + len('"accommodation":"')
    assert not any(accommodation <= c < accommodation + 5 for c in charged)
    lunch = start + day.index('"lunch":"') + len('"lunch":"')
    assert not any(lunch <= c < lunch + 4 for c in charged)


def test_a_passing_member_is_credited_where_the_constraint_looks(played, chat):
    tokens = credited(group_of(played(), played(same_dinner)), chat, 0)
    text, at, of = "".join(t for t, _ in tokens), 0, {}
    for piece, advantage in tokens:
        of.update(dict.fromkeys(range(at, at + len(piece)), advantage))
        at += len(piece)
    answer = text.index("<answer>")
    for field in ("breakfast", "lunch", "dinner"):
        assert of[
            text.index(f'"{field}":"', text.index('"days":2', answer)) + len(f'"{field}":"') + 1
        ] == pytest.approx(2**-0.5)
    assert of[text.index('"accommodation":"', answer) + len('"accommodation":"') + 1] == 0
    note = text.index("Dinner: ")
    assert of[note + len("Dinner: (C) ")] == pytest.approx(2**-0.5)  # where the choice was made
    assert of[text.index("Stay: ") + len("Stay: (C) ")] == 0


def test_who_delivers_nothing_is_charged_everywhere_and_agreement_teaches_nothing(played, chat):
    nothing = played(lambda days: days.clear())
    assert not nothing.verdict.readable
    against = credited(group_of(played(), nothing), chat, 1)
    assert {round(a, 4) for _, a in against} == {round(-(2**-0.5), 4)}
    assert {a for _, a in credited(group_of(played(), played()), chat, 0)} == {0.0}


def test_unscored_members_are_left_out(played, chat):
    lost = replace(played(), verdict=None)
    made = advantages_by_evidence(group_of(played(), lost, played(same_dinner)), chat)
    assert made[1] is None and any(made[0] or []) and any(made[2] or [])


def test_an_answer_that_is_no_json_has_no_places(task, chat):
    session = open_session(task, dialect_named("compact"), chat)
    session.say("<answer>Stay home.</answer>")
    assert places_of(session.transcript) == [[], [], []]
