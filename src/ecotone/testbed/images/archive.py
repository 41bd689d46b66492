"""Container images without a registry or an engine: a docker-archive written file by file.

Same content, same bytes: times are zero, owners are root, entries are sorted, so an image's digest says what is in it.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

NON_ROOT = 65532
_PASSWD = f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{NON_ROOT}:{NON_ROOT}:nonroot:/:/sbin/nologin\n"
_GROUP = f"root:x:0:\nnonroot:x:{NON_ROOT}:\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a layer: `content` is bytes, or a file to copy."""

    path: str
    content: bytes | Path
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    entries: Sequence[Entry]
    entrypoint: Sequence[str]
    environment: Sequence[str] = ("PATH=/bin",)
    user: str = str(NON_ROOT)


def write_image(image: Image, out: Path) -> str:
    """Writes the archive and returns the image's id."""
    out.parent.mkdir(parents=True, exist_ok=True)
    layer = _tar([*_base(), *image.entries])
    diff = hashlib.sha256(layer).hexdigest()
    config = _config(image, diff)
    name = hashlib.sha256(config).hexdigest()
    manifest = [{"Config": f"{name}.json", "RepoTags": [image.name], "Layers": [f"{diff}/layer.tar"]}]
    part = out.with_suffix(".part")
    part.write_bytes(
        _tar(
            [
                Entry(f"{name}.json", config),
                Entry(f"{diff}/layer.tar", layer),
                Entry("manifest.json", json.dumps(manifest).encode()),
            ]
        )
    )
    part.replace(out)
    return name


def static_image(name: str, binary: Path, *, out: Path) -> str:
    """An image with one static program and nothing else."""
    path = f"bin/{binary.name}"
    return write_image(Image(name, [Entry(path, binary, 0o755)], [f"/{path}"]), out)


def _base() -> list[Entry]:
    return [Entry("etc/passwd", _PASSWD.encode()), Entry("etc/group", _GROUP.encode())]


def _config(image: Image, diff: str) -> bytes:
    return json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {
                "Entrypoint": list(image.entrypoint),
                "Env": list(image.environment),
                "User": image.user,
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff}"]},
            "history": [{"created": "1970-01-01T00:00:00Z"}],
        },
        sort_keys=True,
    ).encode()


def _tar(entries: Iterable[Entry]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        made: set[str] = set()
        for entry in sorted(entries, key=lambda each: each.path):
            for folder in reversed(Path(entry.path).parents):
                if str(folder) != "." and str(folder) not in made:
                    made.add(str(folder))
                    archive.addfile(_info(str(folder), 0o755, tarfile.DIRTYPE))
            content = entry.content if isinstance(entry.content, bytes) else entry.content.read_bytes()
            info = _info(entry.path, entry.mode, tarfile.REGTYPE)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _info(path: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.mode, info.type, info.mtime = mode, kind, 0
    return info
