"""Where the project's own files lie, whether it runs from its repository or as an installed copy."""

from pathlib import Path

from deermem_eval.errors import DeermemEvalError

_PACKAGE = Path(__file__).resolve().parent


def repository_root() -> Path | None:
    """Return the root of the checkout that holds this package, or None for an installed copy."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "data").is_dir() else None


def shipped_folder(name: str) -> Path:
    """Return `data` or `notebooks` as it stands in the checkout, else the installed copy of it."""
    return (repository_root() or _PACKAGE / "_shipped") / name


def default_cache() -> Path:
    """Return where fetched texts lie: `data/cache` of the checkout, else `~/.cache/deermem-eval`."""
    root = repository_root()
    return root / "data" / "cache" if root else expanded(Path("~/.cache/deermem-eval"))


def expanded(path: Path) -> Path:
    """Replace a leading `~`; refuse a user who is not there."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise DeermemEvalError(f"{path}: {error}; check the path") from error


def resolved(path: Path) -> Path:
    """Follow all links of a path; refuse a loop, and what can be no path."""
    try:
        return expanded(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise DeermemEvalError(f"{path}: {error}; check the path") from error


def working_path(path: str | Path) -> Path:
    """Make a relative output path absolute.

    Relative paths start at the repository root, so that a notebook writes to the same place
    whether its kernel starts there or in `notebooks/`; an installed copy has no such root and
    uses the current folder.
    """
    path = expanded(Path(path))
    return path if path.is_absolute() else (repository_root() or Path.cwd()) / path
