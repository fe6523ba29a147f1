"""Python modules for loomrec, which records LLM API calls and replays them in tests."""
