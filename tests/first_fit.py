"""The first fits of an installed wheel with machine code compile nothing: `python tests/first_fit.py`."""

import hashlib
import time

from sklearn.datasets import load_breast_cancer

from holdfast import BoostingClassifier, StableTreeClassifier, TreeClassifier
from holdfast.kernels.signatures import all_kernels


def main() -> None:
    """Fit three models, and print the seconds and a digest of their predictions."""
    X, y = load_breast_cancer(return_X_y=True)
    digest = hashlib.sha256()
    for model in (TreeClassifier(), StableTreeClassifier(), BoostingClassifier(n_estimators=10)):
        start = time.perf_counter()
        digest.update(model.fit(X, y).predict_proba(X).tobytes())
        print(f"{type(model).__name__}: {time.perf_counter() - start:.2f} s")
    stats = [each.compiled.stats for each in all_kernels().values() if "compiled" in vars(each)]
    compiled = sum(sum(each.cache_misses.values()) for each in stats)
    print(f"{sum(sum(each.cache_hits.values()) for each in stats)} kernels loaded, {compiled} compiled")
    print(digest.hexdigest()[:16])
    assert not compiled


if __name__ == "__main__":
    main()
