"""The files of the source tree, without what is built or fetched."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIP = {".git", ".cache", "node_modules", "__pycache__", "corpus"}


def files(*suffixes):
    """Every file below the root with one of the suffixes (all, if none)."""
    found = []

    def walk(folder):
        for path in sorted(folder.iterdir()):
            if path.name in SKIP or path.is_symlink():
                continue
            if path.is_dir():
                if folder != ROOT or not path.name.startswith("build"):
                    walk(path)
            elif not suffixes or path.suffix in suffixes:
                found.append(path)

    walk(ROOT)
    return found


def name(path):
    return str(path.relative_to(ROOT))
