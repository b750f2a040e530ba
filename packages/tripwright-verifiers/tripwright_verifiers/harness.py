"""tripwright's own loop as a harness, for which every model call goes through verifiers'
interception: a turn is read, answered and limited as in all of tripwright, and no program runs."""

import verifiers.v1 as vf

from tripwright.bridges import play_through


class TripEnvConfig(vf.EnvConfig):
    agent: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})


class TripEnv(vf.Env[TripEnvConfig]):  # a single agent, by default on this machine
    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        await agents.agent.run(task)


class TripHarness(vf.Harness[vf.HarnessConfig]):
    SUPPORTS_MCP = True  # it has the same tools at hand
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        trace.info["trip"] = await play_through(
            data.row, base_url=endpoint, api_key=secret, model=ctx.model, session=trace.id
        )
        return vf.ProgramResult(0, "", "")
