"""Runs a program the three ways this suite compares: against the upstream itself,
through `loomrec record -- …`, and through `loomrec replay --strict -- …`."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
NODE_HOME = Path(os.environ.get("LOOMREC_SDK_NODE", Path(__file__).parents[2] / ".cache/sdk/node"))
PATIENCE = 120  # seconds a program may take: a bound against hanging, not a measure

# Real in shape, real nowhere. In two parts, so that no scanner takes them for lost keys.
KEYS = {
    "OPENAI_API_KEY": "sk-proj-" + "CanaryOpenAiCanaryOpenAiCanaryOpenAi0123",
    "ANTHROPIC_API_KEY": "sk-ant-api03-" + "CanaryAnthropicCanaryAnthropicCanary0123",
    "GEMINI_API_KEY": "AIza" + "SyCanaryGeminiCanaryGeminiCanary012",
    "AZURE_OPENAI_API_KEY": "0123456789abcdef" + "CanaryAzureCanary012345",
    "MISTRAL_API_KEY": "CanaryMistral" + "CanaryMistral012345",
    "CO_API_KEY": "CanaryCohere" + "CanaryCohereCanaryCohere01234567",
    "GROQ_API_KEY": "gsk_" + "CanaryGroqCanaryGroqCanaryGroqCanaryGroqCanaryGroq01",
    "OPENROUTER_API_KEY": "sk-or-v1-" + "0123456789abcdef" * 4,
    "PERPLEXITY_API_KEY": "pplx-" + "Canary01" * 6,
    "VOYAGE_API_KEY": "pa-" + "Canary-_" * 5 + "012",
    "AWS_ACCESS_KEY_ID": "AKIA" + "CANARYCANARYCANA",
    "AWS_SECRET_ACCESS_KEY": "CanaryAws/" + "CanaryAwsCanaryAwsCanaryAws012",
}

# Upstreams whose own address has no path; the others are mounted by their name.
AT_THE_ROOT = ("openai", "anthropic", "gemini")
MOUNTED = ("azure", "bedrock", "cohere", "groq", "mistral", "ollama", "openrouter", "perplexity",
           "voyage")


@dataclass
class Outcome:
    """How a run ended and what it said."""

    code: int
    stdout: str
    stderr: str
    receipt: dict | None = None

    @property
    def document(self) -> dict:
        """The last JSON document that the program printed."""
        assert self.stdout.strip(), f"nothing on stdout; exit {self.code}; stderr:\n{self.stderr}"
        decoder, at, document = json.JSONDecoder(), 0, None
        text = self.stdout.strip()
        while at < len(text):
            document, at = decoder.raw_decode(text, at)
        return document


def command(program: str, *arguments: str, node: str | Path = "node") -> list[str]:
    """The command line of one of our programs, run by this Node if it is for Node."""
    if program.endswith(".mjs"):
        home = NODE_HOME / "programs"  # beside its node_modules, where Node looks for the SDK
        home.mkdir(exist_ok=True)
        for name in (program, "direct.mjs", "show.mjs", "turns.mjs"):
            _install(PROGRAMS / name, home / name)
        return [str(node), str(home / program), *arguments]
    return [sys.executable, str(PROGRAMS / program), *arguments]


def node(major: int) -> Path:
    """Node in this version, from npm, whatever version the PATH has."""
    kind = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    return NODE_HOME / f"node_modules/node{major}-{kind}/bin/node"


def python_of(home: Path) -> tuple[str, dict[str, str]]:
    """The interpreter that has the packages of a home, and the variables that it needs."""
    own = home / "venv/bin/python"
    return (str(own), {}) if own.exists() else (sys.executable, {"PYTHONPATH": str(home / "site")})


def _install(source: Path, target: Path) -> None:
    """Copy a file in one step: tests that run beside this one may be reading it."""
    if not target.exists() or target.read_bytes() != source.read_bytes():
        whole = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copy(source, whole)
        whole.replace(target)


def environment(**more: str) -> dict[str, str]:
    """An environment that points nowhere and holds no key but those given."""
    passed_on = ("PATH", "HOME", "PYTHONPATH", "LANG", "GOOGLE_GENAI_API_VERSION")
    kept = {name: os.environ[name] for name in passed_on if name in os.environ}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8", **more}


def execute(line: list[str], env: dict[str, str], where: Path) -> Outcome:
    """Run a command to its end."""
    done = subprocess.run(line, env=env, cwd=where, capture_output=True, encoding="utf-8",
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def direct(upstream: str, line: list[str], where: Path, others: dict[str, str] | None = None) -> Outcome:
    """Run a program with its base URLs pointing at the upstream, as a person sets them."""
    addresses = {
        "OPENAI_BASE_URL": f"{upstream}/v1", "ANTHROPIC_BASE_URL": upstream,
        "GOOGLE_GEMINI_BASE_URL": upstream, "GEMINI_API_BASE": f"{upstream}/v1beta",
        "AZURE_OPENAI_ENDPOINT": f"{upstream}/azure", "CO_API_URL": f"{upstream}/cohere",
        "GROQ_BASE_URL": f"{upstream}/groq", "OLLAMA_HOST": f"{upstream}/ollama",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"{upstream}/bedrock",
        "LOOMREC_URL": upstream,  # for what no variable brings here
    }
    return execute(line, environment(**{**addresses, **(others or {})}, **KEYS), where)


class Loomrec:
    """The binary under test, used as from a shell."""

    def __init__(self, binary: str, where: Path) -> None:
        self.binary = binary
        self.where = where
        self.machine: list[str] = []  # what begins the command line of a run, see resolved.py

    def record(self, recording: Path, upstream: str, line: list[str], *flags: str,
               **variables: str) -> Outcome:
        upstreams = [f"--upstream={name}={upstream}" for name in AT_THE_ROOT]
        upstreams += [f"--upstream={name}={upstream}/{name}" for name in MOUNTED]
        return self._run("record", recording, [*upstreams, *flags], line,
                         environment(**KEYS, **variables))

    def replay(self, recording: Path, line: list[str], *flags: str, **variables: str) -> Outcome:
        """Without a key, and strict, which goes with no repeats."""
        strict = [] if "--repeat" in flags else ["--strict"]
        return self._run("replay", recording, [*strict, *flags], line, environment(**variables))

    def run(self, verb: str, recording: Path, flags: list[str], line: list[str], **variables: str) -> Outcome:
        """With these flags and these variables alone."""
        return self._run(verb, recording, flags, line, environment(**variables))

    def _run(self, verb: str, recording: Path, flags: list[str], line: list[str], env: dict[str, str]) -> Outcome:
        receipt = self.where / "receipt.json"
        receipt.unlink(missing_ok=True)
        head = [*self.machine, self.binary, verb, "-r", str(recording), "--receipt", str(receipt), *flags, "--"]
        outcome = execute([*head, *line], env, self.where)
        assert receipt.exists(), f"{verb} left no receipt; exit {outcome.code}:\n{outcome.stderr}"
        outcome.receipt = json.loads(receipt.read_text(encoding="utf-8"))
        return outcome


def entries(recording: Path) -> list[dict]:
    """Every take in a recording, in file order."""
    held = json.loads(recording.read_text(encoding="utf-8"))
    takes: list[dict] = []
    for key, entry in held.items():
        if not key.startswith("_"):
            takes += entry if isinstance(entry, list) else [entry]
    return takes


def assert_no_key_below(folder: Path, *texts: str) -> None:
    """No key of this suite is in any file of a folder, nor in the texts given."""
    for key in KEYS.values():
        for path in folder.rglob("*"):
            if path.is_file():
                assert key.encode() not in path.read_bytes(), f"a key is in {path.name}"
        for text in texts:
            assert key not in text, "a key is in the output"
