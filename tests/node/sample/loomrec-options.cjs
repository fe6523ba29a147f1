// The tests' scripted upstream stands for the providers.
const upstream = process.env.SAMPLE_UPSTREAM;

module.exports = {
  auto: ['tests/auto/**'],
  ...(upstream ? { upstream: { openai: upstream, anthropic: upstream } } : {}),
};
