"""uvicorn server.app:app --host 127.0.0.1 --port 8000. In one process: sessions live in it."""

import os

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import ConcurrencyConfig
from tripwright_env.server.environment import TripEnvironment, TripOpening

AT_ONCE = int(os.environ.get("MAX_CONCURRENT_ENVS", "64"))
app = create_app(
    TripEnvironment,
    CallToolAction,
    CallToolObservation,
    env_name="tripwright_env",
    # an hour without a step: its client was killed
    concurrency_config=ConcurrencyConfig(max_concurrent_envs=AT_ONCE, session_timeout=3600.0),
    reset_observation_cls=TripOpening,
)


def main() -> None:
    host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8000"))
    uvicorn.run(app, host=host, port=port)


if __name__ == "__main__":
    main()
