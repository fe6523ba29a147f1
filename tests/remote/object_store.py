"""The object stores under test: moto and SeaweedFS, and a client that looks into their buckets."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from process import free_port, is_listening, kill_group, start_process, wait_until

REGION = "us-east-1"


@dataclass(frozen=True)
class Keys:
    """The credentials of an identity."""

    access: str
    secret: str


#: Searched for in every file that loomrec writes, so no other text may contain them.
WRITER = Keys("AKIALOOMRECWRITER001", "wr1terSecret+of/the0store9tests8abcdefgh")
READER = Keys("AKIALOOMRECREADER001", "reader5ecret+of/the0store9tests8abcdefgh")


class Moto:
    """moto's server: fast, in memory, without authentication."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        line = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self._process = start_process(line, folder / "moto.log")
        wait_until(lambda: is_listening(self.port), "moto", process=self._process, log=folder / "moto.log")

    def close(self) -> None:
        kill_group(self._process)


class SeaweedFs:
    """SeaweedFS: a real store with authentication, and conditional writes across its gateways.

    It is `weed server`, and a process for each further gateway. It survives `kill` and `start`.
    """

    def __init__(self, folder: Path, *, gateways: int = 1) -> None:
        self._folder = folder
        self._log = folder / "weed.log"
        (folder / "data").mkdir(parents=True, exist_ok=True)
        self._config = folder / "s3.json"
        self._config.write_text(json.dumps({"identities": [
            _identity("writer", WRITER, ["Admin", "Read", "Write", "List"]),
            _identity("reader", READER, ["Read", "List"])]}), encoding="utf-8")
        # The port 10,000 above each of them is for gRPC.
        self.ports = [free_port(10_000) for _ in range(gateways)]
        self._filer = free_port(10_000)
        self._server_line = self._make_server_line(free_port(10_000), free_port(10_000))
        self._processes: list[subprocess.Popen] = []
        self.start()

    @property
    def port(self) -> int:
        return self.ports[0]

    def start(self) -> None:
        """Starts the server with the first gateway, then the other gateways."""
        self._run(self._server_line)
        wait_until(self._is_ready, "SeaweedFS", process=self._processes[0], log=self._log)
        for port in self.ports[1:]:
            self._run(["s3", f"-filer=127.0.0.1:{self._filer}", f"-port={port}", f"-port.grpc={port + 10_000}",
                       "-port.iceberg=0", "-port.lance=0", f"-config={self._config}", "-ip.bind=127.0.0.1"])
            wait_until(lambda port=port: is_listening(port), "SeaweedFS' gateway", process=self._processes[-1],
                       log=self._log)

    def _make_server_line(self, master: int, volume: int) -> list[str]:
        return ["server", f"-dir={self._folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                f"-master.port={master}", "-master.telemetry=false", f"-volume.port={volume}",
                f"-filer.port={self._filer}", f"-s3.port={self.port}", f"-s3.config={self._config}",
                "-s3", "-s3.port.iceberg=0", "-s3.port.lance=0",
                # Each bucket takes several volumes, which are empty files at first.
                "-master.volumeSizeLimitMB=64", "-volume.max=200",
                # By default it refuses writes to a disk that is nearly full.
                "-volume.minFreeSpace=1MiB"]

    def kill(self) -> None:
        """Kills the server and its gateways, as a crash of the machine would."""
        for process in self._processes:
            kill_group(process)
        self._processes = []

    close = kill

    def _run(self, line: list[str]) -> None:
        weed = Path(sys.executable).with_name("weed")
        self._processes.append(start_process([str(weed), f"-logdir={self._folder}", *line],
                                             self._log, folder=self._folder))

    def _is_ready(self) -> bool:
        if not is_listening(self.port):
            return False
        try:
            client = s3_client(self.port, WRITER)
            name = f"ready-{time.monotonic_ns()}"
            client.create_bucket(Bucket=name)
            client.put_object(Bucket=name, Key="ready", Body=b"1")
            client.delete_object(Bucket=name, Key="ready")
            client.delete_bucket(Bucket=name)
            return True
        except (BotoCoreError, ClientError):
            return False


def _identity(name: str, keys: Keys, actions: list[str]) -> dict:
    credentials = {"accessKey": keys.access, "secretKey": keys.secret}
    return {"name": name, "credentials": [credentials], "actions": actions}


@functools.cache  # boto3 takes longer to make a client than a test takes to use it
def s3_client(port: int, keys: Keys = WRITER):
    """Returns a client of the store on this port."""
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=20, max_pool_connections=20,
                    s3={"addressing_style": "path"})
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name=REGION, config=config,
                        aws_access_key_id=keys.access, aws_secret_access_key=keys.secret)


class Bucket:
    """A bucket, seen directly: not through the proxy that recorders use."""

    def __init__(self, port: int, name: str, keys: Keys = WRITER) -> None:
        self.name = name
        self.client = s3_client(port, keys)
        self.client.create_bucket(Bucket=name)

    def url(self, name: str = "agent") -> str:
        return f"s3://{self.name}/{name}"

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [each["Key"] for page in pages for each in page.get("Contents", [])]

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=content)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)

    def publish(self) -> None:
        """Lets everyone list the bucket and read what is in it now."""
        self.client.put_bucket_acl(Bucket=self.name, ACL="public-read")
        for key in self.keys():
            self.client.put_object_acl(Bucket=self.name, Key=key, ACL="public-read")

    def contents(self) -> dict[str, bytes]:
        """Returns every object."""
        return {key: self.get(key) for key in self.keys()}

    def ref(self, name: str = "agent") -> dict:
        return json.loads(self.get(f"{name}/ref"))

    def manifest_hash(self, name: str = "agent") -> str:
        """Returns the hash of the newest state, without `sha256:`."""
        return self.ref(name)["manifest"].removeprefix("sha256:")

    def manifest(self, digest: str, name: str = "agent") -> dict:
        return json.loads(unzip_checked(self.get(f"{name}/manifests/{digest}"), digest))

    def segments(self, name: str = "agent") -> list[str]:
        """Returns the segments that no state has yet, or that nobody has removed yet."""
        return [key for key in self.keys(f"{name}/runs/") if not key.endswith("recorder.json")]


def unzip_checked(content: bytes, digest: str) -> bytes:
    """Returns the text of an object whose name is the hash of that text."""
    text = gzip.decompress(content)
    assert hashlib.sha256(text).hexdigest() == digest
    return text
