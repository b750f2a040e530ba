"""An LLM judge's votes, their cost, and the log that keeps anything from being paid for twice."""

import pytest

from tests.domains.deeptravel.verifiers import judge_server as said
from tripwright.domains.deeptravel.verifiers.findings import NoVerdict
from tripwright.domains.deeptravel.verifiers.judge import LlmJudge, load_rubrics
from tripwright.errors import UserError
from tripwright.llm.endpoint import map_unordered
from tripwright.llm.paid_calls import JudgementLog, Prices


@pytest.mark.parametrize(
    ("votes", "conclusion", "agreed"),
    [
        (["GOOD", "BAD", "GOOD"], "very_satisfied", 2 / 3),
        (["GOOD", "BAD"], "dissatisfied_logic", 1 / 2),
        (["GOOD", "WORSE", "BAD", "GOOD"], "dissatisfied_logic", 1 / 4),
        (["BAD", "BAD", "WORSE", "GOOD", "BAD"], "dissatisfied_logic", 3 / 5),
    ],
)
def test_a_judge_that_disagrees_with_itself(judge, tmp_path, votes, conclusion, agreed):
    judge.replies = [getattr(said, vote) for vote in votes]
    with JudgementLog(tmp_path / "judgements.jsonl", Prices(2.0, 8.0)) as log:
        verifier = LlmJudge(judge.endpoint(), votes=len(votes), log=log)
        found = verifier.trajectory(said.REQUEST, said.episode())
    assert found.conclusion == conclusion
    # 1,000 prompt tokens at 2 USD and 100 completion tokens at 8 USD per million are 0.0028 USD.
    told = verifier.account()
    assert told["usd"] == pytest.approx(0.0028 * len(votes)) and told["agreement"] == agreed
    assert told["prompt_tokens"] == 1000 * len(votes) and told["seconds"] > 0
    assert told["votes_asked"] == len(said.lines(tmp_path)) == len(votes) and not told["unanimous"]


def test_tokens_that_a_server_does_not_count_are_counted_by_us(judge):
    judge.replies = [said.chat(said.judgement(), usage={})]
    verifier = LlmJudge(judge.endpoint())
    verifier.trajectory(said.REQUEST, said.episode())
    account = verifier.account()
    assert account["replies_without_count"] == 1 and account["prompt_tokens"] > 100


def test_nothing_is_paid_for_twice(judge, tmp_path):
    path = tmp_path / "judgements.jsonl"
    judge.replies = [said.GOOD, said.BAD, said.LIMITED, said.LIMITED, said.GOOD]
    with JudgementLog(path) as log, pytest.raises(NoVerdict):
        LlmJudge(judge.endpoint(), votes=3, log=log).trajectory(said.REQUEST, said.episode())
    path.write_text(path.read_text() + '{"key": "torn')  # as a kill leaves it
    asked = len(judge.requests)
    with JudgementLog(path) as log:
        verifier = LlmJudge(judge.endpoint(), votes=3, log=log)
        assert verifier.trajectory(said.REQUEST, said.episode()).conclusion == "very_satisfied"
        assert len(judge.requests) == asked + 1, "only the vote that was missing"
        account = verifier.account()
        assert (account["votes_asked"], account["votes_reused"]) == (1, 2)
        verifier.trajectory(said.REQUEST, said.episode())
    assert len(judge.requests) == asked + 1
    # another question, another answer, other settings: nothing is taken over
    with JudgementLog(path) as log:
        LlmJudge(judge.endpoint(), log=log).trajectory(said.REQUEST, said.episode("another answer"))
        LlmJudge(judge.endpoint(temperature=0.5), log=log).trajectory(said.REQUEST, said.episode())
        LlmJudge(
            judge.endpoint(), load_rubrics().model_copy(update={"tools": ""}), log=log
        ).trajectory(said.REQUEST, said.episode())
    assert len(judge.requests) == asked + 4


def test_more_votes_ask_for_what_is_missing_and_fewer_for_nothing(judge, tmp_path):
    judge.replies = [said.GOOD, said.BAD, said.BAD]
    conclusions = []
    with JudgementLog(tmp_path / "judgements.jsonl") as log:
        for votes, asked, reused in ((1, 1, 0), (3, 2, 1), (1, 0, 1)):
            verifier = LlmJudge(judge.endpoint(), votes=votes, log=log)
            conclusions.append(verifier.trajectory(said.REQUEST, said.episode()).conclusion)
            account = verifier.account()
            assert (account["votes_asked"], account["votes_reused"]) == (asked, reused)
    assert conclusions == ["very_satisfied", "dissatisfied_logic", "very_satisfied"]


def test_threads_that_ask_the_same_pay_once(judge):
    verifier = LlmJudge(judge.endpoint())
    found = list(
        map_unordered(
            lambda _: verifier.trajectory(said.REQUEST, said.episode()).passes(), range(12), 6
        )
    )
    assert found == [True] * 12 and len(judge.requests) == 1


def test_a_log_is_one_process_at_a_time_and_never_overwritten(tmp_path):
    path = tmp_path / "judgements.jsonl"
    with JudgementLog(path), pytest.raises(UserError, match="is in use"):
        JudgementLog(path)
    path.write_text('{"id": 1, "transcript": {}}\n')
    with pytest.raises(UserError, match="judgements.jsonl:1: not a judgement"):
        JudgementLog(path)
    assert path.read_text() == '{"id": 1, "transcript": {}}\n'
