"""The results of a batch: at an address that the answer about the batch names."""

from anthropic import Anthropic
from show import emit

client = Anthropic()
batch = client.messages.batches.retrieve("b1")
results = [result.custom_id for result in client.messages.batches.results("b1")]
emit({"status": batch.processing_status, "results": results})
