"""Calls within traces of the program's own, made and sent by OpenTelemetry's SDK: what
each call came to, and the span that made it."""

import sys

import openai
from openai import OpenAI
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from show import emit

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
HTTPXClientInstrumentor().instrument(tracer_provider=provider)
tracer = provider.get_tracer("agent")
client = OpenAI(max_retries=0)
seen = []
for prompt in sys.argv[1:]:
    with tracer.start_as_current_span(f"agent {prompt}") as span:
        trace = format(span.get_span_context().trace_id, "032x")
        try:
            answer = client.chat.completions.create(
                model="gpt-4o-mini", messages=[{"role": "user", "content": prompt}],
                extra_headers={"x-loomrec-step-id": prompt})
            came = answer.choices[0].message.content
        except openai.APIStatusError as error:
            came = error.status_code
        seen.append({"prompt": prompt, "came": came, "trace": trace})
provider.shutdown()
emit(seen)
