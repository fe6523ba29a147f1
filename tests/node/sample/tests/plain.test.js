// This file has nothing to do with the plug-in.

test('the variables are as they were', () => {
  expect(process.env.OPENAI_BASE_URL).toBe(process.env.SAMPLE_BASE_URL);
  expect(process.env.OPENAI_API_KEY).toBe(process.env.SAMPLE_API_KEY);
});
