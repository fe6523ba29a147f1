"""The list of what is in the binary, in the form of CycloneDX 1.5."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from .dependency import Crate, load_metadata, shipped_crates
from .project import ROOT, version


def sbom(triple: str) -> str:
    """Returns the list for the binary of a target, as JSON. The same commit gives the same text."""
    crates = shipped_crates(load_metadata([triple]))
    checksums = _checksums(ROOT / "Cargo.lock")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "loomrec",
                "version": version(),
                "purl": f"pkg:cargo/loomrec@{version()}",
                "properties": [{"name": "cdx:rustc:sbom:target:triple", "value": triple}],
            },
        },
        "components": [_component(crate, checksums) for crate in crates if crate.name != "loomrec"],
    }
    return json.dumps(document, indent=1) + "\n"


def _component(crate: Crate, checksums: dict[tuple[str, str], str]) -> dict:
    component: dict = {
        "type": "library",
        "name": crate.name,
        "version": crate.version,
        "purl": f"pkg:cargo/{crate.name}@{crate.version}",
    }
    if crate.licence:
        # Old manifests separate the alternatives with a slash.
        component["licenses"] = [{"expression": crate.licence.replace("/", " OR ").replace("  ", " ")}]
    checksum = checksums.get((crate.name, crate.version))
    if checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return component


def _checksums(lock: Path) -> dict[tuple[str, str], str]:
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    return {(p["name"], p["version"]): p["checksum"] for p in packages if "checksum" in p}
