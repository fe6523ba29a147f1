// How the Node programs of this folder tell what they saw: one JSON document on stdout.

export function emit(document) {
  process.stdout.write(JSON.stringify(document, null, 1));
}

export function failure(error) {
  return {
    failed: {
      class: error.constructor.name,
      status: error.status ?? error.statusCode ?? null,
      code: error.code ?? error.cause?.code ?? null,
      body: error.error ?? null,
      message: error.message,
    },
  };
}

export async function drained(stream) {
  const events = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    return { events, ...failure(error) };
  }
  return { events };
}
