"""A scripted upstream for WebSockets: OpenAI's Realtime and Responses, Gemini's Live, ElevenLabs' speech."""

from __future__ import annotations

import base64
import json
import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve


class SocketUpstream:
    """The listener, and the paths of the handshakes that it accepted."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        # A browser's WebSocket fails unless the server takes one of the subprotocols that it offers.
        self._server = serve(self._speak, "127.0.0.1", 0, select_subprotocol=lambda _, offered: next(
            (name for name in offered if name == "realtime"), None))
        self.url = f"http://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()

    def _speak(self, connection: ServerConnection) -> None:
        self.paths.append(connection.request.path)
        path = connection.request.path.split("?")[0]
        by_end = {"realtime": realtime, "responses": turns, "stream-input": speech}
        speak = by_end.get(path.rsplit("/", 1)[-1], live)
        try:
            speak(connection)
        except ConnectionClosed:
            pass  # the client's right


def realtime(connection: ServerConnection) -> None:
    """One text turn in the order of the GA API."""
    asked, audio = "", b""

    def say(kind: str, **more) -> None:
        connection.send(json.dumps({"type": kind, "event_id": f"event_{kind}", **more}))

    session = {"type": "realtime", "model": "gpt-realtime", "id": "sess_1"}
    say("session.created", session=session)
    for message in connection:
        event = json.loads(message)
        if event["type"] == "session.update":
            say("session.updated", session={**session, **event["session"]})
        elif event["type"] == "conversation.item.create":
            asked = event["item"]["content"][0]["text"]
            say("conversation.item.added", item={"id": "item_1", **event["item"]}, previous_item_id=None)
        elif event["type"] == "input_audio_buffer.append":
            audio += base64.b64decode(event["audio"])
        elif event["type"] == "input_audio_buffer.commit":
            asked = f"{len(audio)} bytes"
            say("input_audio_buffer.committed", item_id="item_1", previous_item_id=None)
        elif event["type"] == "response.create":
            place = {"response_id": "resp_1", "item_id": "item_2", "output_index": 0, "content_index": 0}
            for word in ("You said ", asked, " 🙂"):
                say("response.output_text.delta", delta=word, **place)
            say("response.output_text.done", text=f"You said {asked} 🙂", **place)
            say("response.done", response={"id": "resp_1", "object": "realtime.response", "status": "completed"})


def speech(connection: ServerConnection) -> None:
    """A sound for each piece of text; an empty piece is the end."""
    for message in connection:
        text = json.loads(message)["text"]
        if not text:
            connection.send(json.dumps({"audio": None, "isFinal": True}))
            return
        connection.send(json.dumps({"audio": base64.b64encode(text.encode()).decode(), "isFinal": None}))


def turns(connection: ServerConnection) -> None:
    """The events of each response, with the name of its lane."""
    for number, message in enumerate(connection):
        event = json.loads(message)
        lane = {"stream_id": event["stream_id"]} if "stream_id" in event else {}
        if event["input"] == "fail":
            error = {"type": "invalid_request_error", "code": "bad", "message": "no", "param": None}
            connection.send(json.dumps({"type": "error", "status": 400, "error": error, **lane}))
            continue
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": event["model"],
                    "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
        said = f"You said {event['input']} 🙂"
        content = [{"type": "output_text", "text": said, "annotations": []}]
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
        usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12,
                 "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        events = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_text.delta", "delta": said[:8], **place},
            {"type": "response.output_text.delta", "delta": said[8:], **place},
            {"type": "response.completed",
             "response": {**response, "status": "completed", "output": output, "usage": usage}},
        ]
        for sequence, event in enumerate(events):
            connection.send(json.dumps({**event, "sequence_number": sequence, **lane}))


def live(connection: ServerConnection) -> None:
    """Gemini's Live: JSON in binary messages."""

    def say(message: dict) -> None:
        connection.send(json.dumps(message).encode())

    for message in connection:
        event = json.loads(message)
        if "setup" in event:
            say({"setupComplete": {}})
        elif "clientContent" in event or "client_content" in event:
            content = event.get("clientContent") or event["client_content"]
            asked = content["turns"][0]["parts"][0]["text"]
            for word in ("You said ", asked, " 🙂"):
                say({"serverContent": {"modelTurn": {"parts": [{"text": word}]}}})
            say({"serverContent": {"turnComplete": True}})
