"""A recording is uploaded for transcription (multipart) and speech is fetched (bytes)."""

import io
import sys
import wave

from openai import OpenAI
from show import emit, headers, raw

pitch = int(sys.argv[1]) if len(sys.argv) > 1 else 40
sound = io.BytesIO()
with wave.open(sound, "wb") as out:
    out.setnchannels(1)
    out.setsampwidth(2)
    out.setframerate(8000)
    out.writeframes(b"".join((n * pitch % 65536).to_bytes(2, "little") for n in range(4000)))

client = OpenAI()
heard = client.audio.transcriptions.create(
    model="whisper-1", file=("gruß.wav", sound.getvalue(), "audio/wav"), prompt="names: Ada\r\n--x")
with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="Good morning.") as spoken:
    speech = b"".join(spoken.iter_bytes())
    emit({"heard": heard.model_dump(mode="json"), "speech": raw(speech), "headers": headers(spoken)})
