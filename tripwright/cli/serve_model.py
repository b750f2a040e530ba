"""`tripwright serve model`: a checkpoint for the rollouts of a training in another process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Device, Dtype

Checkpoint = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, such as a run's.")]


@dataclass(frozen=True, kw_only=True)
class ModelServeFlags:
    """Where it is served, and how it computes."""

    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8000
    concurrency: Annotated[int, typer.Option(help="Requests in the batch at once.", min=1)] = 64
    device: Device = "auto"
    dtype: Dtype = "auto"


def model(folder: Checkpoint, settings: ModelServeFlags) -> None:
    """Serve a checkpoint as vLLM and SGLang do, for the rollouts of a training, until Ctrl-C.

    It samples by our own engine and answers the requests of a recipe's [grpo.server], of either
    kind: token ids in and out, sleep, wake, weights from a folder. For trying the two-process
    set-up without a GPU. Whoever reaches the address can replace the weights.

    Examples:
      tripwright serve model runs/quickstart/model/sft
      tripwright serve model runs/quickstart/model/sft --port 8001 --dtype float32
      curl http://127.0.0.1:8000/model_info
    """
    from tripwright.inference.local import load_to_sample
    from tripwright.server.model_api import make_app
    from tripwright.server.serving import open_port, serve_app, url_of

    # what is wrong is said here, and not by the worker
    load_to_sample(folder, settings.device, settings.dtype)
    with open_port(settings.host, settings.port) as listener:
        line = f"serving '{folder}' for rollouts at {url_of(listener)} (as vLLM and as SGLang)"
        how = (settings.concurrency, settings.device, settings.dtype)
        make = partial(make_app, str(folder), *how)
        raise typer.Exit(serve_app(make, listener, 1, line))
