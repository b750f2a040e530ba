"""Conversations without tools: the whole text of a turn is the answer, and the user goes on after
it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import pytest

from tripwright.agent.chat import ChatFormat
from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session, Turn
from tripwright.agent.turn import WHOLE_TEXT, Answer, read_turn
from tripwright.transcript import StopReason, Transcript


class NoTools:
    schemas: list[dict[str, Any]] = []


ASKED = Conversation("Where to?", ("When?", "Why?"), {"language": "English"})


def opened(
    chat: ChatFormat | None = None,
    query: Conversation = ASKED,
    id: str | None = None,
    **limits: Any,
) -> Session:
    dialect = Dialect(
        "text",
        "",
        face="none",
        plan_format="text",
        tools_in_prompt=False,
        turns=WHOLE_TEXT,
        **limits,
    )
    return Session(query, NoTools(), dialect, chat, id=id)


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(segment.role, segment.text) for segment in transcript.segments]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  Rome.\n",
        "<think>Rome?</think> Rome",
        '<tool_call>{"name": "x"}</tool_call>',
        "<answer>a</answer> b",
    ],
)
def test_the_whole_text_is_the_answer(text: str) -> None:
    assert read_turn(text, WHOLE_TEXT) == Answer(text)


def test_the_user_goes_on_after_each_answer() -> None:
    session = opened()
    for number, answer in enumerate(("To Rome.", "In May.", "Why not?"), 1):
        assert not session.done
        session.take(Turn(answer))
        assert session.transcript.turns == number
    assert said(session.transcript) == [
        ("user", "Where to?"),
        ("assistant", "To Rome."),
        ("user", "When?"),
        ("assistant", "In May."),
        ("user", "Why?"),
        ("assistant", "Why not?"),
    ]
    assert (session.transcript.stop_reason, session.transcript.answer) == (
        StopReason.ANSWER,
        "Why not?",
    )


def test_the_fields_are_for_the_record_alone() -> None:
    assert ASKED.record() == {
        "query": "Where to?",
        "further": ["When?", "Why?"],
        "language": "English",
    }
    assert Conversation("Where to?").record() == {"query": "Where to?"}


def test_an_answer_that_a_limit_cut_is_an_answer() -> None:
    session = opened(query=Conversation("Where to?"))
    session.take(Turn("To Rome and", cut=True))
    assert (session.transcript.stop_reason, session.transcript.answer) == (
        StopReason.MAX_TURN_TOKENS,
        "To Rome and",
    )
    session = opened()
    session.take(Turn("To Rome and", cut=True))
    assert not session.done and said(session.transcript)[-1] == ("user", "When?")


def test_turns_are_limited() -> None:
    session = opened(max_turns=1)
    session.take(Turn("To Rome."))
    assert session.transcript.stop_reason is StopReason.MAX_TURNS


def ids_of(chat: ChatFormat, answers: Sequence[tuple[str, bool]]) -> tuple[Session, list[int]]:
    """A session with these answers (text, whether it was cut), and all ids as a policy was handed
    them."""
    session = opened(chat)
    seen = list(session.transcript.token_ids)
    for text, cut in answers:
        ids = chat.encode(text) if cut else chat.said(text)
        seen += [*ids, *session.take(Turn(text, ids, cut=cut))]
    return session, seen


def test_tokens_of_a_conversation_are_those_of_the_template(chat: ChatFormat) -> None:
    answers = ("To Rome.", "In May.", "Why not?")
    session, seen = ids_of(chat, [(text, False) for text in answers])
    assert seen == session.transcript.token_ids and session.length == len(seen)
    messages = [{"role": "user", "content": "Where to?"}]
    for answer, more in zip(answers, ("When?", "Why?"), strict=False):
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": more}]
    whole = chat.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert chat.decode(seen) == whole + "Why not?" + chat.stop_token
    assert sum(session.transcript.loss_mask) == sum(len(chat.said(text)) for text in answers)


def test_a_cut_turn_gets_the_stop_token_that_it_lacks_untrained(chat: ChatFormat) -> None:
    session, seen = ids_of(chat, [("To Rome", True)])
    whole, _ = ids_of(chat, [("To Rome", False)])
    assert seen == whole.transcript.token_ids
    assert sum(session.transcript.loss_mask) == sum(whole.transcript.loss_mask) - 1


def test_a_full_context_ends_a_conversation(chat: ChatFormat) -> None:
    first = opened(chat)
    session = opened(chat, context_tokens=first.length + 4)
    session.take(Turn("To Rome.", chat.said("To Rome.")))
    assert (
        session.transcript.stop_reason is StopReason.CONTEXT_OVERFLOW
        and session.transcript.answer == "To Rome."
    )


def test_a_fork_knows_what_the_user_will_say(chat: ChatFormat) -> None:
    session = opened(chat)
    session.take(Turn("To Rome.", chat.said("To Rome.")))
    fork = opened(chat)
    fork.continue_from(session)
    for answer in ("In May.", "Why not?"):
        fork.take(Turn(answer, chat.said(answer)))
    assert fork.transcript.stop_reason is StopReason.ANSWER
    assert said(session.transcript)[-1] == ("user", "When?")


def test_a_local_model_holds_conversations_side_by_side(talker: Any, chat: ChatFormat) -> None:
    """Of several turns, cut ones among them, over one cache: each as when it is played alone, and
    continued token by token."""
    local = importlib.import_module("tripwright.inference.local")  # torch

    def played(conversations: Sequence[Conversation], rows: int) -> dict[str, Transcript]:
        policy = local.LocalPolicy(talker, chat, local.Sampling(temperature=1.0, rows=rows, seed=3))
        sessions = [
            opened(chat, query, id=query.query, max_turn_tokens=5, context_tokens=300)
            for query in conversations
        ]
        return {str(session.id): session.transcript for session in policy.play(sessions)}

    conversations = [
        Conversation(f"{number}?", ("When?", "Why?")[: number % 3]) for number in range(5)
    ]
    together = played(conversations, rows=3)
    assert {query.query: together[query.query].turns for query in conversations} == {
        "0?": 1,
        "1?": 2,
        "2?": 3,
        "3?": 1,
        "4?": 2,
    }
    cut = [
        segment
        for transcript in together.values()
        for segment in transcript.segments
        if segment.token_ids[-1:] != [chat.stop_id]
    ]
    assert any(segment.role == "assistant" for segment in cut)
    for query in conversations:
        alone = played([query], rows=1)[query.query]
        assert alone.token_ids == together[query.query].token_ids and said(alone) == said(
            together[query.query]
        )
