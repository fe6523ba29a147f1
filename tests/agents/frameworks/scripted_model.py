"""The scripted model behind the frameworks' programs.

It asks for the tool `weather` for one city after the other, and then answers. Programs that
ask for a schema or for text in a format of their own get what they ask for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from plans import Call, Plan  # noqa: E402
from requests_of_agents import tool_names  # noqa: E402
from upstream import Upstream  # noqa: E402

CITIES = ["Oslo", "Bergen"]
FINAL = "It is 4 degrees in Oslo and 6 degrees in Bergen."
#: What a tool returns, and so what a request holds once for each result.
RESULT = "degrees, light rain"
#: What a first report says in place of a number.
WRONG = "mild"


class ScriptedModel(Upstream):
    """The upstream."""

    def __init__(self):
        super().__init__("")

    def plan(self, body: dict) -> Plan:
        return WeatherPlan(body)


class WeatherPlan(Plan):
    """What the model says, by the number of results in the request."""

    def __init__(self, body: dict):
        self.calls, self.text = [], FINAL
        conversation = {key: body[key] for key in ("messages", "input", "contents") if key in body}
        text = json.dumps(conversation)
        step, names = text.count(RESULT), tool_names(body)
        city = CITIES[step] if step < len(CITIES) else None
        if "[[ ## next_thought ## ]]" in text or "[[ ## reasoning ## ]]" in text:
            self.text = dspy_text(text, city)
        elif "Report" in names:
            # The first report has a value of the wrong type.
            degrees = 4 if WRONG in text else WRONG
            self.call("Report", {"city": "Oslo", "degrees": degrees})
        elif city and (tool := next((name for name in names if name.endswith("weather")), None)):
            self.call(tool, {"city": city})
        elif "final_answer" in names:
            self.call("final_answer", {"answer": FINAL})

    def call(self, tool: str, arguments: dict) -> None:
        self.calls, self.text = [Call(tool, arguments)], None


def dspy_text(text: str, city: str | None) -> str:
    """Returns the fields that DSPy's adapter for chats asks for."""
    if "[[ ## next_thought ## ]]" not in text:
        fields = {"reasoning": "Both results are there.", "answer": FINAL}
    elif city:
        fields = {"next_thought": f"I need {city}.", "next_tool_name": "weather",
                  "next_tool_args": json.dumps({"city": city})}
    else:
        fields = {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": "{}"}
    lines = [f"[[ ## {name} ## ]]\n{value}\n" for name, value in fields.items()]
    return "\n".join([*lines, "[[ ## completed ## ]]"])
