"""The platforms that packages are made for. The release workflow and the npm package follow it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One platform, and how each registry names it."""

    triple: str
    """Rust's name."""
    npm: str
    """The end of the npm package's name: `@loomrec/cli-NPM`."""
    compatibility: str | None
    """What maturin checks the wheel against; None where the platform has only one form."""
    deb: str | None
    """Debian's name of the architecture; None where no .deb is made."""

    @property
    def npm_fields(self) -> dict[str, list[str]]:
        """The members of package.json by which npm chooses the package."""
        system, cpu, *libc = self.npm.split("-")
        fields = {"os": [system], "cpu": [cpu]}
        if system == "linux":
            fields["libc"] = libc or ["glibc"]
        return fields

    @property
    def is_linux(self) -> bool:
        return self.npm.startswith("linux")


TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "linux-x64", "manylinux_2_17", "amd64"),
        Target("aarch64-unknown-linux-gnu", "linux-arm64", "manylinux_2_17", "arm64"),
        Target("x86_64-unknown-linux-musl", "linux-x64-musl", "musllinux_1_2", None),
        Target("aarch64-unknown-linux-musl", "linux-arm64-musl", "musllinux_1_2", None),
        Target("x86_64-apple-darwin", "darwin-x64", None, None),
        Target("aarch64-apple-darwin", "darwin-arm64", None, None),
    )
}


def host_triple() -> str:
    """Returns the target of this machine; on Linux the one with glibc."""
    cpu = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system = {"linux": "unknown-linux-gnu", "darwin": "apple-darwin"}.get(sys.platform, sys.platform)
    return f"{cpu}-{system}"
