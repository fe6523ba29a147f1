"""LangGraph: a graph of a model (Anthropic Messages) and its tools."""

import os

from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


model = ChatAnthropic(model="claude-sonnet-4-5").bind_tools([weather])
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node("tools", ToolNode([weather]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
for update in graph.compile().stream({"messages": [("user", os.environ["PROMPT"])]}):
    for node, state in update.items():
        print(node, [message.content for message in state["messages"]])
