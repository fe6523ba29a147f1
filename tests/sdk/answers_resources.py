"""Answers that name an address of the upstream itself for the next request: a batch of
Anthropic, whose results are elsewhere, and an upload to Gemini, which has two steps."""

from __future__ import annotations

import re

from wire import Reply, dump


def answer(request, origin: str) -> Reply | None:
    """The reply to such a request, from an upstream at this address."""
    path = request.path.split("?")[0]
    if re.match(r"^/v1/messages/batches/b1$", path):
        return _json(batch(f"{origin}/v1/messages/batches/b1/results?page=1"))
    if request.path == "/v1/messages/batches/b1/results?page=1":
        lines = [dump({"custom_id": name, "result": {"type": "canceled"}}) for name in ("one", "two")]
        return Reply(headers=[("content-type", "application/x-jsonl")], body=b"\n".join(lines) + b"\n")
    if re.match(r"^/upload/v1(beta)?/files$", path):
        if "upload_id=" in request.path:
            return _file(request)
        url = f"{origin}{path}?upload_id=up-1&upload_protocol=resumable"
        return Reply(headers=[("x-goog-upload-url", url), ("x-goog-upload-status", "active")])
    return None


def batch(results: str) -> dict:
    counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 2, "expired": 0}
    return {"id": "b1", "type": "message_batch", "processing_status": "ended", "request_counts": counts,
            "created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-02T00:00:00Z",
            "ended_at": "2026-01-01T00:10:00Z", "archived_at": None, "cancel_initiated_at": None,
            "results_url": results}


def _file(request) -> Reply:
    reply = _json({"file": {"name": "files/f1", "displayName": "note", "mimeType": "text/plain",
                            "sizeBytes": str(len(request.body)), "state": "ACTIVE"}})
    reply.headers.append(("x-goog-upload-status", "final"))
    return reply


def _json(value: object) -> Reply:
    return Reply(headers=[("content-type", "application/json")], body=dump(value))
