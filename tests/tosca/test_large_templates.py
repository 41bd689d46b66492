"""Large templates stay quick. Measured in CPU time, so that a busy machine does not decide."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import pytest

from ecotone.tosca import compile_application, emit, graph_of, load_application


def benchmark() -> ModuleType:
    path = Path(__file__).parent.parent.parent / "benchmarks" / "tosca_compile.py"
    spec = importlib.util.spec_from_file_location("tosca_compile", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(services: int, folder: Path) -> float:
    path = folder / "large.tosca.yaml"
    path.write_text(benchmark().large_template(services))
    begin = time.process_time()
    application = load_application(path)
    graph = graph_of(application)
    objects = compile_application(application, graph)
    assert len(emit.documents(objects).split("\n---\n")) == len(objects) >= 2 * services - services // 10
    return time.process_time() - begin


def test_a_thousand_services_compile_in_a_second_or_so(tmp_path: Path) -> None:
    assert seconds(1_000, tmp_path) < 2.5


@pytest.mark.slow
def test_five_thousand_services_compile_in_under_five_seconds(tmp_path: Path) -> None:
    assert min(seconds(5_000, tmp_path) for _ in range(2)) < 5
