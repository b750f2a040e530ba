"""Our episode as verl's agent loop: verl's server emits the tokens, our session does the rest, and
our judge's verdict is the reward, in the loop.

What was sampled is what is trained on: ids, mask and log-probabilities are those of the transcript
(law 5). An episode in which our side failed comes back without a reward, and the trainer leaves it
out of its group (law 4). Anything else that goes wrong is raised; verl logs it and goes on, and the
trainer, which counts, does not.
"""

from __future__ import annotations

import asyncio
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
    register,
)

from tripwright.agent.chat import ChatFormat
from tripwright.bridges.verl import NAME
from tripwright.bridges.verl.step import conditions_of, said_nothing
from tripwright.episode import Episode, Session, Turn, close_session
from tripwright.inference.service import turn_name
from tripwright.rewards.reward import RewardBreakdown


@register(NAME)
class EpisodeAgentLoop(AgentLoopBase):
    """One episode."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        run = str(Path(self.config.trainer.default_local_dir).parent)
        self.conditions = conditions_of(run)
        self.chat = _chat_of(self.tokenizer, run)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        """One output for each context in which turns were said (`Transcript.sequences`): one,
        unless the dialect cuts full contexts."""
        conditions, version = self.conditions, int(row["global_steps"]) - 1
        session = await asyncio.to_thread(
            conditions.open, int(row["trip"]), row["episode"], int(row["session_id"]), self.chat
        )
        while session.goes_on():
            version = await self._turn(session, sampling_params, version)
        episode = await asyncio.to_thread(close_session, session)
        reward = conditions.rewards[int(row["curriculum_stage"])]
        return self._outputs(episode, reward(episode) if episode.scored else None, version)

    async def _turn(self, session: Session, sampling_params: dict[str, Any], version: int) -> int:
        """Has one turn sampled and taken; the version of the weights that said it."""
        ours = {"max_tokens": session.turn_budget, "stop_token_ids": [self.chat.stop_id]}
        if self.rollout_config.name == NAME:  # our engine: the episode's own random numbers
            seed, said = self.conditions.recipe.seed, session.transcript.agent_tokens
            ours["name"] = turn_name(seed, session.task.id, said)
        output = await self.server_manager.generate(
            request_id=session.task.id,
            prompt_ids=session.context,
            sampling_params={**sampling_params, **ours},
        )
        ids = list(output.token_ids)
        if not ids:
            said_nothing(session, str(output.stop_reason))
            return version
        cut = ids[-1] != self.chat.stop_id
        text = self.chat.decode(ids if cut else ids[:-1])
        turn = Turn(text, ids, list(output.log_probs or ()), cut)
        await asyncio.to_thread(session.take, turn)
        said_by = output.extra_fields.get("global_steps")  # 0 before the first step
        return version if said_by is None else int(said_by)

    def _outputs(
        self, episode: Episode, reward: RewardBreakdown | None, version: int
    ) -> list[AgentLoopOutput]:
        transcript = episode.transcript
        prompt, logprobs = len(transcript.segments[0].token_ids), transcript.logprobs
        whole = pickle.dumps((transcript, episode.verdict, episode.more, reward))
        outputs: list[AgentLoopOutput] = []
        for sequence in transcript.sequences:
            # verl has no empty responses: a stop token outside the loss stands for one
            outputs.append(
                AgentLoopOutput(
                    prompt_ids=sequence.token_ids[:prompt],
                    response_ids=sequence.token_ids[prompt:] or [self.chat.stop_id],
                    response_mask=sequence.loss_mask[prompt:] or [0],
                    response_logprobs=[logprobs[p] for p in sequence.places[prompt:]] or [0.0],
                    reward_score=reward.total if reward is not None else 0.0,
                    num_turns=transcript.turns,
                    metrics=AgentLoopMetrics(),
                    extra_fields={
                        "reward_extra_info": {},
                        "min_global_steps": version,
                        "max_global_steps": version,
                        "episode": whole if not outputs else b"",
                    },
                )
            )
        return outputs


@lru_cache(maxsize=1)
def _chat_of(tokenizer: Any, run: str) -> ChatFormat:
    return ChatFormat(tokenizer, conditions_of(run).dialect.schemas())
