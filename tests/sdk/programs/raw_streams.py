"""A client without an SDK: the exact chunks of a stream, as they were framed, and its end."""

import json
import os
import socket
from urllib.parse import urlsplit

from show import emit, raw

base = urlsplit(os.environ["OPENAI_BASE_URL"])


def read(prompt):
    body = json.dumps({"model": "gpt-4o-mini", "stream": True,
                       "messages": [{"role": "user", "content": prompt}]}).encode()
    head = (f"POST {base.path}/chat/completions HTTP/1.1\r\nhost: {base.netloc}\r\n"
            f"authorization: Bearer {os.environ.get('OPENAI_API_KEY', 'none')}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n")
    with socket.create_connection((base.hostname, base.port)) as connection:
        connection.sendall(head.encode() + body)
        reader = connection.makefile("rb")
        status = int(reader.readline().split()[1])
        while reader.readline().strip():
            pass
        chunks = []
        try:
            while line := reader.readline():
                size = int(line, 16)
                chunk = reader.read(size + 2)[:size]
                if size == 0:
                    return {"status": status, "chunks": chunks, "end": "complete"}
                chunks.append(raw(chunk))
        except ConnectionResetError:
            return {"status": status, "chunks": chunks, "end": "reset"}
        return {"status": status, "chunks": chunks, "end": "closed"}


emit({scene: read(f"raw, {scene}")
      for scene in ("plain", "noisy", "fail midway", "hang up midway", "reset midway")})
