"""The fixtures: a store behind a proxy, an upstream, and machines that run loomrec."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from machine import Machine  # noqa: E402
from object_store import WRITER, Bucket, Keys, Moto, SeaweedFs  # noqa: E402
from proxy import Proxy  # noqa: E402
from upstream import Upstream  # noqa: E402

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the tests of slow links first: they wait for minutes, which the others can fill."""
    items.sort(key=lambda item: item.path.name != "test_slow_links.py")


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    """moto's server, for all tests of this process."""
    moto = Moto(tmp_path_factory.mktemp("moto"))
    yield moto
    moto.close()


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFs]:
    """SeaweedFS, for all tests of this process."""
    store = SeaweedFs(tmp_path_factory.mktemp("seaweedfs"))
    yield store
    store.close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def proxy(moto: Moto) -> Iterator[Proxy]:
    """The address of the store that machines have."""
    proxy = Proxy(moto.port)
    yield proxy
    proxy.close()


@pytest.fixture
def bucket(moto: Moto) -> Bucket:
    """A bucket of the test's own."""
    return Bucket(moto.port, f"bucket-{os.getpid()}-{next(_numbers)}")


@pytest.fixture
def make_machine(proxy: Proxy, bucket: Bucket, upstream: Upstream,
                 tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    """Makes machines with empty folders, which trust the bucket. Their processes end with the test."""
    machines: list[Machine] = []

    def make(keys: Keys | None = WRITER, endpoint: str = proxy.url) -> Machine:
        machine = Machine(tmp_path / f"machine-{len(machines) + 1}", endpoint, upstream.url, keys)
        machine.environment["LOOMREC_TRUST"] = bucket.url("")
        machines.append(machine)
        return machine

    yield make
    for machine in machines:
        machine.end_all()


@pytest.fixture
def machine(make_machine: Callable[..., Machine]) -> Machine:
    """The machine of tests that need only one."""
    return make_machine()
