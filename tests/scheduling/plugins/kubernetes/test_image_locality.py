import pytest

from asking import raw_scores
from builders import cluster, node, pod
from ecotone.scheduling.plugins.kubernetes.image_locality import ImageLocality, with_tag

plugin = ImageLocality()
MEGABYTE = 1024 * 1024


def wanting(*images: str, containers: int = 1):
    return pod("web-0", spec={"images": images, "containers": containers})


def test_the_size_counts_by_the_share_of_nodes_that_hold_it():
    holding = {"shop/web:1": 500 * MEGABYTE}
    state = cluster([node("a", images=holding), node("b", images=holding), node("c"), node("d")])
    # 500 MB x 2/4 = 250 MB, between 23 MB and 1000 MB: 100 * 227 // 977
    assert raw_scores(plugin, state, wanting("shop/web:1")) == {"a": 23, "b": 23, "c": 0, "d": 0}
    # Twice the containers, twice the ceiling: 100 * 227 // 1977
    assert raw_scores(plugin, state, wanting("shop/web:1", containers=2)) == {"a": 11, "b": 11, "c": 0, "d": 0}


def test_below_23_megabytes_is_nothing_and_above_the_ceiling_is_100():
    state = cluster([node("a", images={"tiny:1": 23 * MEGABYTE}), node("b", images={"huge:1": 5000 * MEGABYTE})])
    assert raw_scores(plugin, state, wanting("tiny:1")) == {"a": 0, "b": 0}
    assert raw_scores(plugin, state, wanting("huge:1")) == {"a": 0, "b": 100}


def test_images_add_up_each_rounded_down_to_whole_bytes():
    third = {"x:1": 100 * MEGABYTE + 1, "y:1": 200 * MEGABYTE + 1}
    state = cluster([node("a", images=third), node("b"), node("c")])
    # (100 MB + 1)/3 and (200 MB + 1)/3 in whole bytes
    total = int((100 * MEGABYTE + 1) * (1 / 3)) + int((200 * MEGABYTE + 1) * (1 / 3))
    expected = 100 * (total - 23 * MEGABYTE) // (2000 * MEGABYTE - 23 * MEGABYTE)
    assert raw_scores(plugin, state, wanting("x:1", "y:1", containers=2)) == {"a": expected, "b": 0, "c": 0}


def test_no_opinion_on_unknown_images():
    state = cluster([node("a", images={"x:1": MEGABYTE})])
    assert raw_scores(plugin, state, wanting("y:1")) is None
    assert raw_scores(plugin, state, wanting()) is None


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("web", "web:latest"),
        ("web:1", "web:1"),
        ("host:5000/web", "host:5000/web:latest"),
        ("host:5000/web:1", "host:5000/web:1"),
    ],
)
def test_a_name_without_a_tag_means_latest(given, known):
    assert with_tag(given) == known
    state = cluster([node("a", images={known: 1023 * MEGABYTE})])
    assert raw_scores(plugin, state, wanting(given)) == {"a": 100}
