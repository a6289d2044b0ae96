"""
A run from Python
=================

Hold out rows, fit a stable tree, read its figures, and save a folder that the command line reads, too.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.datasets import load_diabetes

from holdfast import fit_run, open_run
from holdfast.plots import FrontierDisplay

frame = load_diabetes(as_frame=True).frame

run = fit_run(frame, "target", max_leaf_nodes=8)
print(run)

# %%
# All figures are plain data.
chosen = run.facts["trees"]["chosen"]
print(f"\n{run.facts['metric']['title']} on the test rows: {chosen['test']['score']:.3f}")

# %%
# A run folder is what ``holdfast fit data.csv --target target -o run`` writes.
with TemporaryDirectory() as folder:
    run.save(Path(folder) / "run")
    again = open_run(Path(folder) / "run")
    print(f"\nFrom disk: {again!r}")
    print(again.predict(frame.head()))

# %%
# The candidates and the chosen tree.
FrontierDisplay.from_run(run)
