"""tripwright's episode in OpenEnv's protocol: its client, and `server/` with the rest."""

from tripwright_env.client import CallToolAction, TripwrightEnv

__all__ = ["CallToolAction", "TripwrightEnv"]
