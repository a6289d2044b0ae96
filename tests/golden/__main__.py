"""`make golden`: write golden.json anew, and say which results changed."""

from golden.kept import FILE, changes, entry_of, read, write
from golden.results import RESULTS, marks_of


def main() -> None:
    kept = read() if FILE.exists() else {}
    entries = {}
    for name in RESULTS:
        found = marks_of(name)
        what = changes(found, kept[name]) if name in kept else ["new"]
        # One that did not change keeps its digits: the last of them differ between processors.
        entries[name] = entry_of(found) if what else kept[name]
        if what:
            print("\n    ".join([name, *what]))
    for name in kept.keys() - RESULTS.keys():
        print(f"{name}\n    gone")
    write(entries)
    print(f"{len(entries)} results in {FILE.name}. Each that changed for users is a line in CHANGELOG.md.")


if __name__ == "__main__":
    main()
