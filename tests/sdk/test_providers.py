"""Each provider's SDK, and those that speak for several: what a program saw while it was
recorded, complete, streamed, with tool calls and with errors, it sees again on replay."""

import pytest

import loop as ways

SAID = "You said “tell me something” 🙂"
PARIS = {"city": "Paris", "unit": "celsius"}
TWO_CALLS = [["call_Paris", "get_weather", PARIS], ["call_Oslo", "get_weather", {"city": "Oslo"}]]
MISTRALS = [[f"D681PevK{n}", *call[1:]] for n, call in enumerate(TWO_CALLS)]
COHERES = [[f"get_weather_{city}", "get_weather", {"city": city}] for city in ("Paris", "Oslo")]
OLLAMAS = [["", "get_weather", {"city": city}] for city in ("Paris", "Oslo")]
GEMINIS = [[None, "get_weather", {"city": "Paris"}]]


def assert_turns(seen, finish, calls, *, usage=None):
    """Both deliveries said what the upstream says, and said the same."""
    for scene, word in zip(("say", "call"), finish, strict=True):
        complete, streamed = (seen[delivery][scene]["meaning"] for delivery in ("complete", "streamed"))
        assert complete == streamed
        assert complete["finish_reason"] == word
        assert complete["usage"] is not None and all(count > 0 for count in complete["usage"])
    assert seen["complete"]["say"]["meaning"]["text"] == SAID
    assert seen["complete"]["call"]["meaning"]["tool_calls"] == calls
    assert len(seen["streamed"]["say"]["saw"]) > 3, "the stream was not read piece by piece"
    if usage:
        assert seen["complete"]["say"]["meaning"]["usage"] == usage


def classes(failures):
    """The class of each failure; none where it did not fail."""
    return {scene: told.get("failed", {}).get("class") for scene, told in failures.items()}


def providers(recording):
    return {(entry["upstream"], entry["provider"]) for entry in ways.entries(recording)} if recording else set()


@pytest.fixture
def turns(whole_loop):
    """Runs the loop; sees to it that the recording holds only calls to `upstream`."""

    def run(program, upstream, provider):
        seen, recording = whole_loop(program)
        assert providers(recording) <= {(upstream, provider)}
        return seen

    return run


def test_azure_openai(turns):
    seen = turns("azure_turns.py", "azure", "openai")
    assert_turns(seen, ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])
    assert classes(seen["errors"]) == {"400": "BadRequestError", "401": "AuthenticationError",
                                       "429": "RateLimitError", "500": "InternalServerError"}
    assert classes(seen["broken"]) == {"fail midway": "APIError", "hang up midway": "RemoteProtocolError"}
    assert seen["streamed"]["say"]["saw"][0]["choices"] == []
    assert seen["responses"]["complete"]["output"][0]["content"][0]["text"] == "You said “hello azure” 🙂"
    assert seen["responses"]["events"][-1]["type"] == "response.completed"


def test_openrouter(turns):
    seen = turns("openrouter_turns.py", "openrouter", "openai")
    assert_turns(seen, ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])
    assert classes(seen["errors"]) == {"402": "APIStatusError", "429": "RateLimitError", "502": "InternalServerError"}
    assert classes(seen["broken"]) == {"fail midway": "APIError", "reset midway": "ReadError"}
    assert seen["error_in_success"]["error"]["code"] == 502


def test_groq(turns):
    seen = turns("groq_turns.py", "groq", "openai")
    assert_turns(seen, ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])
    assert classes(seen["errors"]) == {"400": "BadRequestError", "429": "RateLimitError", "503": "InternalServerError"}
    assert classes(seen["broken"]) == {"be noisy": None, "hang up midway": "RemoteProtocolError"}


def test_mistral(turns):
    seen = turns("mistral_turns.py", "mistral", "openai")
    assert_turns(seen, ("stop", "tool_calls"), MISTRALS, usage=[3, 9])
    assert classes(seen["errors"]) == {"401": "SDKError", "429": "SDKError", "503": "SDKError"}
    assert classes(seen["broken"]) == {"be noisy": None, "fail midway": "ResponseValidationError",
                                       "hang up midway": "RemoteProtocolError"}
    assert len(seen["embeddings"]["data"]) == 2


def test_cohere(turns):
    seen = turns("cohere_turns.py", "cohere", "cohere")
    assert_turns(seen, ("COMPLETE", "TOOL_CALL"), COHERES, usage=[63, 11])
    assert classes(seen["errors"]) == {"400": "BadRequestError", "401": "UnauthorizedError",
                                       "429": "TooManyRequestsError", "500": "InternalServerError"}
    assert classes(seen["broken"]) == {"be noisy": None, "hang up midway": "RemoteProtocolError"}
    assert len(seen["embeddings"]["embeddings"]["float"]) == 2


def test_perplexity(turns):
    seen = turns("perplexity_turns.py", "perplexity", "perplexity")
    assert_turns(seen, ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])
    for delivery in ("complete", "streamed"):
        said = seen[delivery]["say"]["meaning"]
        assert said["citations"][0] == said["search_results"][0]["url"] == "https://example.com/oslo"
    assert classes(seen["errors"]) == {"400": "BadRequestError", "401": "AuthenticationError",
                                       "429": "RateLimitError", "500": "InternalServerError"}
    assert classes(seen["broken"]) == {"be noisy": None, "hang up midway": "RemoteProtocolError"}


def test_voyage(turns):
    seen = turns("voyage_calls.py", "voyage", "voyage")
    assert len(seen["embed"]["embeddings"]) == 2 and seen["embed"]["total_tokens"] == 6
    assert [len(vectors) for vectors in seen["contextualized"]["embeddings"]] == [2, 1]
    assert seen["rerank"]["results"][0] == [0, "It rains.", 0.5] and len(seen["rerank"]["results"]) == 2
    assert classes(seen["errors"]) == {"400": "InvalidRequestError", "401": "AuthenticationError",
                                       "429": "RateLimitError", "500": "ServerError"}


def test_ollama(turns):
    seen = turns("ollama_turns.py", "ollama", "ollama")
    assert_turns(seen, ("stop", "stop"), OLLAMAS, usage=[23, 9])
    assert classes(seen["errors"]) == dict.fromkeys(("400", "404", "500"), "ResponseError")
    assert classes(seen["broken"]) == {"fail midway": "ResponseError", "hang up midway": "RemoteProtocolError"}
    generated = seen["generate"]
    assert generated["complete"]["response"] == "You said “hello” 🙂"
    assert "".join(line["response"] for line in generated["streamed"]) == "You said “hello” 🙂"
    assert len(seen["embeddings"]["embeddings"]) == 2


def test_bedrock_by_boto3(turns):
    seen = turns("bedrock_turns.py", "bedrock", "bedrock")
    assert_turns(seen, ("end_turn", "tool_use"), [["tooluse_Paris01", "get_weather", PARIS]], usage=[12, 9])
    assert classes(seen["errors"]) == {"400": "ValidationException", "403": "AccessDeniedException",
                                       "429": "ThrottlingException", "500": "InternalServerException"}
    assert classes(seen["broken"]) == {"fail midway": "EventStreamError", "hang up midway": "ProtocolError"}
    assert seen["invoke"]["complete"]["content"][0]["text"] == "You said “hello claude” 🙂"
    pieces = [e["delta"].get("text", "") for e in seen["invoke"]["streamed"] if e["type"] == "content_block_delta"]
    assert "".join(pieces) == "You said “hello claude” 🙂"


def test_anthropic_by_the_headers_of_2023(turns, upstream):
    seen = turns("anthropic_raw.py", "anthropic", "anthropic")
    assert_turns(seen, ("end_turn", "tool_use"), [["toolu_01Paris", "get_weather", PARIS]], usage=[3, 17])
    assert {r.headers["anthropic-version"] for r in upstream.requests} == {"2023-06-01"}
    assert all("x-api-key" in r.headers and "authorization" not in r.headers for r in upstream.requests)


def test_anthropic_by_the_headers_of_2026(turns, upstream):
    seen = turns("anthropic_turns.py", "anthropic", "anthropic")
    assert_turns(seen, ("end_turn", "tool_use"), [["toolu_01Paris", "get_weather", PARIS]], usage=[3, 17])
    assert {r.headers["anthropic-version"] for r in upstream.requests} == {"2026-10-21"}
    assert all("authorization" in r.headers and "x-api-key" not in r.headers for r in upstream.requests)


@pytest.mark.parametrize("program", ["openai_turns.py", "node_turns.mjs"])
def test_openai_chat(program, turns):
    seen = turns(program, "openai", "openai")
    assert_turns(seen, ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])


def test_openai_responses(turns):
    seen = turns("responses_turns.py", "openai", "openai")
    assert_turns(seen, ("completed", "completed"), TWO_CALLS, usage=[11, 9])


@pytest.mark.parametrize("program", ["genai_turns.py", "genai_turns.mjs"])
def test_gemini(program, turns):
    seen = turns(program, "gemini", "gemini")
    assert_turns(seen, ("STOP", "STOP"), GEMINIS, usage=[7, 9])
    assert set(classes(seen["errors"]).values()) <= {"ApiError", "ClientError", "ServerError"}
    if program.endswith(".mjs"):
        assert classes(seen["broken"]) == {"fail midway": "ApiError", "hang up midway": "TypeError"}


def test_langchain(turns):
    seen = turns("langchain_turns.py", "openai", "openai")
    assert_turns(seen, ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])
    assert classes(seen["errors"]) == {"400": "OpenAIInvalidRequestError", "429": "OpenAIRateLimitError",
                                       "503": "OpenAIAPIError"}
    assert classes(seen["broken"]) == {"be noisy": None, "fail midway": "APIError"}


def test_litellm_before_three_providers(whole_loop):
    seen, recording = whole_loop("litellm_turns.py")
    assert_turns(seen["openai"], ("stop", "tool_calls"), TWO_CALLS, usage=[3, 9])
    assert_turns(seen["anthropic"], ("stop", "tool_calls"), [["toolu_01Paris", "get_weather", PARIS]], usage=[6, 17])
    assert_turns(seen["gemini"], ("stop", "tool_calls"), [["call_own", "get_weather", {"city": "Paris"}]], usage=[7, 9])
    for provider in seen.values():
        assert classes(provider["errors"]) == {"400": "BadRequestError", "429": "RateLimitError"}
    if recording:
        assert providers(recording) == {(name, name) for name in ("openai", "anthropic", "gemini")}


def test_ai_sdk_before_three_models(whole_loop, upstream):
    # It wants /v1 in the variable that Anthropic's own SDKs want without.
    seen, recording = whole_loop("aisdk_turns.mjs", addresses={"ANTHROPIC_BASE_URL": f"{upstream.url}/v1"})
    assert_turns(seen["chat"], ("stop", "tool-calls"), TWO_CALLS, usage=[3, 9])
    assert_turns(seen["responses"], ("stop", "tool-calls"), TWO_CALLS, usage=[11, 9])
    assert_turns(seen["anthropic"], ("stop", "tool-calls"), [["toolu_01Paris", "get_weather", PARIS]])
    for model in seen.values():
        told = {status: error["failed"]["status"] for status, error in model["errors"].items()}
        assert told == {"400": 400, "429": 429}
    if recording:
        assert providers(recording) == {("openai", "openai"), ("anthropic", "anthropic")}
