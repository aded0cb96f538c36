"""Random changes of an index folder: of its files, arrays, manifests and SQL."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from crafted import (
    MANIFEST,
    array_names,
    array_of,
    npy,
    patch_array,
    rewrite_index_manifest,
    rewrite_manifest,
    set_array,
    sign,
)

__all__ = ["mutate"]

_SIGNED = 0.9  # how often checksums are computed again
_EXTREMES: tuple[float, ...] = (
    0, 1, -1, 2, -2, 127, 255, 256, 65_535, 65_536, 2**24 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1,
    2**40, 2**62, 2**63 - 1, -(2**63), 0.5, 1e-300, 1e300, math.nan, math.inf, -math.inf,
)  # fmt: skip
_DTYPES = (
    "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i8", ">f8", "?", "c16",
    "S3", "U3", "M8[s]", "V3",
)  # fmt: skip
_DEEP = 100_000  # levels of nested JSON, more than Python's own stack holds

Change = Callable[[Path, Random, Sequence[Path]], str]


class _NotHereError(Exception):
    """A change that cannot be made in this folder; another one is tried."""


def mutate(folder: Path, random: Random, others: Sequence[Path]) -> list[str]:
    """Change an index folder in one to four ways, and mostly sign it anew; what was done.

    Parameters
    ----------
    folder : Path
        Of an index; may be no index afterwards.
    random : Random
    others : sequence of Path
        Other indexes, whose parts may take the place of its own.
    """
    done: list[str] = []
    wanted = random.choices((1, 2, 3, 4), (60, 25, 10, 5))[0]
    while len(done) < wanted:
        (change,) = random.choices(list(_CHANGES), list(_CHANGES.values()))
        # A change may fail half-way, as where earlier ones left something else than it expects.
        with contextlib.suppress(Exception):
            done.append(f"{change.__name__.strip('_')}: {change(folder, random, others)}")
        if not _has_manifests(folder):
            break
    if random.random() >= _SIGNED:
        done.append("not signed")
    elif _has_manifests(folder):
        # What is left may be no index, or have manifests that say nothing of files.
        with contextlib.suppress(Exception):
            _sign(folder, done)
    return done


def _has_manifests(folder: Path) -> bool:
    """Whether all manifests are files: reading a FIFO would not end."""
    manifests = [folder / MANIFEST, *folder.glob(f"parts/*/{MANIFEST}")]
    return all(file.is_file() and not file.is_symlink() for file in manifests)


def _sign(folder: Path, done: Sequence[str]) -> None:
    """Sign a folder, keeping what manifests say of files where that is what was changed."""
    if any(step.startswith("part_manifest") for step in done):
        rewrite_index_manifest(folder, lambda _: None)
    else:
        sign(folder)


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    """Return files in an order that is the same in every run, never through links."""
    return sorted(
        path for path in folder.rglob(pattern) if path.is_file() and not path.is_symlink()
    )


def _file(folder: Path, random: Random, pattern: str = "*") -> Path:
    files = _files(folder, pattern)
    if not files:
        raise _NotHereError
    return random.choice(files)


def _stored_array(folder: Path, random: Random) -> tuple[Path, str]:
    """Return an array's folder and name; those of segments, which kernels read, are likelier."""
    parts = [file.parent for file in _files(folder, "*.npys")]
    arrays = [(part, name) for part in dict.fromkeys(parts) for name in array_names(part)]
    if not arrays:
        raise _NotHereError
    return random.choices(arrays, [3 if "/segment-" in str(part) else 1 for part, _ in arrays])[0]


def _bytes(folder: Path, random: Random, others: Sequence[Path]) -> str:
    file = _file(folder, random)
    content = bytearray(file.read_bytes())
    start = 128 if file.suffix == ".npys" and len(content) > 128 and random.random() < 0.9 else 0
    if len(content) <= start:
        raise _NotHereError
    first = random.randrange(start, len(content))
    last = min(len(content), first + random.choice((1, 2, 4, 8, 64, 4096)))
    kind = random.choice(("flip", "noise", "ones", "zeros", "cut", "extend", "insert", "drop"))
    if kind == "flip":
        content[first] ^= 1 << random.randrange(8)
    elif kind == "noise":
        content[first:last] = random.randbytes(last - first)
    elif kind == "ones":
        content[first:last] = b"\xff" * (last - first)
    elif kind == "zeros":
        content[first:last] = bytes(last - first)
    elif kind == "cut":
        del content[first:]
    elif kind == "extend":
        content += random.randbytes(random.choice((1, 8, 1000)))
    elif kind == "insert":
        content[first:first] = random.randbytes(last - first)
    else:
        del content[first:last]
    file.write_bytes(content)
    return f"{kind} {_name(folder, file)} at {first}"


def _value(dtype: np.dtype[Any], value: float) -> Any:
    """Return a number as the dtype holds it, whatever is left of it."""
    if dtype.kind in "iu":
        whole = int(value) if math.isfinite(value) else 0
        bits = whole % (1 << 8 * dtype.itemsize)
        return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype.newbyteorder("<"))[0]
    with np.errstate(all="ignore"):
        return np.array(value).astype(dtype)[()]


def _array(folder: Path, random: Random, others: Sequence[Path]) -> str:
    part, name = _stored_array(folder, random)
    array = array_of(part, name)
    kind = random.choices(list(_OF_ARRAYS), list(_OF_ARRAYS.values()))[0]
    changed = kind(array.copy(), random, folder)
    if changed.dtype == array.dtype and changed.shape == array.shape:
        patch_array(part, name, changed)
    else:
        set_array(part, name, npy(changed))
    return f"{kind.__name__.strip('_')} {_name(folder, part)} {name}"


def _elements(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        place = random.randrange(array.size)
        near = random.random() < 0.4
        value = float(array.flat[place]) + random.choice((-1, 1)) if near else None
        array.flat[place] = _value(
            array.dtype, random.choice(_EXTREMES) if value is None else value
        )
    return array


def _fill(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    array[...] = _value(array.dtype, random.choice(_EXTREMES))
    return array


def _noise(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    content = random.randbytes(array.nbytes)
    return np.frombuffer(content, array.dtype).reshape(array.shape)


def _small_noise(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    most = max(1, int(min(max(abs(np.nan_to_num(array.astype(float))).max(), 1), 2**40)))
    values = [random.randint(0, most) for _ in range(array.size)]
    return np.array(values).astype(array.dtype).reshape(array.shape)


def _shuffled(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    order = list(range(array.shape[0]))
    random.choice((random.shuffle, lambda x: x.reverse()))(order)
    return array[order]


def _sorted(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    return np.sort(array, axis=0)


def _swapped(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    left, right = random.randrange(array.shape[0]), random.randrange(array.shape[0])
    array[[left, right]] = array[[right, left]]
    return array


def _resized(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    at = random.randrange(array.shape[0] + 1)
    return random.choice(
        (array[:at], array[at:], array[:-1], np.concatenate([array, array[:1]]),
         np.concatenate([array, array]), np.delete(array, min(at, array.shape[0] - 1)))
    )  # fmt: skip


def _reshaped(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    return random.choice((array.reshape(-1, 1), array.reshape(1, -1), array.reshape(-1)[0]))


def _retyped(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(random.choice(_DTYPES))


def _of_objects(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    return array.astype(object)


def _another(array: np.ndarray, random: Random, folder: Path) -> np.ndarray:
    return array_of(*_stored_array(folder, random))


_OF_ARRAYS: dict[Callable[[np.ndarray, Random, Path], np.ndarray], int] = {
    _elements: 12, _fill: 4, _noise: 3, _small_noise: 3, _shuffled: 2, _sorted: 1, _swapped: 2,
    _resized: 3, _reshaped: 1, _retyped: 3, _of_objects: 1, _another: 3,
}  # fmt: skip


def _header(folder: Path, random: Random, others: Sequence[Path]) -> str:
    """Let the header of an array speak of more, or other things, than there are."""
    part, name = _stored_array(folder, random)
    content = npy(array_of(part, name))
    length = int.from_bytes(content[8:10], "little")
    head = content[10 : 10 + length].decode("latin-1")
    shapes = (
        "(1099511627776,)",
        "(4611686018427387904, 4)",
        "(-1,)",
        "(1,)",
        "()",
        "(0,)",
        "(2, 2)",
    )
    old = head[head.index("'shape': ") + 9 : head.rindex("}") - 2]
    new = head.replace(old, random.choice(shapes)).rstrip()[: length - 1]
    if random.random() < 0.3:
        new = new.replace("False", random.choice(("True", "None", "9")))
    head = f"{new:<{length - 1}}\n".encode("latin-1")
    set_array(part, name, content[:10] + head + content[10 + length :])
    return f"{_name(folder, part)} {name} {new.strip()}"


def _json_values(random: Random) -> Any:
    return random.choice(
        (None, True, False, -1, 0, 1, 2, 3, 255, 2**16, 2**24, 2**31, 2**63, 2**70, 10**9, 10**400,
         -0.5, 0.5, 1e308, math.nan, math.inf, "", "x", "0", "../x", "\ud800", "x" * 5000, [], {},
         [[]], {"x": 1}, [None], ["x"], [0, 1])
    )  # fmt: skip


def _nodes(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value: a container and a key of it."""
    keys = (
        list(value) if isinstance(value, dict) else range(len(value) if type(value) is list else 0)
    )
    found = [(value, key) for key in keys]
    for key in keys:
        found += _nodes(value[key])
    return found


def _change_json(manifest: dict[str, Any], random: Random) -> str:
    """Change one place of a manifest; what was changed."""
    # Facts of files are many, and nothing reads more of them than two values.
    top = random.choice([key for key in manifest if key != "checksum"] or [None])
    nodes = [(manifest, top), *_nodes(manifest[top])]
    container, key = random.choice(nodes)
    kind = random.choice(("set", "set", "delete", "copy", "near", "twice", "rename", "wrap"))
    if kind == "set":
        container[key] = _json_values(random)
    elif kind == "delete":
        del container[key]
    elif kind == "copy":
        other, place = random.choice(nodes)
        container[key] = json.loads(json.dumps(other[place]))
    elif kind == "near":
        container[key] += random.choice((-1, 1))
    elif kind == "twice":
        (container if isinstance(container, list) else container[key]).append(
            json.loads(json.dumps(container[key]))
        )
    elif kind == "rename":
        container[f"{key}{random.choice(('x', '/', '/../x', ' '))}"] = container.pop(key)
    else:
        container[key] = random.choice(
            ([container[key]], {"x": container[key]}, str(container[key]))
        )
    return f"{kind} {top}...{key}"


def _index_manifest(folder: Path, random: Random, others: Sequence[Path]) -> str:
    told: list[str] = []
    rewrite_index_manifest(folder, lambda manifest: told.append(_change_json(manifest, random)))
    return told[0]


def _part_manifest(folder: Path, random: Random, others: Sequence[Path]) -> str:
    part = _part(folder, random)
    told: list[str] = []
    rewrite_manifest(
        folder, part.name, lambda manifest: told.append(_change_json(manifest, random))
    )
    return f"{part.name} {told[0]}"


def _segments(folder: Path, random: Random, others: Sequence[Path]) -> str:
    """List the segments of the manifest in another order, one twice, or fewer."""
    kind = random.choice(("swap", "twice", "drop", "mix"))

    def change(manifest: dict[str, Any]) -> None:
        segments = manifest["settings"]["segments"]
        if kind == "swap":
            random.shuffle(segments)
        elif kind == "twice":
            segments.append(dict(random.choice(segments)))
        elif kind == "drop":
            segments.pop(random.randrange(len(segments)))
        else:
            left, right = random.choice(segments), random.choice(segments)
            name = random.choice(("part", "deleted", "norms", "n_docs"))
            left[name], right[name] = right[name], left[name]

    rewrite_index_manifest(folder, change)
    return kind


def _raw_json(folder: Path, random: Random, others: Sequence[Path]) -> str:
    file = _file(folder, random, MANIFEST)
    texts = ("", "null", "[]", "{}", "7", '"x"', "[" * _DEEP, '{"x":' * _DEEP, "\xff", "9" * 5000)
    text = random.choice(texts)
    file.write_text(text, encoding="latin-1")
    return f"{_name(folder, file)} {text[:9]}"


def _part(folder: Path, random: Random) -> Path:
    parts = sorted(path for path in (folder / "parts").iterdir() if path.is_dir())
    if not parts:
        raise _NotHereError
    return random.choice(parts)


def _paths(folder: Path, random: Random, others: Sequence[Path]) -> str:
    """Delete, exchange, copy or replace files and folders."""
    places = sorted(path for path in folder.rglob("*") if not path.is_symlink())
    path = random.choice(places)
    other = random.choice([place for place in places if place.is_dir() == path.is_dir()])
    kind = random.choice(
        ("delete", "swap", "copy", "move", "folder", "file", "link", "fifo", "empty")
    )
    name = f"{kind} {_name(folder, path)} {_name(folder, other)}"
    nested = path in other.parents or other in path.parents or path == other
    if kind in ("swap", "copy", "move") and nested:
        raise _NotHereError
    aside = folder / "aside"
    if kind == "swap":
        path.rename(aside)
        other.rename(path)
        aside.rename(other)
        return name
    if kind == "move":
        path.rename(aside)
        _delete(other)
        aside.rename(other)
        return name
    if kind == "copy":
        _delete(path)
        (shutil.copytree if other.is_dir() else shutil.copyfile)(other, path)
        return name
    _delete(path)
    if kind == "folder":
        path.mkdir()
    elif kind in ("file", "empty"):
        path.write_bytes(b"" if kind == "empty" else b"x")
    elif kind == "link":
        path.symlink_to(random.choice((other, Path("/dev/zero"), path, Path("/dev/null"), folder)))
    elif kind == "fifo":
        os.mkfifo(path)
    return name


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _foreign(folder: Path, random: Random, others: Sequence[Path]) -> str:
    """Put a part, or a file of one, of another index in the place of the one of its kind."""
    part = _part(folder, random)
    kind = part.name.partition("-")[0]
    found = [
        other
        for index in others
        for other in sorted((index / "parts").glob(f"{kind}-*"))
        if index != folder
    ]
    if not found:
        raise _NotHereError
    other = random.choice(found)
    if random.random() < 0.5:
        shutil.rmtree(part)
        shutil.copytree(other, part)
        return f"{part.name} from {other.parent.parent.name}"
    file = random.choice([file for file in _files(other) if file.name != MANIFEST])
    shutil.copyfile(file, part / file.relative_to(other))
    return f"{part.name}/{_name(other, file)} from {other.parent.parent.name}"


_NUMBERS = (
    "-7",
    "-1",
    "0",
    "1",
    "2",
    "70000",
    "9223372036854775807",
    "1.5",
    "NULL",
    "'x'",
    "x'00'",
)
_VALUES = (
    "NULL", "''", "'x'", "7", "-1.5", "9e999", "x''", "x'ff'", "x'eda080'", "'[]'", "'7'", "'{'",
    "'null'", "'NaN'", "'{\"n\": NaN}'", "'{\"n\": 1e999}'", "'{\"lang\": {\"x\": []}}'",
    "zeroblob(1000)", "printf('%.*c', 50000, '[')", "(SELECT id FROM documents LIMIT 1)",
    "'{\"n\": ' || printf('%.*c', 5000, '9') || '}'",
)  # fmt: skip


_ENDLESS = (
    "CREATE VIEW documents AS WITH RECURSIVE r(number, id, text, metadata) AS (SELECT 0, 'x', 'y', "
    "NULL UNION ALL SELECT number + 1, id, text, metadata FROM r) SELECT * FROM r"
)


def _sql(folder: Path, random: Random, others: Sequence[Path]) -> str:
    file = _file(folder, random, "documents.sqlite")
    column = random.choice(("number", "id", "text", "metadata"))
    value = random.choice(_NUMBERS if column == "number" else _VALUES)
    which = random.choice(("", " WHERE number = 0", " WHERE number = 1"))
    statement = random.choices(
        (
            f"UPDATE documents SET {column} = {value}{which}",
            "DELETE FROM documents" + which,
            "UPDATE documents SET number = number + 1000",
            f"INSERT INTO documents (number, id) VALUES ({random.choice(_NUMBERS)}, {value})",
            "DROP TABLE documents",
            "DROP INDEX documents_by_id",
            f"ALTER TABLE documents RENAME COLUMN {column} TO other",
            "ALTER TABLE documents RENAME TO others",
            f"ALTER TABLE documents RENAME TO others; {_ENDLESS}",
            "ALTER TABLE documents RENAME TO others; CREATE VIEW documents AS SELECT * FROM others",
            "CREATE TABLE t AS SELECT * FROM documents; DROP TABLE documents; "
            f"ALTER TABLE t RENAME TO documents; UPDATE documents SET number = {value}",
            "PRAGMA journal_mode = WAL",
            "PRAGMA user_version = -1",
        ),
        (30, 4, 2, 4, 1, 2, 1, 1, 2, 2, 4, 1, 1),
    )[0]
    connection = sqlite3.connect(file)
    # An earlier change may have made an endless view of the documents: give up on it.
    connection.set_progress_handler(lambda: 1, 1_000_000)
    try:
        connection.execute(
            "DROP INDEX IF EXISTS documents_by_id"
        ) if random.random() < 0.3 else None
        connection.executescript(statement)
        connection.commit()
    except sqlite3.Error as error:
        raise _NotHereError from error
    finally:
        connection.close()
    return f"{_name(folder, file)} {statement[:120]}"


_CHANGES: dict[Change, int] = {
    _bytes: 18, _array: 36, _header: 3, _index_manifest: 8, _part_manifest: 12, _segments: 3,
    _raw_json: 1, _paths: 6, _foreign: 5, _sql: 14,
}  # fmt: skip
