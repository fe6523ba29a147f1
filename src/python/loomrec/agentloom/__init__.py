"""loomrec for AgentLoom workflows: step ids on the wire, misses and faults as exceptions.

    from loomrec.agentloom import attach

    attach(engine)                      # a loomrec that runs: LOOMREC_URL, or url=…

    from loomrec.agentloom import MockProvider, RecordingProvider

    gateway.register(MockProvider(responses_file="recordings/agent.json"))
"""

from loomrec.agentloom.link import LoomrecLink, attach
from loomrec.agentloom.mismatch import RecordingMismatchError
from loomrec.agentloom.mock import MockProvider, mock_provider, register_mock
from loomrec.agentloom.recorder import RecordingProvider
from loomrec.agentloom.step_id import with_step_ids

__all__ = [
    "LoomrecLink",
    "MockProvider",
    "RecordingMismatchError",
    "RecordingProvider",
    "attach",
    "mock_provider",
    "register_mock",
    "with_step_ids",
]
