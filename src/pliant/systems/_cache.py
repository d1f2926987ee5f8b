"""Where compiled code is kept, and under which name.

One folder per module that has kernels, named after a digest of every source these kernels can see (the
module and, transitively, the modules of the package that it imports: callees and constants), of the
versions of Python, Numba, llvmlite and NumPy, of Numba's settings that change the code, and of the CPU. An
edit anywhere a kernel looks leads to another folder; an edit elsewhere costs nothing.
"""

import functools
import hashlib
import logging
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba
import numpy

_log = logging.getLogger(__name__)
_KEEP = 8  # folders per module: a few versions, interpreters and checkouts side by side

# `from module import names` or `import modules`; a match in a docstring only adds a file to the digest
_IMPORT = re.compile(r"^[ \t]*(?:from\s+([.\w]+)\s+import\s*(\([^)]*\)|[^\n]*)|import\s+([^\n]*))", re.MULTILINE)
_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)*", re.MULTILINE)


@functools.cache
def cache_folder() -> Path | None:
    """Where compiled code is kept, or None when no folder can be written (said once, in the log)."""
    tried = []
    for folder in _candidates():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            tried.append(f"{folder} ({error.strerror})")
        else:
            return folder
    _log.warning(
        "pliant found no writable folder for compiled code and will compile again in every process; "
        "set PLIANT_CACHE_DIR to a writable folder (tried: %s)",
        ", ".join(tried) or "no home folder, no private temporary folder",
    )
    return None


def _candidates() -> Iterator[Path]:
    if chosen := os.environ.get("PLIANT_CACHE_DIR"):
        yield Path(chosen).absolute()
        return  # an explicit wish is not replaced by a guess
    home = _user_cache()
    if home.is_absolute():  # without a home "~" stays "~": make no folder of that name
        yield home / "pliant"
    try:
        yield _private_temporary()
    except OSError as error:
        _log.info("no private temporary folder: %s", error)


def _user_cache() -> Path:
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"))
    if sys.platform == "darwin":
        return Path(home, "Library", "Caches")
    wish = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return wish if wish.is_absolute() else Path(home, ".cache")


def _private_temporary() -> Path:
    """A folder of this user alone: what is cached is executed, so nobody else may have put it there."""
    owner = os.getuid() if hasattr(os, "getuid") else None
    folder = Path(tempfile.gettempdir(), f"pliant-cache-{'user' if owner is None else owner}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    foreign = owner is not None and (found.st_uid != owner or found.st_mode & 0o022)
    if foreign or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{folder} is not a private folder of this user")
    return folder


def open_folder(root: Path, name: str) -> None:
    """Mark the folder of a module as used now, and remove the least recently used ones of the same module."""
    try:
        (root / name).mkdir(exist_ok=True)
        os.utime(root / name)
        same = sorted(root.glob(f"{name.rpartition('-')[0]}-*"), key=lambda path: path.stat().st_mtime)
    except OSError:  # another process prunes at the same time
        return
    for old in same[:-_KEEP]:
        shutil.rmtree(old, ignore_errors=True)


@functools.cache
def module_folder(sources: tuple[tuple[str, str], ...]) -> str | None:
    """Folder name for kernels defined in these (module, file); None for code that is in no file."""
    seen: dict[Path, str] = {}
    if not all(os.path.isfile(file) for _, file in sources):
        return None
    queue = [(path := Path(file).absolute(), _base(module, path)) for module, file in sources]
    while queue:
        file, base = queue.pop()
        if file not in seen:
            seen[file] = f"{os.path.relpath(file, base)} {_read(file)[0]}"
            queue += _imported(file, base)
    key = repr((_environment(), sorted(seen.values())))
    return f"{sources[0][0]}-{hashlib.sha256(key.encode()).hexdigest()[:20]}"


def _base(module: str, file: Path) -> Path:
    """The folder from which `module` was imported: `a.b` in x/a/b.py or x/a/b/__init__.py gives x."""
    return file.parents[module.count(".") + (file.name == "__init__.py")]


@functools.cache
def _environment() -> tuple[str, ...]:
    """All that changes machine code besides its source."""
    config = numba.config
    flags = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")
    return (
        sys.version,
        platform.machine(),
        numba.__version__,
        llvmlite.__version__,
        numpy.__version__,
        str(config.CPU_NAME or llvmlite.binding.get_host_cpu_name()),
        str(config.CPU_FEATURES or llvmlite.binding.get_host_cpu_features().flatten()),
        *(f"{flag}={getattr(config, flag, None)}" for flag in flags),
    )


@functools.cache
def _read(file: Path) -> tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Digest of a file, and what it imports as (module, names).

    Read once in a process, when a first kernel looks at it: a later edit is not what this process runs.
    """
    content = file.read_bytes()
    text = content.decode(errors="replace").replace("\r\n", "\n")
    if file.name != "__init__.py":  # there the block lists names that load on first use
        text = _TYPES_ONLY.sub("", text)
    found: list[tuple[str, tuple[str, ...]]] = []
    for module, names, modules in _IMPORT.findall(text):
        if module:
            found.append((module, tuple(re.findall(r"\w+", names))))
        found += [(other, ()) for other in re.findall(r"[.\w]+", modules)]
    return hashlib.sha256(content).hexdigest(), tuple(found)


@functools.cache
def _imported(file: Path, base: Path) -> tuple[tuple[Path, Path], ...]:
    """Files of the same package, and of pliant, that `file` imports from, each with its base folder."""
    pliant, found = Path(__file__).parents[2], []
    package = file.relative_to(base).parts[0].removesuffix(".py")
    for module, names in _read(file)[1]:
        depth = len(module) - len(module.lstrip("."))
        stem = file.parent.relative_to(base).parts[: 1 - depth or None] if depth else ()
        dotted = (*stem, *filter(None, module.split(".")))
        root = base if dotted[:1] == (package,) else pliant
        if dotted[:1] in ((package,), ("pliant",)):
            # `from a import b`: b is a name in a, or the module a.b
            for parts in (dotted, *((*dotted, name) for name in names)):
                path = root.joinpath(*parts)
                either = (path.with_suffix(".py"), path / "__init__.py")
                found += [(candidate, root) for candidate in either if candidate.is_file()]
    return tuple(found)
