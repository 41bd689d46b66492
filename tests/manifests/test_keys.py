import pytest

from ecotone.manifests import keys
from ecotone.model.objects import Coordinates

MIB = 1024.0 * 1024.0


@pytest.mark.parametrize(
    ("notes", "cpu"),
    [
        ({"ecotone.dev/available-cpu": "1500m"}, 1500.0),
        ({"ecotone.dev/available-cpu": "2"}, 2000.0),
        ({"available-cpu": "750"}, 750.0),
        ({"available-cpu": "750.5"}, 750.5),
        ({"available-cpu": "2k"}, 2_000_000.0),
        ({"ecotone.dev/available-cpu": "1", "available-cpu": "9"}, 1000.0),
        ({"ecotone.dev/available-cpu": "NaN", "available-cpu": "9"}, None),
        ({"available-cpu": "-4"}, None),
        ({"available-cpu": "inf"}, None),
        ({"available-cpu": "1e-300"}, 0.0),
        ({"ecotone.dev/available-cpu": "1n"}, 1e-6),
        ({"ecotone.dev/available-cpu": "0." + "0" * 20 + "1"}, 0.0),
        ({"ecotone.dev/available-cpu": "-1"}, None),
        ({"ecotone.dev/available-cpu": "much"}, None),
        ({}, None),
    ],
)
def test_available_cpu_is_ours_first_and_bare_sibling_numbers_are_millicores(notes, cpu):
    assert keys.available_cpu(notes) == cpu


def test_bare_sibling_memory_is_mebibytes():
    assert keys.available_memory({"available-memory": "512"}) == 512 * MIB
    assert keys.available_memory({"available-memory": "512Mi"}) == 512 * MIB
    assert keys.memory_usage({"memory-usage": "64"}) == 64 * MIB
    assert keys.memory_usage({"ecotone.dev/memory-usage": "64"}) == 64.0
    assert keys.cpu_usage({"cpu-usage": "30"}) == 30.0
    assert keys.cpu_usage({"ecotone.dev/cpu-usage": "30m"}) == 30.0


@pytest.mark.parametrize("prefix", ["l-", "network-latency.", "network-cost-"])
def test_sibling_latencies_are_read_per_node(prefix):
    assert keys.latencies({f"{prefix}n2": "12.5", f"{prefix}n3": "NaN", "other": "1"}) == {"n2": 12.5}


def test_our_latencies_win_as_a_whole():
    notes = {"ecotone.dev/latencies": '{"n2": 1}', "network-latency.n2": "9", "network-latency.n3": "9"}
    assert keys.latencies(notes) == {"n2": 1.0}


def test_among_siblings_measured_latency_wins_over_cost():
    assert keys.latencies({"network-latency.n2": "7", "network-cost-n2": "90", "l-n2": "8"}) == {"n2": 7.0}


@pytest.mark.parametrize("text", ["", "{", "[1]", "12", "null", '{"a": 1} x'])
def test_an_object_that_is_none_is_unknown(text):
    assert keys.json_numbers(text) is None


def test_entries_that_are_no_numbers_are_left_out():
    text = (
        '{"a": 1, "b": -1, "c": "2.5", "d": "x", "e": null, "f": true, "g": NaN, "h": Infinity, "i": [1], "j": 1e999}'
    )
    assert keys.json_numbers(text) == {"a": 1.0, "c": 2.5}


def test_traffic_and_affinity_of_siblings():
    notes = {"traffic.a": "1", "traffic-b": "2", "daff-a": "7", "daff-c": "3", "saff-d": "50", "saff-": "1"}
    assert keys.traffic(notes) == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert keys.affinity(notes) == {"d": 50.0}
    assert keys.traffic({}) is None


def test_losses_are_shares_and_percent_in_siblings():
    assert keys.losses({"packet-loss.b": "25"}) == {"b": 0.25}
    assert keys.losses({"ecotone.dev/losses": '{"b": 0.25}'}) == {"b": 0.25}
    assert keys.losses({}) is None
    assert keys.bandwidths({"network-bandwidth.b": "1000"}) == {"b": 1000.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [("50ms", 50.0), ("1.5s", 1500.0), ("2m", 120000.0), ("250us", 0.25), ("7", 7.0), ("soon", None), (None, None)],
)
def test_durations_in_milliseconds(text, value):
    assert keys.milliseconds(text) == value


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        ({"ecotone.dev/index": "2"}, 2),
        ({"index": "3"}, 3),
        ({"ecotone.dev/index": "1", "index": "3"}, 1),
        ({"index": "two"}, None),
        ({"index": "1.5"}, None),
        ({}, None),
    ],
)
def test_index_labels(labels, index):
    assert keys.index(labels) == index


def test_coordinates():
    def read(text):
        return keys.coordinates({"ecotone.dev/coordinates": text})

    assert read('{"vector": [-1, 2.5], "height": 0.5, "error": 0.1}') == Coordinates((-1.0, 2.5), 0.5, 0.1)
    assert read('{"vector": [1]}') == Coordinates((1.0,))
    for broken in ('{"vector": []}', '{"vector": 3}', '{"vector": [null]}', '{"vector": [1], "height": -1}', "x"):
        assert read(broken) is None


def test_protocols_say_who_is_waited_for():
    text = '{"a": "HTTP", "b": "gRPCRoute", "c": "MQTT", "d": "AMQPRoute", "e": "HTTPServerPush", "f": "smoke", "g": "tcp"}'
    found = keys.synchronous({"ecotone.dev/protocols": text})
    assert found == {"a": True, "b": True, "c": False, "d": False, "e": False, "g": True}
    assert keys.deadlines({"ecotone.dev/deadlines": '{"a": 200}'}) == {"a": 200.0}
    assert keys.deadlines({}) == {}
    assert keys.soft_deadlines({"ecotone.dev/soft-deadlines": '{"a": 200}'}) == {"a": 200.0}
    assert keys.soft_deadlines({}) == {}


def test_measured_at_that_is_no_time_counts_as_not_said():
    assert keys.measured_at({"ecotone.dev/measured-at": "1970-01-01T00:01:00Z"}) == 60.0
    assert keys.measured_at({"ecotone.dev/measured-at": "soon"}) is None


@pytest.mark.parametrize(
    "name",
    [
        "latencies",
        "bandwidths",
        "losses",
        "traffic",
        "requests",
        "affinity",
        "deadlines",
        "soft-deadlines",
        "protocols",
    ],
)
def test_every_key_that_holds_an_object_is_missed_when_it_holds_none(name):
    key = f"ecotone.dev/{name}"
    assert keys.unreadable({key: "{db: 3}"}) == [key]
    assert keys.unreadable({key: '{"db": 3}'}) == []


def test_traffic_with_output_proxies_is_read_under_the_key_of_the_thesis():
    assert keys.traffic({"daff-cart": "5", "traff-orders-db": "7"}) == {"cart": 5.0, "orders-db": 7.0}
