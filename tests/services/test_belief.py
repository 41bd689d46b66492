"""A running program believes what is measured while the policy stands, and reads everything anew when that changes."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import ParamSpec

import pytest

from ecotone.kube.client import ApiClient
from ecotone.manifests import figures_policy
from ecotone.model.objects import WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.services import belief
from ecotone.services.feeds import Feeds
from ecotone.services.live_cache import LiveCache
from services.fake_api import FakeApi, node, pod, serving

P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*arguments, **named))

    return run


POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
KEY = WorkloadKey("default", "bare", "Pod")


@asynccontextmanager
async def feeding(api: FakeApi, *, trust: bool = False) -> AsyncIterator[tuple[Feeds, LiveCache]]:
    """Mirrors of a cluster with a measured node and a pod that says what it uses."""
    await api.put("nodes", node("n1", annotations={"ecotone.dev/available-cpu": "3"}))
    bare = pod("bare")
    bare["metadata"]["annotations"] = {"ecotone.dev/cpu-usage": "7"}
    await api.put("pods", bare)
    async with ApiClient(api.connection(), user_agent="test") as client:
        cache = LiveCache(ClusterState())
        feeds = Feeds(client, cache, silence=60, trust_annotations=trust)
        running = asyncio.create_task(feeds.run())
        try:
            await asyncio.wait_for(feeds.wait_synced(), 20)
            yield feeds, cache
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def believes(cache: LiveCache) -> bool:
    workload = cache.workloads.get(KEY)
    seen = [node.available_cpu is not None for node in cache.nodes.nodes] + [workload is not None]
    assert len(set(seen)) == 1, "all objects or none"
    assert cache.state.vouched is seen[0] and cache.view(0.0).vouched is seen[0]
    return seen[0]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("gone", [POLICIES, BINDINGS])
@in_a_loop
async def test_without_policy_or_binding_nothing_measured_counts(gone: str, caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as api:
        await api.remove(gone, figures_policy.NAME)
        async with feeding(api) as (_, cache):
            assert not believes(cache)
    assert "not believed" in caplog.text and "--trust-annotations" in caplog.text


@in_a_loop
async def test_with_the_policy_or_somebodys_word_everything_counts() -> None:
    async with serving() as api:
        async with feeding(api) as (_, cache):
            assert believes(cache)
        await api.remove(POLICIES, figures_policy.NAME)
        async with feeding(api, trust=True) as (_, cache):
            assert believes(cache)
        asked = [path for _, path, _ in api.requests if POLICIES in path]
        assert len(asked) == 1, "whoever is told to believe does not ask"


@in_a_loop
async def test_belief_comes_and_goes_with_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "LOOK_SECONDS", 0.02)

    def all_alike(cache: LiveCache, wanted: bool) -> bool:
        nodes = [node.available_cpu is not None for node in cache.nodes.nodes]
        return nodes == [wanted] and (KEY in cache.workloads) is wanted

    async with serving() as api, feeding(api) as (_, cache):
        assert believes(cache)
        await api.remove(BINDINGS, figures_policy.NAME)
        await until(lambda: all_alike(cache, False))
        assert not believes(cache)
        await api.put(BINDINGS, figures_policy.binding())
        await until(lambda: all_alike(cache, True))
        assert believes(cache)


@in_a_loop
async def test_a_server_that_cannot_be_asked_just_now_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "LOOK_SECONDS", 0.02)
    async with serving() as api, feeding(api) as (_, cache):
        asked = [0]

        def broken(request: object) -> tuple[int, dict[str, object]] | None:
            if POLICIES not in str(getattr(request, "path", "")):
                return None
            asked[0] += 1
            return 503, {"kind": "Status", "message": "busy", "code": 503}

        api.refused = broken
        await until(lambda: asked[0] >= 3)
        assert believes(cache)


@in_a_loop
async def test_who_may_not_look_does_not_believe(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as api:
        api.refused = lambda request: (
            (403, {"kind": "Status", "message": "forbidden", "code": 403}) if POLICIES in request.path else None
        )
        async with feeding(api) as (_, cache):
            assert not believes(cache)
    assert "may not be looked at" in caplog.text
