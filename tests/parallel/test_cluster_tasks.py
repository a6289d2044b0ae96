"""Tasks on a cluster of two workers: of dask.distributed and, where it is installed, of Ray."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from joblib import effective_n_jobs, parallel_config

from holdfast import (
    CART,
    ClusterError,
    ForestClassifier,
    ParameterError,
    StableTreeClassifier,
    Table,
    Tree,
    TreeClassifier,
    compare_models,
    distance_matrix,
    grow_bootstraps,
    retrain_audit,
    use_cluster,
)
from holdfast.cli.main import main
from holdfast.evaluate.replications import replicate
from holdfast.io.model_file import model_to_json
from holdfast.parallel import clusters as active
from holdfast.parallel import clusters as tile
from holdfast.parallel import dask_cluster, tasks
from holdfast.parallel.interruption import stop_flag
from holdfast.parallel.tasks import run_all
from holdfast.stable.settings import StabilitySettings

pytestmark = pytest.mark.slow  # a cluster is started for each kind

PATIENCE = 200  # times a twentieth of a second


@pytest.fixture(scope="module", params=["dask", "ray"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from {"dask": _dask, "ray": _ray}[request.param]()


def _dask() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        yield "dask"


def _ray() -> Iterator[str]:
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    # By default Ray's workers give way to everybody else, and other tests run at the same time.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield "ray"
    ray.shutdown()


@pytest.fixture
def config(kind: str) -> Iterator[str]:
    with parallel_config(backend=kind):
        yield kind


@pytest.fixture
def client(config: str) -> Any:
    if config != "dask":
        pytest.skip("for dask.distributed")
    from distributed import default_client

    return default_client()


# Tasks stand within the tests: workers cannot import this file, and functions of such a kind are sent whole.


@pytest.mark.usefixtures("config")
def test_results_come_in_the_order_of_the_items_from_both_workers() -> None:
    def process(number: int) -> tuple[int, int]:
        time.sleep(0.02)
        return number, os.getpid()

    found = run_all(process, range(40))
    assert [number for number, _ in found] == list(range(40))
    assert len({pid for _, pid in found} - {os.getpid()}) >= 2


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(("n_jobs", "n_items"), [(1, 3), (None, 1)])
def test_one_job_and_one_item_stay_in_this_process(n_jobs: int | None, n_items: int) -> None:
    assert run_all(lambda _: os.getpid(), range(n_items), n_jobs) == [os.getpid()] * n_items


@pytest.mark.usefixtures("config")
def test_what_would_travel_with_every_item_stays_in_this_process() -> None:
    assert set(run_all(lambda _: os.getpid(), range(3), 2, is_local=True)) == {os.getpid()}


@pytest.mark.usefixtures("config")
def test_a_task_has_one_core() -> None:
    assert run_all(lambda _: effective_n_jobs(-1), [0, 1]) == [1, 1]


def test_tasks_of_a_task_stay_on_its_worker(config: str) -> None:
    def inner(_: int) -> set[int]:
        if config == "ray":
            from ray.util.joblib import register_ray

            register_ray()
        with parallel_config(backend=config):
            return {*run_all(lambda _: os.getpid(), range(4)), os.getpid()}

    assert [len(pids) for pids in run_all(inner, range(2))] == [1, 1]


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    "error", [ZeroDivisionError("by nought"), ParameterError("n_jobs=0 is out of range.")]
)
def test_the_error_of_a_task_is_raised_here_with_where_it_came_from(error: Exception) -> None:
    def failing(number: int) -> int:
        if number == 3:
            raise error
        return number

    with pytest.raises(type(error), match=str(error)) as raised:
        run_all(failing, range(20))
    assert "failing" in raised.value.__notes__[0]


@pytest.mark.usefixtures("config")
def test_an_error_that_cannot_travel_is_told_in_words() -> None:
    class TwoWordsError(Exception):
        def __init__(self, one: str, two: str) -> None:
            super().__init__(f"{one} {two}")

    def failing(_: int) -> None:
        raise TwoWordsError("left", "right")

    with pytest.raises(ClusterError, match="TwoWordsError: left right"):
        run_all(failing, [0, 1])


@pytest.mark.usefixtures("config")
def test_a_result_that_cannot_travel_is_told_in_words() -> None:
    with pytest.raises(ClusterError, match=r"cannot send.*generator"):
        run_all(lambda _: (number for number in range(3)), [0, 1])


@pytest.mark.usefixtures("config", "eager_progress")
def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all(abs, [-1, -2, -3], progress="Absolute") == [1, 2, 3]
    assert "Absolute: 3 of 3" in capsys.readouterr().err


@pytest.mark.usefixtures("config")
def test_other_versions_on_a_worker_raise_an_error_that_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile, "list_versions", lambda: {"numpy": "0.1"})
    with pytest.raises(ClusterError, match=rf"numpy {np.__version__}, not 0\.1"):
        run_all(abs, [-1, -2])


# -- the same bits -------------------------------------------------------------------------------------------

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(90, 3))
Y = np.where(X[:, 0] + DRAW.normal(size=90) > 0, "ill", "well")
ILL = Table.from_arrays(X, Y)


@cache
def few_trees() -> list[Tree]:
    return grow_bootstraps(ILL, CART, 6)


def _figures(result: Any) -> Any:
    return {name: list(values) for name, values in result.columns().items() if "seconds" not in name}


WORK: dict[str, Callable[[], Any]] = {
    "collection": lambda: [model_to_json(tree) for tree in grow_bootstraps(ILL, CART, 6)],
    "forest": lambda: model_to_json(ForestClassifier(6, oob_score=True, random_state=0).fit(X, Y).ensemble_),
    "stable tree": lambda: model_to_json(
        StableTreeClassifier(method="bootstrap", n_estimators=6).fit(X, Y).tree_
    ),
    "distances": lambda: distance_matrix(few_trees()).tobytes(),
    "replications": lambda: repr(
        replicate(ILL, StabilitySettings(method="bootstrap", n_estimators=4), n_replications=2).rows
    ),
    "audit": lambda: repr(
        _figures(retrain_audit({"tree": TreeClassifier()}, X, Y, changes=("overlap",), n_repeats=2).pairs)
    ),
    "comparison": lambda: repr(
        _figures(compare_models([TreeClassifier(), ForestClassifier(4, random_state=0)], X, Y, cv=2))
    ),
}


@pytest.mark.usefixtures("config")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WORK)
def test_a_cluster_gives_the_bits_of_one_process(name: str) -> None:
    with parallel_config(backend="sequential"):
        alone = WORK[name]()
    assert WORK[name]() == alone


# -- what is sent --------------------------------------------------------------------------------------------


def test_a_table_lies_once_on_every_worker_however_many_tasks_ask_for_it(client: Any) -> None:
    table = Table.from_arrays(np.random.default_rng(0).normal(size=(20_000, 5)), np.arange(20_000) % 2)
    n_bytes = table.n_rows * table.n_features * 8

    def n_above(table: Table, low: int, feature: int) -> int:
        return int((table.columns[feature] > low).sum())

    assert run_all(abs, [-1, -2]) == [1, 2]
    sent = dask_cluster._sent[client]
    before = sent.n_bytes
    for low in range(3):
        counts = run_all(partial(n_above, table, low), range(5))
        assert counts == [int((column > low).sum()) for column in table.columns]
    assert n_bytes < sent.n_bytes - before < 1.2 * n_bytes

    def n_large(dask_worker: Any) -> int:
        return sum(getattr(blob, "nbytes", 0) > n_bytes for blob in dask_worker.data.values())

    # Dask drops copies that no task waits for; a worker that needs one again gets it from another.
    assert sorted(client.run(n_large).values()) in ([1, 1], [0, 1])
    del table  # and with it goes what lies on the workers
    assert _comes_true(lambda: not any(client.run(n_large).values()))


def test_what_the_cluster_has_lost_is_sent_again(client: Any) -> None:
    task = partial(pow, 2)
    assert run_all(task, range(4)) == [1, 2, 4, 8]
    sent = dask_cluster._sent[client].parts
    client.cancel([part.handle for parts in sent.values() for part in parts.values()])
    assert run_all(task, range(4)) == [1, 2, 4, 8]


# -- addresses -----------------------------------------------------------------------------------------------


def test_a_command_works_on_a_cluster_and_writes_what_it_writes_here(kind: str, tmp_path: Path) -> None:
    data, draw = tmp_path / "data.csv", np.random.default_rng(0).normal(size=(90, 2))
    data.write_text("a,b,ill\n" + "".join(f"{a},{b},{int(a + b > 0)}\n" for a, b in draw))
    address = "ray"
    if kind == "dask":
        from distributed import default_client

        address = default_client().scheduler.address
    written = []
    for options in ([], ["--cluster", address]):
        output = tmp_path / f"{len(options)}.json"
        command = ["compare", str(data), "--target", "ill", "--models", "tree", "--folds", "3"]
        result = CliRunner().invoke(main, [*command, "-o", str(output), *options])
        assert result.exit_code == 0, result.output
        trials = json.loads(output.read_text())
        written.append(_without_seconds(trials))
    assert written[0] == written[1]


def _without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_seconds(each) for name, each in value.items() if "seconds" not in name}
    return [_without_seconds(each) for each in value] if isinstance(value, list) else value


def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(active, "PATIENCE", 0.3)
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9"), use_cluster("tcp://127.0.0.1:9"):
        pass


# -- workers that die, and work that nobody waits for --------------------------------------------------------


def _comes_true(check: Callable[[], bool]) -> bool:
    for _ in range(PATIENCE):
        if check():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_after_ctrl_c_or_an_error_no_task_runs_on(
    tmp_path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the error is one of a task, or of this process: where a bar cannot be written, say."""

    def endless(number: int) -> None:
        if number == 0 and error is not KeyboardInterrupt:
            while not any(tmp_path.iterdir()):
                time.sleep(0.01)
            if error is ValueError:
                raise ValueError
            return
        (tmp_path / f"begun {number}").write_text(str(os.getpid()))
        try:
            with stop_flag() as raised:
                while not raised[0]:
                    time.sleep(0.01)
        finally:
            (tmp_path / f"ended {number}").touch()

    def broken_bar(results: Any, *_: Any) -> Iterator[Any]:
        yield next(iter(results))
        raise OSError

    monkeypatch.setattr(tasks, "show_progress", broken_bar)
    # What runs in the background of a shell has been told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if error is KeyboardInterrupt:
        threading.Thread(target=_interrupt, args=(tmp_path,), daemon=True).start()
    try:
        with pytest.raises(error):
            run_all(endless, range(4), progress="Bar" if error is OSError else "")
    finally:
        signal.signal(signal.SIGINT, before)

    def is_over() -> bool:
        begun = [path for path in tmp_path.iterdir() if path.name.startswith("begun")]
        return all(
            path.with_name(path.name.replace("begun", "ended")).exists()
            or not Path(f"/proc/{path.read_text()}").exists()
            for path in begun
        )

    assert _comes_true(is_over)
    assert run_all(abs, [-1, -2]) == [1, 2]


def _interrupt(once_begun: Path) -> None:
    _comes_true(lambda: any(once_begun.iterdir()))
    os.kill(os.getpid(), signal.SIGINT)  # to the process: one that is raised in this thread wakes no other


@pytest.mark.usefixtures("config")
def test_the_tasks_of_a_worker_that_is_killed_run_again(tmp_path: Path) -> None:
    mark = tmp_path / "killed"

    def fatal_once(number: int) -> int:
        time.sleep(0.01)
        if number == 7 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert run_all(fatal_once, range(30)) == list(range(30))
    assert mark.exists()
