"""Our side of `trl_step.py`, run by it in a process of its own: plays the steps of a job's folder,
one for every line on stdin."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import torch
from trl_step_peer import Job, Measured

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_named, face_named
from tripwright.domains.travelplanner.task import TripTask
from tripwright.inference import engine as inference_engine
from tripwright.inference import local
from tripwright.inference.sampling import SampledTokens
from tripwright.rewards.reward import RewardBreakdown
from tripwright.tools.answer import ToolAnswer
from tripwright.training.grpo import Grpo, GrpoSettings
from tripwright.training.losses import Clip
from tripwright.training.optim import OptimizerSettings
from tripwright.training.rollouts import RolloutGroup
from tripwright.training.trips import GeneratedTrips


class ScriptedTools:
    face = face_named("compact")

    def __init__(self, job: Job):
        self.job, self.schemas = job, job.schemas

    def call(self, name: str, arguments: Any) -> ToolAnswer:
        return ToolAnswer(self.job.texts[arguments["place"]])


class ScriptedTrips:
    """The same trips in every step; only their requests' texts are the script's."""

    per_epoch = None
    place_figures = dict

    def __init__(self, job: Job):
        self.job, self.position, self.domain = job, 0, domain_named("travelplanner")
        given = itertools.islice(GeneratedTrips(self.domain, ("nano",), 0, 8), len(job.users))
        self.trips = [
            (query.model_copy(update={"query": text}), world)
            for (query, world), text in zip(given, job.users, strict=True)
        ]

    def __next__(self) -> TripTask:
        place = self.position % len(self.trips)
        self.position += 1
        return TripTask(str(place), *self.trips[place])


def scripted_batch(job: Job) -> type[inference_engine.InferenceEngine]:
    script: dict[Any, list[int]] = {}  # of every session: the ids of its turn

    class Scripted(inference_engine.InferenceEngine):
        def _sample(
            self,
            rows: list[inference_engine.BatchRow],
            sampled: SampledTokens,
            source: inference_engine.SessionSource,
        ) -> None:
            tokens = []
            for row in rows:
                if not row.turn_ids:
                    prompt, member = map(int, str(row.session.task.id).split("/"))
                    script[row.session.task.id] = job.said(
                        prompt * job.group + member, row.session.transcript.turns
                    )
                tokens.append(script[row.session.task.id][len(row.turn_ids)])
            forced = torch.tensor(tokens)
            super()._sample(
                rows,
                SampledTokens(
                    forced,
                    sampled.distribution.gather(1, forced[:, None])[:, 0],
                    sampled.distribution,
                ),
                source,
            )

    return Scripted


class Ours(Grpo):
    def __init__(self, job: Job, measured: Measured):
        model, tokenizer = local.load_model(job.folder / "model")
        system, context = job.system, job.prompt_tokens + job.completion_tokens + 1
        dialect = Dialect(
            "script",
            system,
            face="compact",
            max_turns=job.turns + 1,
            max_calls=job.turns,
            context_tokens=context,
        )
        settings = GrpoSettings(
            prompts_per_step=len(job.users),
            group_size=job.group,
            minibatches=1,
            micro_batch_size=job.rows,
            dtype="float32",
            warm_up_steps=0,
            clip=Clip(dual=None),
            optimizer=OptimizerSettings(
                "adamw", adamw_learning_rate=job.learning_rate, betas=(0.9, 0.999)
            ),
        )
        chat = ChatFormat(tokenizer, job.schemas)
        super().__init__(
            model, chat, dialect, ScriptedTrips(job), settings, seed=0, tools=ScriptedTools(job)
        )  # type: ignore[arg-type]
        self.job, self.measured = job, measured

    def explore(self) -> list[RolloutGroup]:
        with self.measured.timed("rollouts"):
            groups = super().explore()
            for number, group in enumerate(groups):
                totals = self.job.rewards[number * self.job.group :][: self.job.group]
                group.rewards = [RewardBreakdown(total, {}) for total in totals]
        episodes = [episode.transcript for group in groups for episode in group.episodes]
        self.measured.played = [(list(t.token_ids), list(t.loss_mask)) for t in episodes]
        return groups


def play_ours(folder: Path) -> None:
    job = Job(folder)
    torch.set_num_threads(job.threads)
    local.InferenceEngine = scripted_batch(job)  # type: ignore[misc]
    measured = Measured(job)
    ours = Ours(job, measured)
    for _ in range(job.steps):
        with measured.whole_step():
            row = ours.take_step()
            measured.figures["grad_norm"] = row["grad_norm"]
            measured.tokens.update(
                {
                    name: row[name]
                    for name in ("prefilled_tokens", "decoded_tokens", "copied_tokens")
                }
            )


if __name__ == "__main__":
    play_ours(Path(sys.argv[1]))
