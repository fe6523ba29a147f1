"""Half a second of speech over OpenAI's Realtime API, and what came, or how it failed.

usage: openai_voice.py SIZE,... [CHANGED]
The sizes of the packets are used in turn. CHANGED is the number of a sample that differs.
"""

import base64
import math
import struct
import sys
from itertools import cycle

from openai import OpenAI
from show import emit, failure

samples = [round(9000 * math.sin(number / 17)) for number in range(12_000)]  # 24 kHz
if len(sys.argv) > 2:
    samples[int(sys.argv[2])] += 1
audio = struct.pack(f"<{len(samples)}h", *samples)
events, client = [], OpenAI()
try:
    with client.realtime.connect(model="gpt-realtime") as connection:
        events.append(connection.recv())
        sizes = cycle(int(size) for size in sys.argv[1].split(","))
        while audio:
            size = next(sizes)
            connection.input_audio_buffer.append(audio=base64.b64encode(audio[:size]).decode())
            audio = audio[size:]
        connection.input_audio_buffer.commit()
        connection.response.create()
        for event in connection:
            events.append(event)
            if event.type in ("response.done", "error"):
                break
    emit({"events": [event.model_dump(mode="json") for event in events]})
except Exception as error:
    emit({"events": [event.type for event in events], "failed": failure(error)})
