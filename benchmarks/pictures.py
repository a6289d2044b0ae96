"""The pictures of the documentation, from the pages' own examples: python -m benchmarks.pictures.

Below a block of Python that ends in a variable `display` stands the picture that it makes. The figure of the
paper comes from its study, and takes half a minute.
"""

import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer

from benchmarks.studies.paper import GRID
from holdfast import StableTreeClassifier
from holdfast._files import replace_file
from holdfast.plots import FrontierDisplay
from holdfast.stable.settings import StabilityRules

DOCS = Path(__file__).parents[1] / "docs"
# A block of Python, perhaps its output, and perhaps a picture.
BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n*```text\n.*?^```\n)?(?:\n*!\[[^\]]*\]\(([^)]+)\))?",
    re.DOTALL | re.MULTILINE,
)


def write(path: Path, svg: str) -> None:
    replace_file(path, f"{svg}\n".encode())
    print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} kB")


def page_pictures(page: Path) -> None:
    names: dict[str, Any] = {}
    for source, picture in BLOCK.findall(page.read_text(encoding="utf-8")):
        with redirect_stdout(StringIO()):
            exec(source, names)
        if picture:
            write(DOCS / picture, names["display"].to_svg())
        plt.close("all")


def sizes_picture(page: Path) -> None:
    """The table of sizes as a notebook draws it, after the second block of its page."""
    names: dict[str, Any] = {}
    for source, _ in BLOCK.findall(page.read_text(encoding="utf-8"))[:2]:
        with redirect_stdout(StringIO()):
            exec(source, names)
    write(DOCS / "images" / "sizes.svg", names["model"].size_table_.to_svg())


def paper_picture() -> None:
    data = load_breast_cancer(as_frame=True)
    model = StableTreeClassifier(
        method="paper",
        grid=GRID,
        n_estimators=200,
        stability_rules=StabilityRules(label_weight=1.0),
        scoring="auc",
        n_jobs=-1,
    )
    model.fit(data.data, data.target.map({0: "malignant", 1: "benign"}))
    write(DOCS / "images" / "plots" / "paper.svg", FrontierDisplay.from_estimator(model).to_svg())


def main() -> None:
    mpl.use("agg")
    (DOCS / "images" / "plots").mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, chdir(folder):  # pages write files
        for name in ("explain.md", "survival.md"):
            page_pictures(DOCS / name)
        sizes_picture(DOCS / "pruning.md")
    paper_picture()


if __name__ == "__main__":
    main()
