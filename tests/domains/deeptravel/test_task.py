"""DeepTravel's kind of episode: live tools in, an answer judged by the transcript, a verdict of the
same shape as any other."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.deeptravel.expert.play import ErrandExpert
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.rewards import SUCCESS, SUM
from tripwright.domains.deeptravel.task import NO_CALL, Errand, figures, unjudged
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.domains.deeptravel.verifiers.findings import NoVerdict, TrajectoryFinding
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.episode import Episode, Session, close_session, open_session
from tripwright.evals.scoreboard import score_records
from tripwright.llm.http import ProviderFault
from tripwright.transcript import StopReason, Transcript
from tripwright.verdict import Verdict

DIALECT = dialect_named("deeptravel_cards")
NANO = 7  # of `provider`
MADE = {"count": 12, "constraints": "mixed", "weights": (4, 3, 3), "seed": 3}  # `requests`


def played(errand: Errand, emptied: bool = False) -> Session:
    return next(iter(ErrandExpert().play([open_session(errand, DIALECT, emptied_tools=emptied)])))


def answered_with(errand: Errand, change: tuple[str, str]) -> Episode:
    """The expert's episode with something else in its answer."""
    session = played(errand)
    answer = session.transcript.answer
    assert answer is not None and change[0] in answer
    session.transcript.answer = answer.replace(*change)
    return close_session(session)


def test_the_expert_is_worth_everything_at_every_stage(provider, requests):
    for number, request in enumerate(requests):
        episode = close_session(played(Errand(f"e{number}", request, provider, "nano")))
        assert episode.verdict is not None and episode.verdict.final, request.query
        assert (SUCCESS(episode).total, SUM(episode).total) == (1.0, 5.0)


def test_a_line_of_a_run_says_all_that_its_score_needs(provider, requests):
    lines = [
        json.loads(json.dumps(close_session(played(Errand(f"e{n}", r, provider, "nano"))).record()))
        for n, r in enumerate(requests)
    ]
    assert TravelRequest.model_validate(lines[0]["request"]) == requests[0]
    verdict = Verdict.from_record(lines[0]["verdict"])
    assert verdict.readable
    assert verdict.final
    assert [group.name for group in verdict.groups] == ["format", "trajectory", "turns"]
    score = score_records(lines, "verified by rules", {})
    assert score["metrics"]["final"]["k"] == len(requests)
    assert score["metrics"]["turns_micro"]["value"] == 1.0
    tools = {"flight_search", "train_search", "hotel_search", "poi_search", "route_planning"}
    counted = {name for name, found in score["constraints"].items() if found["n"]}
    assert counted <= tools | set(verdict.group("trajectory").asked)


def stay_of(request: TravelRequest) -> bool:
    return request.return_date is not None


def test_an_incomplete_trip_does_not_count_as_passed_where_every_turn_is_judged(provider, requests):
    """Its turns are all satisfied, and its trajectory is not: the rate of a step says so."""
    request = next(each for each in requests if each.return_date)
    session = played(Errand("e", request, provider, "nano", every_turn=True))
    answer = json.loads(session.transcript.answer or "")
    session.transcript.answer = json.dumps({**answer, "return": []})
    episode = close_session(session)
    assert episode.verdict is not None and episode.verdict.group("turns").facts is not None
    assert figures([episode])["trajectory_pass_rate"] == 0.0


def test_a_wrong_price_fails_the_turn_of_its_tool(provider, requests):
    errand = Errand("e", next(filter(stay_of, requests)), provider, "nano")
    episode = answered_with(errand, ('"price":{"amount":', '"price":{"amount":1'))
    assert episode.verdict is not None and not episode.verdict.final
    assert episode.verdict.group("trajectory").passed
    facts = (episode.verdict.group("turns").facts or {}).values()
    assert any("price.amount" in str(each.field) for fact in facts for each in fact.evidence or ())
    assert SUCCESS(episode).total == 0.0 < SUM(episode).total < 5.0


def test_an_answer_outside_the_contract_is_judged_no_further(provider, requests):
    episode = answered_with(Errand("e", requests[0], provider, "nano"), ('"party":', '"people":'))
    assert episode.verdict is not None and not episode.verdict.readable
    assert "'party'" in (episode.verdict.schema_problem or "")
    assert episode.verdict.group("trajectory").facts is None
    assert SUM(episode).total == 0.0


def test_rules_leave_prose_unscored_and_say_so(provider, requests):
    """Free Markdown needs a judge that reads: no reward, and no 0 either."""
    prose = dialect_named("deeptravel")
    session = open_session(Errand("e", requests[0], provider, "nano"), prose)
    episode = close_session(next(iter(ErrandExpert().play([session]))))
    assert episode.verdict is None and "only an LLM judge" in (episode.transcript.fault or "")
    assert unjudged(prose, None) and unjudged(DIALECT, None) is None


def test_an_answer_without_any_call_rests_on_nothing(provider, requests):
    session = open_session(Errand("e", requests[0], provider, "nano"), DIALECT)
    session.say("<answer>Just go.</answer>")
    episode = close_session(session)
    assert episode.asked["turns"] == (NO_CALL,)
    assert episode.verdict is not None and not episode.verdict.final
    assert SUM(episode).total < 5.0 and SUCCESS(episode).total == 0.0


class Broken(RuleVerifier):
    name = "broken"

    def __init__(self, fault: Exception):
        self.fault = fault

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        raise self.fault


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (NoVerdict("the judge is down"), "the judge is down"),
        (ValueError("no float: 'a'"), "verifier broken failed: ValueError: no float: 'a'"),
    ],
)
def test_a_verifier_that_fails_leaves_the_episode_unscored(fault, said, provider, requests):
    errand = Errand("e", requests[0], provider, "nano", verifier=Broken(fault))
    episode = close_session(played(errand))
    assert episode.verdict is None and not episode.scored
    assert episode.transcript.stop_reason is StopReason.UNSCORED
    assert episode.transcript.fault == said
    assert json.loads(json.dumps(episode.record()))["verdict"] is None


class Down:
    """A vendor that is down today."""

    name, version, tools = "down", "1", frozenset(("flight_search", "train_search"))

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        raise ProviderFault("server_error", "down answered 503")


@pytest.mark.parametrize(("on_fault", "stop"), [("stop", StopReason.UNSCORED), ("tell", None)])
def test_a_vendor_that_fails(on_fault, stop, requests):
    """Law 4: in training the episode is unscored; in serving the model is told."""
    session = open_session(Errand("e", requests[0], Down(), "down", on_fault=on_fault), DIALECT)
    call = {"depart_city_name": "A", "arrival_city_name": "B", "depart_date": "2022-03-01"}
    said = json.dumps({"name": "flight_search", "arguments": call})
    session.say(f"<think>a way</think><tool_call>{said}</tool_call>")
    assert session.transcript.stop_reason is stop
    if stop is None:
        assert session.transcript.calls[0].error
        assert "cannot be answered now" in session.transcript.calls[0].result
    else:
        episode = close_session(session)
        assert episode.verdict is None
        score = score_records([json.loads(json.dumps(episode.record()))], "verified by rules", {})
        assert (score["n"], score["unscored"]) == (0, 1)
        worst = score["worst_case"]
        assert (worst["final"]["k"], worst["final"]["n"]) == (0, 1)
        assert worst["trajectory_macro"]["value"] == worst["turns_macro"]["value"] == 0.0


def test_only_what_must_pass_is_a_fact(provider, requests):
    """A backup plan counts where an answer without one does not pass."""
    errand = Errand("e", requests[0], provider, "nano")
    assert "backup_plan" not in errand.asked(Transcript())["trajectory"]
    strict = replace(errand, passing=("very_satisfied",))
    assert "backup_plan" in strict.asked(Transcript())["trajectory"]
    assert strict.renamed("f").id == "f" and strict.renamed("f").passing == ("very_satisfied",)
