"""Many calls at once: different questions, the same question, and streams."""

import asyncio

from openai import AsyncOpenAI
from show import emit


async def main():
    client = AsyncOpenAI()

    async def ask(prompt):
        answer = await client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": prompt}])
        return answer.choices[0].message.content

    async def stream(prompt):
        events = await client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": prompt}], stream=True)
        return [event.model_dump(mode="json") async for event in events]

    different = await asyncio.gather(*(ask(f"question {n}") for n in range(20)))
    streams = await asyncio.gather(*(stream(f"stream {n}") for n in range(10)))
    same = await asyncio.gather(*(ask("count the calls at once") for _ in range(8)))
    in_turn = [await ask("count the calls in turn") for _ in range(3)]
    emit({"different": different, "streams": streams, "same": sorted(same), "in_turn": in_turn})


asyncio.run(main())
