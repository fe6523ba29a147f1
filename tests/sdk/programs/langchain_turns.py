"""OpenAI's chat by LangChain."""

from langchain_openai import ChatOpenAI
from turns import TOOLS, meaning, run


def ask(turn):
    model = ChatOpenAI(model="gpt-4o-mini", max_retries=0, stream_usage=True, default_headers=turn.headers)
    if turn.tools:
        model = model.bind_tools(TOOLS)
    pieces = list(model.stream(turn.prompt)) if turn.streamed else [model.invoke(turn.prompt)]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    usage = [whole.usage_metadata["input_tokens"], whole.usage_metadata["output_tokens"]]
    told = whole.response_metadata
    said = meaning(whole.content, told["finish_reason"], usage,
                   [(c["id"], c["name"], c["args"]) for c in whole.tool_calls], told["model_name"])
    return said, [own(piece.model_dump(mode="json")) for piece in pieces]


def own(piece):
    """Without the id that LangChain makes up for a run, a new one each time."""
    return {**piece, "id": piece["id"] if "run-" not in (piece["id"] or "") else None}


run(ask, scenes=("be noisy", "fail midway"))
