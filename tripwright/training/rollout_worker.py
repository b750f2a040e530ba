"""Playing groups of episodes with the model that is trained: tasks in, rewarded groups out. What is
learned from them is not said here.

Episodes are played by our engine, or by a server (`ServedPolicy`): token ids in and out (law 5),
its weights sent before every step that changed them, its log-probabilities held to the trainer's.
An episode has a thread of its own there, for its tools as for its requests. A request's seed
depends on the recipe's seed, the episode's id and how far the episode is, so nothing has a state to
lose. A user's own agent program may play it, which knows chat completions alone: its transcript is
what `tripwright serve model` kept of the session.

    play → the server sleeps, its log-probabilities are checked → update
         → weights wake → weights are sent → the KV cache wakes → a proof → play         (row P11)

The proof after a load: on one fixed prompt the server must say what the trainer says. It shows a
tensor that stayed behind only where that one's values changed, and a server is often started with
the very weights that training begins with. So what is sent first of all is a trial: the same model
with its tokens and its hidden units in another order (`reordered`), of which the trainer knows what
it must say.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import quote

import torch
from safetensors.torch import save_file

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import calls_of
from tripwright.episode import Session, Task, Turn, closed, open_session
from tripwright.errors import UserError
from tripwright.files import whole_folder, written_by_library
from tripwright.inference.branching import Branching
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.models import merged_state, precision_named
from tripwright.inference.sampling import NO_TOP_K
from tripwright.inference.service import turn_name
from tripwright.llm.endpoint import Breaker, Fault, Reply
from tripwright.policies.base import play_in_threads
from tripwright.rewards.reward import Reward
from tripwright.rewards.spec import imported
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import Tools, answered
from tripwright.training.batches import logprobs_after, sampler_gap
from tripwright.training.rollouts import RolloutGroup, RolloutSettings
from tripwright.training.served import (
    PROOF_TOKENS,
    SglangServer,
    TokenRequest,
    Tokens,
    VllmServer,
    proof_gap,
    proof_prompt,
    token_server,
)
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript

MOST_LOST = 0.25  # of a play's episodes: a server that loses more of them is not at work


class EnginePolicy(LocalPolicy):
    """Our engine, which reads the weights that the trainer has."""

    def begin_step(self) -> None:
        """The weights may have changed."""

    def end_play(self, groups: Sequence[RolloutGroup]) -> None:
        """What was played has its rewards; the update comes next."""

    @property
    def last_play(self) -> dict[str, Any]:
        """What there is to say of it beside `figures`, which a step's plays add up to."""
        return {"rows_per_pass": self.figures["rows_per_pass"]}


class TokenSampler(Protocol):
    """What goes on after token ids: a server of `served`, or one within verl."""

    name: str

    def sample(self, request: TokenRequest) -> Reply[Tokens] | Fault: ...


class TokenPolicy:
    """Plays with whatever model `server` has: `sampling.rows` episodes at once, each in a thread.
    `figures` counts `requests`, `retries`, tokens sampled (`decoded_tokens`), read of prompts and
    tool answers (`prefilled_tokens`), and found in the server's cache (`copied_tokens`)."""

    def __init__(self, server: TokenSampler, chat: ChatFormat, sampling: Sampling):
        self.server, self.chat, self.sampling, self.name = server, chat, sampling, server.name
        self.figures, self._lost = Counter[str](), list[str]()

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """As they end. Raises UserError where the server loses too many of them."""
        self.figures, self._lost, count = Counter(), [], 0
        for session in play_in_threads(sessions, self.sampling.rows, self._take_turn):
            count += 1
            yield session
        if len(self._lost) > MOST_LOST * count:
            raise UserError(
                f"{self.name} lost {len(self._lost)} of {count} episodes: {self._lost[0]} Start it"
                " again, then give the same command."
            )

    def _take_turn(self, session: Session, breaker: Breaker) -> None:
        """Asks until the turn ends: a server may end at another token than the turn's, and the
        turn goes on from there."""
        context, budget, stop_id = session.context, session.turn_budget, self.chat.stop_id
        how, ids, logprobs = self.sampling, list[int](), list[float]()
        while len(ids) < budget and stop_id not in ids[-1:]:
            if breaker.is_open:
                return self._lose(session, breaker.why)
            said = session.transcript.agent_tokens + len(ids)
            name = turn_name(how.seed, session.task.id, said)
            seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest()) >> 1
            prompt, left, tail = context + ids, budget - len(ids), (how.top_p, how.top_k or -1)
            request = TokenRequest(name, prompt, left, stop_id, how.temperature, seed, *tail)
            outcome = self.server.sample(request)
            breaker.note(outcome)
            if isinstance(outcome, Fault):
                if outcome.kind in ("rejected", "context_overflow"):
                    raise UserError(
                        f"{outcome.message} (prompt {len(prompt):,} tokens, turn {budget:,})"
                    )
                return self._lose(session, f"{outcome.kind}: {outcome.message}")
            tokens = outcome.value
            if not tokens.ids:  # SGLang leaves the window's last token free
                full = session.turn_budget <= 1
                return session.overflow() if full else self._lose(session, "it gave no token")
            self._hold_to_version(tokens.version)
            ids, logprobs = ids + tokens.ids, logprobs + tokens.logprobs
            self.figures.update(
                requests=1,
                retries=outcome.attempts - 1,
                decoded_tokens=len(tokens.ids),
                copied_tokens=tokens.cached_tokens,
                prefilled_tokens=tokens.prompt_tokens - tokens.cached_tokens,
            )
        cut = ids[-1] != stop_id
        session.take(Turn(self.chat.decode(ids if cut else ids[:-1]), ids, logprobs, cut))

    def _lose(self, session: Session, why: str) -> None:
        self._lost.append(why)
        session.fail(why)

    def _hold_to_version(self, version: str | None) -> None:
        """Nothing is known of the weights' versions."""


class ServedPolicy(TokenPolicy):
    """The trained model on a server. Its weights go through a folder that is this run's alone.

    `last_play` has `server`: seconds and memory of its stages, in their order;
    `sampler_gap` and `sampler_gap_max`: how far its log-probabilities were from the trainer's, in
    nats; `proof_gap`: the same on the fixed prompt, after the last load.
    """

    server: VllmServer | SglangServer

    def __init__(self, model: Any, chat: ChatFormat, settings: RolloutSettings, seed: int):
        assert settings.server is not None
        self.how, self.model, self.settings = settings.server, model, settings
        server = token_server(self.how, model.config.vocab_size)
        super().__init__(server, chat, Sampling(settings.temperature, seed=seed))
        self.decoder = Decoder(model)
        self.folder = Path(self.how.weights).absolute()
        self.run = uuid.uuid4().hex[:8]  # a server may still have the weights of a former start
        self.sent = 0
        self.stale = True
        self.asleep: bool | None = None  # not known before the first play
        self.last_play = dict[str, Any]()

    @property
    def version(self) -> str:
        return f"weights-{self.run}-{self.sent}"

    def begin_step(self) -> None:
        self.stale = True

    # ---- playing

    def play_groups(
        self, groups: Iterable[Sequence[Session]], branching: Branching | None = None
    ) -> Iterator[Session]:
        """Every session of every group, as they end. Raises UserError where the server loses too
        many of them, or has other weights than it was sent."""
        assert branching is None  # recipes are checked for it
        self.last_play = {"server": {}}
        self._refresh()
        sessions = list(itertools.chain.from_iterable(groups))
        at_once = min(self.settings.max_concurrent_rollouts or len(sessions), len(sessions))
        self.sampling = replace(self.sampling, rows=max(1, at_once))
        yield from self.play(sessions)

    def _take_turn(self, session: Session, breaker: Breaker) -> None:
        play = self._play_agent if self.how.agent else super()._take_turn
        play(session, breaker)

    def _play_agent(self, session: Session, breaker: Breaker) -> None:
        """A whole episode. A program that fails is our side's fault (law 4)."""
        name, calls = f"{self.sampling.seed} id {session.task.id}", list[ToolCall]()
        where = f"/sessions/{quote(name, safe='')}"

        def call(name: str, arguments: dict[str, Any]) -> str:
            answer = answered(session.tools, name, arguments)
            text = self.chat.tool_answer(answer.text, session.dialect.max_tool_tokens).text
            said = (answer.text, answer.error, answer.fault, answer.rows(text))
            calls.append(ToolCall(name, arguments, *said))
            return text

        before = self.server.control(where, method="DELETE")  # of a run that was killed
        model = self.server.model()
        try:
            answer = imported(str(self.how.agent), "Function")(
                messages=[{"role": s.role, "content": s.text} for s in session.transcript.segments],
                tools=session.tools.schemas,
                call=call,
                base_url=f"{self.how.url.rstrip('/')}{where}/v1",
                model=model,
            )
        except Exception as error:  # whatever the user's own code does
            return self._lose(session, f"{self.how.agent} raised {type(error).__name__}: {error}")
        kept = self.server.control(where, method="DELETE")
        found, full = kept["sequences"], kept["forgotten"] > before["forgotten"]
        if full and not (found and not any(turn["assistant_read"] for turn in found[0])):
            return self._lose(session, "the server's memory is full: it forgot turns of this one")
        if not found:
            return self._lose(session, f"{self.how.agent} asked the model nothing.")
        turns, plain = found[0], (self.settings.temperature, 1.0, NO_TOP_K)
        how = {(turn["temperature"], turn["top_p"], turn["top_k"]) for turn in turns}
        if len(found) > 1 or how != {plain}:
            raise UserError(
                f"{self.how.agent} cannot be learned from: of one conversation that only grows,"
                f" sampled at temperature {plain[0]:g} from the whole distribution."
            )
        segments = list[Segment]()
        for turn in turns:
            self._hold_to_version(turn["weight_version"])
            read, said = turn["prompt_token_ids"], turn["token_ids"]
            zeros = [0] * len(read), [0.0] * len(read)
            role: Literal["tool", "system"] = "tool" if segments else "system"
            segments.append(Segment(role, self.chat.decode(read), read, *zeros))
            if role == "system":
                segments.append(Segment("user", session.task.request.query))
            words = self.chat.decode(said[:-1] if said[-1] == self.chat.stop_id else said)
            made = [calls.pop(0) for _ in calls_of(words)[1] if calls]
            spoken = Segment("assistant", words, said, [1] * len(said), turn["logprobs"])
            spoken.call = made[0] if made else None
            segments.append(spoken)
            segments += [Segment("tool", one.result, call=one) for one in made[1:]]
            self.figures.update(requests=1, decoded_tokens=len(said), prefilled_tokens=len(read))
        segments += [Segment("tool", one.result, call=one) for one in calls]
        ended = StopReason.FORMAT_ERROR if answer is None else StopReason.ANSWER
        if turns[-1]["finish_reason"] == "length":
            ended = StopReason.MAX_TURN_TOKENS
        session.transcript = Transcript(segments, ended, answer)

    # ---- weights

    def _refresh(self) -> None:
        """Before a play: the server awake, with the trainer's weights."""
        if self.asleep is None:
            self.asleep = self.server.open()
            if unknown := self.server.unknown():
                print(f"\n{unknown}", file=sys.stderr)
            self._stage("trial", lambda: self._send(1))
        if self.stale or self.asleep:
            self.sent += self.stale
            self._send(0)
            self.stale = False

    def _send(self, shift: int) -> None:
        """The trainer's weights, as they are where `shift` is 0, else reordered for a trial; and
        the proof that they arrived."""
        if self.stale:
            self._stage("write", lambda: self._write(shift))
        if self.asleep:
            if self.decoder.device.type == "cuda":  # torch keeps what an update has freed
                torch.cuda.empty_cache()
            self._stage("wake_weights", lambda: self.server.wake("weights"))
        folder = self.folder / self.version
        self._stage("load_weights", lambda: self.server.load_weights(folder, self.version))
        if self.asleep:
            self._stage("wake_kv_cache", lambda: self.server.wake("kv_cache"))
        self.server.forget()
        self.asleep = False
        self._hold_to_version(self.server.version())
        self._stage("proof", lambda: self._prove(shift))

    def _write(self, shift: int) -> None:
        """The folder before this one goes."""
        for former in self.folder.glob("weights-*"):
            shutil.rmtree(former)
        weights = plain_weights(self.model, precision_named(self.settings.dtype))
        if shift:
            reordered(weights, shift)
        config = copy.deepcopy(self.model.config)
        config.tie_word_embeddings = False
        with whole_folder(self.folder / self.version) as partial, written_by_library(partial):
            save_file(weights, partial / "model.safetensors", metadata={"format": "pt"})
            config.save_pretrained(partial)

    def _prove(self, shift: int) -> None:
        """Raises UserError where the server does not say what the weights that it was sent say."""
        gap, most = self._gap(proof_prompt(self.server.vocabulary), shift), self.how.max_gap
        self.last_play["proof_gap"] = gap
        if gap <= most:
            return
        never_asked = proof_prompt(self.server.vocabulary, first=6 + int(self.run, 16))
        if self._gap(never_asked, shift) <= most:
            why = (
                "Another prompt is right: it answers from a prefix cache of the weights before."
                f" Start it with {self.server.cacheless}"
            )
        else:
            stayed, untied = "", ""
            if self.model.config.tie_word_embeddings:
                stayed = "the output layer of tied embeddings that stayed as it was, "
                untied = self.server.untied
            why = (
                f"Likely: {stayed}weights of another checkpoint, another model. Start it anew as"
                f" docs/training.md says{untied}"
            )
        raise UserError(
            f"{self.server.name} was sent weights and does not have them: on a fixed prompt it and"
            f" the trainer differ by {gap:.2g} nats per token (the recipe's max_gap is {most:g})."
            f" {why}; then give the same command."
        )

    def _gap(self, prompt: list[int], shift: int) -> float:
        """What the server says after `prompt` against what the trainer says, to whom a reordered
        model's token t is t + shift."""
        name = f"proof {self.version} {prompt[0]}"
        outcome = self.server.sample(
            TokenRequest(name, prompt, PROOF_TOKENS, self.chat.stop_id, 0.0, 0)
        )
        if isinstance(outcome, Fault):
            raise UserError(outcome.message)
        said = outcome.value
        self._hold_to_version(said.version)
        ids = [[(t + shift) % self.server.vocabulary for t in part] for part in (prompt, said.ids)]
        return proof_gap(said.logprobs, logprobs_after(self.decoder, *ids, self.settings))

    def _hold_to_version(self, version: str | None) -> None:
        if version is not None and version != self.version:
            raise UserError(
                f"{self.how.kind} has weights '{version}', and was sent '{self.version}': another"
                " run uses it, or it was started anew. Stop that run, then give the same command."
            )

    def _stage(self, name: str, work: Callable[[], Any]) -> None:
        """Does it, and notes how long it took and what memory was taken then: what the server
        says, and what is free on the trainer's GPU."""
        began, stages = time.monotonic(), self.last_play["server"]
        answer = work()
        stages[f"{name}_seconds"] = round(time.monotonic() - began, 4)
        if isinstance(answer, dict) and isinstance(answer.get("memory_mb"), int | float):
            stages[f"{name}_memory_mb"] = answer["memory_mb"]
        if self.decoder.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self.decoder.device)
            stages[f"{name}_free_mb"] = free / 2**20

    # ---- after a play

    def end_play(self, groups: Sequence[RolloutGroup]) -> None:
        """The server gives its memory to the update, and what it said is compared with what the
        trainer says. Raises UserError beyond `max_gap`."""
        if self.how.sleep:
            self._stage("sleep", self.server.sleep)
            self.asleep = True
        mean, largest, tokens = sampler_gap(self.decoder, groups, self.settings)
        if tokens:
            self.last_play |= {"sampler_gap": mean, "sampler_gap_max": largest}
        if not mean <= self.how.max_gap:
            raise UserError(
                f"{self.how.kind} and the trainer differ by {mean:.3f} nats per token (of"
                f" {tokens:,}; at most {largest:.2f}); the recipe's max_gap is"
                f" {self.how.max_gap:g}. Likely: weights that were not updated, another tokenizer"
                " or model, a temperature or top-p of the server's own, log-probabilities of"
                " another distribution (vLLM: --logprobs-mode processed_logprobs)."
            )


def plain_weights(model: Any, products: torch.dtype) -> dict[str, Any]:
    """A checkpoint's tensors on the CPU, each with memory of its own, the output layer of tied
    embeddings too: an adapter merged into its base, and in the format that products are made in
    where it is the narrower one, so that both sides read the same."""
    written, weights = set[int](), dict[str, Any]()
    for name, tensor in merged_state(model).items():
        narrower = tensor.is_floating_point() and tensor.element_size() > products.itemsize
        plain = tensor.to("cpu", products if narrower else tensor.dtype).contiguous()
        weights[name] = plain.clone() if plain.data_ptr() in written else plain
        written.add(plain.data_ptr())
    return weights


ROWS_ARE_HIDDEN = {
    *("norm", "input_layernorm", "post_attention_layernorm"),
    *("o_proj", "down_proj"),
}


def reordered(weights: dict[str, Any], shift: int) -> None:
    """In place, by rolling: what token t was is t − shift, and hidden unit h is h + shift. So the
    model says the same of the renamed tokens, bit for bit but for the order of its sums, and no
    tensor is what it was but the biases and norms inside of attention."""
    for name, tensor in weights.items():
        module = name.split(".")[-2]
        if module in ("embed_tokens", "lm_head"):
            weights[name] = tensor.roll((-shift, shift), (0, 1))
        elif module in ROWS_ARE_HIDDEN:
            weights[name] = tensor.roll(shift, 0)
        elif tensor.ndim == 2:
            weights[name] = tensor.roll(shift, 1)


def sampling_policy(
    model: Any, chat: ChatFormat, settings: RolloutSettings, seed: int
) -> EnginePolicy | ServedPolicy:
    """The model as it is sampled from in training: from its whole distribution, by our engine or on
    a server."""
    if settings.server is not None:
        return ServedPolicy(model, chat, settings, seed)
    rows, threads = settings.rollouts_at_once, settings.tool_threads
    sampling = Sampling(settings.temperature, rows, seed, settings.dtype, tool_threads=threads)
    sampling.check_on_policy()
    return EnginePolicy(model, chat, sampling)


@dataclass
class RolloutWorker:
    """Plays groups with one policy under one recipe's conditions. `faults` are of the tools (row
    S9): each member of a group meets its own, or all meet the same (`shared_by_group`), so that
    their rewards differ by what they did and not by what they met."""

    policy: EnginePolicy | ServedPolicy
    dialect: Dialect
    group_size: int
    faults: Faults | None = None
    branching: Branching | None = None
    tools: Tools | None = None
    # what was computed since the step began
    engine_counts: Counter[str] = field(default_factory=Counter)

    def begin_step(self) -> None:
        self.engine_counts.clear()
        self.policy.begin_step()

    @property
    def figures(self) -> dict[str, Any]:
        """Of the step; what is no count, of its last play."""
        return {**self.engine_counts, **self.policy.last_play}

    def play(self, tasks: Sequence[tuple[int, Task]], reward: Reward) -> list[RolloutGroup]:
        """Members of a group are neighbours, so that they share their prompt's prefill; each has
        its own seed, the episode's id."""
        opened = [[self._open(task, g) for g in range(self.group_size)] for _, task in tasks]
        for _ in closed(self.policy.play_groups(opened, self.branching)):
            pass
        self.engine_counts.update(self.policy.figures)
        groups = [
            RolloutGroup(number, task, [session.episode for session in sessions])
            for (number, task), sessions in zip(tasks, opened, strict=True)
        ]
        for group in groups:
            group.rewards = group.rewarded(reward)
        self.policy.end_play(groups)
        return groups

    def _open(self, task: Task, member: int) -> Session:
        return open_session(
            task.renamed(f"{task.id}/{member}"),
            self.dialect,
            self.policy.chat,
            faults=self.faults,
            tools=self.tools,
            group=task.id,
        )
