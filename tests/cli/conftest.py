import pytest

from cli.running import Run, runner


@pytest.fixture
def run(capfd) -> Run:
    return runner(capfd)
