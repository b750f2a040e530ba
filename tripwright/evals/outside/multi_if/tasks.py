"""Multi-IF as tasks: a conversation is one episode, its turns graded one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect
from tripwright.agent.reasoning import without_reasoning
from tripwright.agent.turn import WHOLE_TEXT
from tripwright.evals.outside.multi_if.checkers import Checkers, CheckerUnfit
from tripwright.evals.outside.multi_if.conversations import MOST_TURNS, Dialogue
from tripwright.evals.outside.multi_if.following import followed
from tripwright.evals.outside.task import Grade, NoTools, OutsideTask
from tripwright.transcript import Transcript

IfRules = Literal["official", "robust"]
RULES: tuple[str, ...] = get_args(IfRules)


def dialect(max_tokens: int, context_tokens: int) -> Dialect:
    """No system prompt, no tools. Limits in tokens, `max_tokens` for each answer."""
    return Dialect(
        "multi_if",
        system_prompt="",
        face=NoTools.face,
        plan_format="text",
        tools_in_prompt=False,
        max_turns=MOST_TURNS,
        max_calls=0,
        max_turn_tokens=max_tokens,
        context_tokens=context_tokens,
        turns=WHOLE_TEXT,
    )


@dataclass(frozen=True)
class FollowingGrader:
    """`official` checks a response as it is, `robust` without its reasoning. What the model is
    shown of its earlier answers is whole in both. A fact is a turn of which every instruction was
    followed, strictly."""

    dialogue: Dialogue
    checkers: Checkers
    rules: IfRules

    @property
    def name(self) -> str:
        return f"multi_if {self.rules}"

    @property
    def fact_names(self) -> tuple[str, ...]:
        return tuple(
            f"turn_{number}"
            for number, turn in enumerate(self.dialogue.turns, 1)
            if turn.instructions is not None
        )

    def grade(self, transcript: Transcript) -> Grade:
        """A turn that was not reached (the context was full) has an empty response."""
        said = [segment.text for segment in transcript.segments if segment.role == "assistant"]
        if self.rules == "robust":
            said = [without_reasoning(text) for text in said]
        facts: dict[str, bool] = {}
        turns: list[dict[str, Any] | None] = []
        for number, turn in enumerate(self.dialogue.turns, 1):
            if turn.instructions is None:
                turns.append(None)
                continue
            reached = number <= len(said)
            try:
                found = followed(
                    self.checkers, turn.instructions, said[number - 1] if reached else ""
                )
            except CheckerUnfit as problem:
                return Grade({}, fault=str(problem))
            # of no instructions, all are followed
            facts[f"turn_{number}"] = reached and all(found.strict)
            turns.append({**found.record(), "reached": reached})
        return Grade(facts, {"turns": turns})


def tasks_of(
    dialogues: Sequence[Dialogue], checkers: Checkers, rules: IfRules, samples: int = 1
) -> list[OutsideTask]:
    """Ids are the file's keys, and numbers of the samples."""
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    return [
        OutsideTask(
            id=f"{dialogue.key}{end}",
            query=Conversation(
                dialogue.turns[0].prompt,
                tuple(turn.prompt for turn in dialogue.turns[1:]),
                {
                    "language": dialogue.language,
                    "instructions": [
                        None
                        if turn.instructions is None
                        else [instruction.id for instruction in turn.instructions]
                        for turn in dialogue.turns
                    ],
                },
            ),
            where="multi_if",
            grader=FollowingGrader(dialogue, checkers, rules),
            question=dialogue.key,
            level=dialogue.language,
        )
        for dialogue in dialogues
        for end in ends
    ]
