"""A file for Gemini: its bytes go to an address that the answer to its announcement names."""

import io

from google import genai
from show import emit

client = genai.Client()
file = client.files.upload(file=io.BytesIO("a note ☃".encode()), config={"mime_type": "text/plain"})
emit({"name": file.name, "size": file.size_bytes, "state": file.state.name})
