"""What verl loads in each of its processes (VERL_USE_EXTERNAL_MODULES): our trainer, our loss, our
agent loop, and, where the platform is a CPU, that platform with our sampler."""

import os

if os.environ.get("VERL_PLATFORM") == "cpu":
    from tripwright.bridges.verl.inside import platform

    platform.register()

from tripwright.bridges.verl.inside import loop, trainer

trainer.register()

__all__ = ["loop", "trainer"]
