"""Voyage by its own client, which reads no variable for its address."""

import os

import voyageai
from show import attempt, emit

client = voyageai.Client(base_url=os.environ["LOOMREC_URL"] + "/voyage/v1")


def embed(text="hello", **more):
    answer = client.embed([text, "world"], model="voyage-3.5", input_type="document", **more)
    return {"embeddings": answer.embeddings, "total_tokens": answer.total_tokens}


def contextualized():
    answer = client.contextualized_embed([["one", "two"], ["three"]], model="voyage-context-3")
    return {"embeddings": [result.embeddings for result in answer.results], "total_tokens": answer.total_tokens}


def rerank():
    answer = client.rerank("rain", ["It rains.", "It is dry.", "It snows."], model="rerank-2.5", top_k=2)
    found = [[result.index, result.document, result.relevance_score] for result in answer.results]
    return {"results": found, "total_tokens": answer.total_tokens}


emit({
    "embed": embed(),
    "contextualized": contextualized(),
    "rerank": rerank(),
    "errors": {status: attempt(lambda: embed(f"status {status}")) for status in (400, 401, 429, 500)},
})
