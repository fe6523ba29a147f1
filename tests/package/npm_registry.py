"""A small npm registry: it takes packages as `npm publish` sends them, and gives them to package managers.

Metadata and uploads have the form of the registry API, https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class NpmRegistry:
    """A registry on this machine. What it does not have is not found."""

    def __init__(self) -> None:
        self.packages: dict[str, dict] = {}
        self.tarballs: dict[str, bytes] = {}
        self.published: list[str] = []
        """The names of the files that were uploaded, in order."""
        self.tokens: set[str] = set()
        """The tokens that uploads came with."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"registry": self}))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, package: Path) -> None:
        """Adds the package of a file."""
        with tarfile.open(package) as archive:
            description = json.load(archive.extractfile("package/package.json"))
        self.put(description, package.read_bytes())

    def add_empty(self, description: dict) -> None:
        """Adds a package that holds its description only."""
        packed, text = io.BytesIO(), json.dumps(description).encode()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            file = tarfile.TarInfo("package/package.json")
            file.size = len(text)
            archive.addfile(file, io.BytesIO(text))
        self.put(description, packed.getvalue())

    def put(self, description: dict, tarball: bytes) -> None:
        name, version = description["name"], description["version"]
        file = f"{name.replace('/', '-').removeprefix('@')}-{version}.tgz"
        self.tarballs[file] = tarball
        dist = {"tarball": f"{self.url}-/{file}", "shasum": hashlib.sha1(tarball).hexdigest(),
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()}
        found = self.packages.setdefault(name, {"name": name, "dist-tags": {}, "versions": {}})
        found["versions"][version] = {**description, "dist": dist}
        found["dist-tags"]["latest"] = version


class _Handler(BaseHTTPRequestHandler):
    registry: NpmRegistry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0]).lstrip("/")
        if path.startswith("-/"):
            found = self.registry.tarballs.get(path[2:])
            self._answer(200 if found else 404, found or b"{}", "application/octet-stream")
            return
        package = self.registry.packages.get(path)
        self._answer(200 if package else 404, json.dumps(package or {"error": "not found"}).encode())

    def do_PUT(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.registry.tokens.add(self.headers.get("authorization", ""))
        [(version, description)] = sent["versions"].items()
        known = self.registry.packages.get(sent["name"], {"versions": {}})
        if version in known["versions"]:
            self._answer(403, b'{"error": "You cannot publish over the previously published versions"}')
            return
        [attachment] = [it for name, it in sent["_attachments"].items() if name.endswith(".tgz")]
        self.registry.put(description, base64.b64decode(attachment["data"]))
        self.registry.published.append(sent["name"])
        self._answer(201, b'{"ok": true}')

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
