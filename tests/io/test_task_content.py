"""Results as bytes: back to the last bit, nothing but values, and no code."""

import zlib
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest

from holdfast import GrowthRules, StableTreeClassifier, Table, grow
from holdfast.io.task_keys import BrokenResultError, UnstorableResultError, decode_result, encode_result
from holdfast.scoring.metric import Score, make_metric

TABLE = Table.from_arrays([[20.0], [40.0], [60.0], [80.0]], ["no", "no", "yes", "yes"])


def there_and_back(result: Any) -> Any:
    return decode_result(encode_result(result))


@pytest.mark.parametrize(
    "result",
    [
        *(
            None,
            True,
            0,
            -5,
            2**70,
            0.1,
            -0.0,
            float("inf"),
            "text",
            b"bytes",
            (),
            (1, [2, (3,)]),
            {"a": (1,)},
        ),
        *(range(1, 9, 2), np.float32(0.1), np.int64(7), np.bool_(True), {(1, "a"): None}),
        (Score(0.5, 0.1), GrowthRules(max_depth=3)),
    ],
)
def test_values_come_back_as_they_were(result: Any) -> None:
    again = there_and_back(result)
    assert repr(again) == repr(result)
    assert type(again) is type(result)


@pytest.mark.parametrize(
    "array",
    [
        *(np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3).T, np.zeros((0, 4)), np.array(3.5)),
        *(np.array(["a", "bcd"]), np.array([True, False]), np.array([np.nan, -0.0, 5e-324])),
        *(np.arange(10, dtype=np.int16)[::2], np.array(["2020-01-01"], "M8[D]"), np.array([1 + 2j])),
    ],
)
def test_arrays_keep_their_bytes_their_order_and_their_guard(array: Any) -> None:
    guarded = array.copy("K")
    guarded.flags.writeable = False
    for each in (array, guarded):
        again = there_and_back(each)
        assert (again.dtype, again.shape, again.tobytes()) == (each.dtype, each.shape, each.tobytes())
        assert again.flags.writeable == each.flags.writeable
        assert again.flags.f_contiguous or not each.flags.f_contiguous


def test_trees_share_their_schema_as_before() -> None:
    trees = [grow(TABLE), grow(TABLE)]
    first, second = there_and_back(trees)
    assert first.schema is second.schema
    assert str(first) == str(trees[0])
    assert not first.value.flags.writeable
    assert encode_result([first, second]) == encode_result(trees)


def test_a_fitted_estimator_comes_back_with_its_scoring() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = StableTreeClassifier(method="bootstrap", n_estimators=4).fit(X, X[:, 0] > 0)
    again = there_and_back(model)
    assert encode_result(again) == encode_result(model)
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    metric = make_metric("auc", TABLE.schema.target)
    assert there_and_back(metric) == metric


def test_what_is_no_value_is_not_kept() -> None:
    for strange in (object(), print, lambda: 1, partial(print), np.array([object()]), {1, 2}, iter([])):
        with pytest.raises(UnstorableResultError):
            encode_result([strange])


def written(*forms: Any) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(list(forms)))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\0", zlib.compress(b""), written("object", "os:system", "true"), written("nothing")),
        written("object", "subprocess:Popen", ["list", "true"]),
        written("object", "holdfast._files:replace_file", "a"),  # ours, and no value
        written("object", "holdfast.nowhere:Tree"),
        written("function", "holdfast._files:replace_file"),
        written("function", "holdfast.scoring.formulas:np"),
        written("partial", ["object", "os:system"], ["tuple"], ["dict"]),
        written("array", "O", [1], "C", True, b"12345678"),
        written("array", "<f8", [2], "C", True, b"12345678"),
        written("array", "<f8", [10**15], "C", True, b""),
        *(written("again", 0), written("range", 1, 2, 0), written("int", "x"), written("scalar", "<f8", b"")),
        written("object", "holdfast.scoring.metric:Score", 1.0),
    ],
)
def test_bytes_of_others_run_nothing_and_are_refused(content: bytes) -> None:
    with pytest.raises(BrokenResultError):
        decode_result(content)


def test_a_tree_that_is_not_sound_is_refused() -> None:
    tree = grow(TABLE)
    broken = tree.replace(left=np.where(tree.left > 0, 99, tree.left).astype(np.int32))
    with pytest.raises(BrokenResultError, match="left"):
        there_and_back([tree, broken])
