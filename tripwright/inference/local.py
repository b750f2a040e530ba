"""A local model as a policy: many sessions at once over one key-value cache (`engine`),
sampled each with its own random numbers (`sampling`). The cache lives across turns, so a turn
costs its own tokens only.

Log-probabilities are those of the whole distribution at the given temperature.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

import tripwright.inference.models as models
from tripwright.agent.chat import ChatFormat, load_tokenizer
from tripwright.episode import Session
from tripwright.errors import UserError, first_line
from tripwright.files import check_model_files, is_no_model
from tripwright.inference.branching import Branching, SessionSource, Trees
from tripwright.inference.decoder import Decoder
from tripwright.inference.engine import InferenceEngine
from tripwright.inference.sampling import Sampling

__all__ = ["LocalPolicy", "Sampling", "inspect_model", "load_model"]


class LocalPolicy:
    """Plays sessions with `model` (any of models.SUPPORTED). The sessions must have been
    opened with this model's ChatFormat.

    It has no state: the same episode, by its id, is sampled alike every time until `sampling.seed`
    changes.
    """

    def __init__(
        self, model: Any, chat: ChatFormat, sampling: Sampling | None = None, name: str = "local"
    ):
        self.name, self.chat, self.sampling = name, chat, sampling or Sampling()
        self.model = model
        self._counted = Counter[str]()

    @property
    def figures(self) -> dict[str, float]:
        """What the last play() computed, so far: `passes` of the model and how many rows took part
        in one on average (`rows_per_pass`); tokens sampled (`decoded_tokens`), read of prompts and
        tool answers (`prefilled_tokens`), and copied because another row had read them
        (`copied_tokens`); `forks`."""
        names = ("passes", "decoded_tokens", "prefilled_tokens", "copied_tokens", "forks")
        return {name: self._counted[name] for name in names} | {
            "rows_per_pass": self._counted["row_passes"] / max(1, self._counted["passes"])
        }

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """The model's weights are read as they are: train it when the last session has come."""
        return self._play(SessionSource(sessions))

    def play_groups(
        self, groups: Iterable[Sequence[Session]], branching: Branching | None = None
    ) -> Iterator[Session]:
        """Every session of every group, as they end. Sessions of a group are opened alike, under
        ids of their own. With `branching` (row S7) some of them are forks of others, which their
        transcripts say; without, this is play()."""
        if branching is None:
            return self.play(itertools.chain.from_iterable(groups))
        return self._play(Trees(groups, branching, self.model.config.vocab_size))

    @torch.inference_mode()
    def _play(self, source: SessionSource) -> Iterator[Session]:
        self._counted = Counter()
        decoder = Decoder(self._model())
        engine = InferenceEngine(decoder, self.chat, self.sampling, self._counted)
        for session in engine.play(source):
            self._counted["forks"] = source.forked
            yield session

    def _model(self) -> Any:
        """The model in the precision asked for: itself, where that is its own. An adapter is read
        in its own, as in training."""
        own = models.base_parameters(self.model)
        precision = models.precision_named(self.sampling.dtype, own[0])
        if all(parameter.dtype == precision for parameter in own):
            return self.model
        model = copy.deepcopy(self.model)
        models.convert_weights(model, precision)
        return model


def load_to_sample(folder: str | Path, device: str, dtype: str) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint folder, or of a name that `from_pretrained` can find, by
    the names of a device and of the format that it is sampled in."""
    where = models.device_named(device)
    return load_model(folder, where, models.precision_named(dtype, torch.empty(0, device=where)))


def load_model(
    folder: str | Path,
    device: torch.device | str = "cpu",
    weights: torch.dtype | None = None,
) -> tuple[Any, Any]:
    """(model, tokenizer) by `from_pretrained`, on `device`, with `weights` in this format or in the
    checkpoint's own; of an adapter's folder the base with the adapter beside it. A stranger's
    folder runs nothing: weights are safetensors and no pickles, code that it brings is left alone,
    and of attention there is torch's own, since a config may name a kernel to be downloaded."""
    config, tokenizer = inspect_model(folder)
    if models.is_adapter(folder):
        model, _ = load_model(models.base_of(folder), device, weights)
        models.put_adapter(model, folder)
        return model, tokenizer
    from transformers import AutoModelForCausalLM  # heavy, and only needed here
    from transformers.utils import logging

    logging.disable_progress_bar()  # a bar per load would drown our own progress
    told = logging.get_verbosity()
    logging.set_verbosity_error()  # what it warns of is refused below, in one line
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:  # each kind of damaged file has its own
        raise UserError(f"No model could be loaded from '{folder}': {first_line(error)}") from None
    finally:
        logging.set_verbosity(told)
    if missing := sorted(report["missing_keys"]):  # they would be random numbers
        raise UserError(
            f"No model could be loaded from '{folder}': {len(missing)} of its weights are in no"
            f" file, such as {missing[0]}. Download it again."
        )
    if weights is not None:
        models.convert_weights(model, weights)
    return model.to(device), tokenizer


def make_adapter(base: str, settings: models.LoraSettings, seed: int, folder: Path) -> None:
    """A new adapter, as `add_adapter` makes it, of a plain model: a folder, or a name on the hub.
    The model's weights are not read."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(base, trust_remote_code=False)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    for module in model.modules():  # one number in the place of each tensor
        for name, weight in module._parameters.items():
            if weight is not None:
                alike = torch.zeros(()).expand(weight.shape)
                module._parameters[name] = torch.nn.Parameter(alike, requires_grad=False)
    models.add_adapter(model, settings, base, seed)
    models.save_model(model, folder)


def inspect_model(folder: str | Path, elsewhere: bool = False) -> tuple[Any, Any]:
    """(config, tokenizer) of what `load_model` would load. Raises UserError, before a weight is
    read, for files that are not whole and for a model that our engine cannot compute, unless others
    do (`elsewhere`)."""
    check_model_files(folder)
    if models.is_adapter(folder):
        models.check_peft(f"'{folder}' is a LoRA adapter, which")
        config, tokenizer = inspect_model(models.base_of(folder))
        own = (Path(folder) / "tokenizer_config.json").is_file()  # else the base's is meant
        return config, load_tokenizer(folder) if own else tokenizer
    if is_no_model(folder):
        raise UserError(
            f"No model folder at '{folder}'. Expected a folder with config.json, weights and a"
            " tokenizer, or a name on the Hugging Face hub, such as Qwen/Qwen3-8B."
        )
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        raise UserError(f"No model could be loaded from '{folder}': {first_line(error)}") from None
    config._attn_implementation = "sdpa"  # an argument would give way to the folder's config
    if not elsewhere:
        models.check_known(config)
    if Path(folder).is_dir():
        models.check_whole(Path(folder))
    tokenizer = load_tokenizer(folder)
    config = config.get_text_config()  # of a model that sees as well
    if len(tokenizer) > config.vocab_size:
        raise UserError(
            f"The tokenizer in '{folder}' has {len(tokenizer):,} tokens, its model"
            f" {config.vocab_size:,}: they do not belong together. Copy the model's own tokenizer."
        )
    return config, tokenizer
