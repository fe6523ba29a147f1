"""One turn over Gemini's Live API, and what came, or how it failed.

usage: genai_live.py PROMPT
"""

import asyncio
import sys

from google import genai
from show import emit, failure


async def main() -> None:
    client = genai.Client()
    config = {"response_modalities": ["TEXT"]}
    try:
        async with client.aio.live.connect(model="gemini-live-2.5-flash", config=config) as session:
            turn = {"role": "user", "parts": [{"text": sys.argv[1]}]}
            await session.send_client_content(turns=turn, turn_complete=True)
            emit({"messages": [message.model_dump(mode="json", exclude_none=True)
                               async for message in session.receive()]})
    except Exception as error:
        emit({"failed": failure(error)})


asyncio.run(main())
