"""Speech of ElevenLabs from a text that is said in pieces, and what came, or how it failed.

usage: elevenlabs_speech.py PIECE...
"""

import os
import sys

from elevenlabs.client import ElevenLabs
from show import emit, failure

client = ElevenLabs(api_key="none", base_url=f"{os.environ['LOOMREC_URL']}/elevenlabs")
try:
    pieces = client.text_to_speech.convert_realtime("voice", text=iter(sys.argv[1:]), model_id="eleven_flash_v2_5")
    emit({"audio": [piece.hex() for piece in pieces]})
except Exception as error:
    emit({"failed": failure(error)})
