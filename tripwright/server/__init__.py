"""The agent as a service. Here stands what `tripwright serve` is told, which needs none of the
libraries that the server does."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tripwright.errors import UserError
from tripwright.llm.paid_calls import Prices, prices_of
from tripwright.policies.settings import URL_NAMES, setting

ALLOW_HOST = "A further name that this server is asked for, or its proxy is; may be repeated."


@dataclass(frozen=True)
class TripServer:
    """Where trips are served, who plans them and where they are kept. `endpoint` is an URL, and
    `model` then a name; without it a checkpoint's folder. Raises UserError for settings that do not
    go together."""

    world: Path | None = setting(
        None, "World folder to travel in.", show_default="a nano world beside the state file"
    )
    state: Path = setting(Path("runs/serve/trips.sqlite"), "SQLite file with all trips.")
    host: str = setting("127.0.0.1", "Address to listen on; 0.0.0.0 for every network.")
    allow_host: list[str] | None = setting(None, ALLOW_HOST)
    allow_origin: list[str] | None = setting(
        None, "Another site whose pages may ask here, as https://our.example; may be repeated."
    )
    proxy: list[str] | None = setting(
        None, "Address or network of a proxy whose X-Forwarded-For is believed; may be repeated."
    )
    services: Path | None = setting(None, "TOML file: who answers which tool, in place of a world.")
    domain: str | None = setting(None, "Whose desk.", show_default="the first that has one")
    model: str | None = setting(
        None, "A checkpoint's folder, or a training's; with --endpoint, the model's name."
    )
    step: str | None = setting(
        None, "Of a training, the checkpoint of that step, or 'best'; else the last stage."
    )
    dialect: str | None = setting(
        None,
        "The dialect that the model was trained in, or is prompted in.",
        show_default="the desk's",
    )
    device: str = setting("auto", "Where a checkpoint is: cpu, cuda, cuda:1 …; auto: a GPU if any.")
    dtype: str = setting(
        "auto", "Number format of its weights: bfloat16, float16, float32; auto: the fastest."
    )
    endpoint: str | None = setting(
        None, "URL of an OpenAI-compatible endpoint, up to and including /v1.", *URL_NAMES
    )
    api_key_env: str = setting(
        "OPENAI_API_KEY", "The environment variable with the endpoint's key."
    )
    price_in: float | None = setting(
        None, "USD per million prompt tokens of the endpoint: trips are logged with their cost."
    )
    price_out: float | None = setting(None, "The same, of its own tokens.")
    max_cost_usd: float | None = setting(
        None, "USD a day (UTC), over all trips: then the endpoint is asked no more until midnight."
    )
    deadline_s: float = setting(
        300.0, "Seconds that planning a trip may take.", min=1.0, max=86_400.0
    )
    key_env: str | None = setting(
        None, "An environment variable with the keys, commas between them, that callers must have."
    )
    runs: Path | None = setting(
        None, "Folder of run folders to look at under /runs: leaderboard, reports, curves."
    )

    def __post_init__(self) -> None:
        if self.endpoint and not self.model:
            raise UserError("--endpoint needs --model NAME: which of its models plans?")
        if self.dialect and not self.model:
            raise UserError("--dialect is the model's: give --model too.")
        for origin in self.allow_origin or ():
            parts = urlsplit(origin)
            if origin != f"{parts.scheme}://{parts.netloc}" or not parts.hostname:
                raise UserError(
                    f"--allow-origin is a site, as https://our.example: found '{origin}'."
                )
        if self.prices is not None and self.endpoint is None:
            raise UserError("--price-in, --price-out and --max-cost-usd are of an --endpoint.")
        if self.services is not None and self.world is not None:
            raise UserError("--services is in place of --world: give one of them.")
        if self.runs is not None and self.key_env:
            raise UserError("--runs shows runs to whoever asks, --key-env only answers with a key.")
        if self.runs is not None and not self.runs.is_dir():
            raise UserError(f"No folder '{self.runs}' of --runs.")

    @property
    def prices(self) -> Prices | None:
        return prices_of(self.price_in, self.price_out, max_usd=self.max_cost_usd)

    @property
    def keys(self) -> tuple[str, ...]:
        if self.key_env is None:
            return ()
        keys = [key.strip() for key in os.environ.get(self.key_env, "").split(",")]
        if not any(keys):
            raise UserError(
                f"The environment variable '{self.key_env}' of --key-env holds no keys: set it to"
                " one, or several with commas between them."
            )
        return tuple(key for key in keys if key)
