from dataclasses import fields, replace

import pytest
import yaml

from ecotone.manifests.configuration import configuration_document, parse_configuration, read_configuration
from ecotone.manifests.configuration.arguments import arguments
from ecotone.manifests.yaml.text import yaml_text
from ecotone.model.errors import InputError
from ecotone.scheduling import POLICIES, DeschedulerSettings, Framework, Objective, Profile, Solver, Use
from ecotone.scheduling.profiles.descheduler import BEST_GAIN, TARGETS, THESIS

HEAD = "apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\n"
KUBE = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def read(text, head=HEAD):
    return parse_configuration(head + text, file="c.yaml")


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_printed_and_passed_back(name):
    text = yaml_text([configuration_document([POLICIES[name]])])
    assert read(text, head="") == (POLICIES[name],)


def test_all_of_them_in_one_file(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(yaml_text([configuration_document(POLICIES.values())]))
    assert read_configuration(file) == tuple(POLICIES.values())


def test_a_profile_from_nothing():
    (profile,) = read(
        """
profiles:
- schedulerName: mine
  plugins:
    multiPoint: {enabled: [{name: PrioritySort}, {name: NodeResourcesFit, weight: 2}]}
    score: {enabled: [{name: FirstFit, weight: 0.5}], disabled: [{name: NodeResourcesFit}]}
  tieBreak: [{name: ImageLocality}]
  tieDraw: true
  pluginConfig: [{name: NetworkAware, args: {perPod: true}}]
"""
    )
    assert profile == Profile(
        name="mine",
        scheduler_name="mine",
        enabled=(Use("PrioritySort"), Use("NodeResourcesFit", 2)),
        points={"score": (Use("FirstFit", 0.5),)},
        disabled={"score": frozenset({"NodeResourcesFit"})},
        tie_break=(Use("ImageLocality"),),
        tie_draw=True,
        args={"NetworkAware": {"perPod": True}},
    )
    assert [scorer.name for scorer in Framework(profile).scorers] == ["FirstFit"]


def test_a_profile_that_starts_from_a_policy():
    (profile,) = read(
        """
profiles:
- policy: sophos
  summary: more network
  plugins: {score: {enabled: [{name: NetworkAware, weight: 0.8}]}}
  pluginConfig: [{name: NetworkAware, args: {static: false}}]
"""
    )
    assert (profile.name, profile.summary, profile.scheduler_name) == ("sophos", "more network", "ecotone")
    assert profile.points["score"] == (Use("ResourceAware", 0.5), Use("NetworkAware", 0.8))
    assert profile.args["NetworkAware"] == {"combine": "raw", "perPod": True, "static": False}
    assert profile.enabled == POLICIES["sophos"].enabled


def test_kube_schedulers_own_configuration_starts_from_its_defaults():
    (profile,) = read(
        """
leaderElection: {leaderElect: true}
profiles:
- schedulerName: other
  plugins:
    multiPoint: {disabled: [{name: ImageLocality}], enabled: [{name: NodeAffinity, weight: 9}]}
    score: {disabled: [{name: NodeResourcesBalancedAllocation}]}
    bind: {enabled: [{name: DefaultBinder}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs}
  - {name: DefaultBinder, args: {x: 1}}
""",
        head=KUBE,
    )
    default = POLICIES["kube-default"]
    assert [use.name for use in profile.enabled] == [use.name for use in default.enabled if use.name != "ImageLocality"]
    assert Use("NodeAffinity", 9) in profile.enabled
    assert profile.disabled == {"score": frozenset({"NodeResourcesBalancedAllocation"})}
    assert profile.scheduler_name == profile.name == "other"
    assert parse_configuration(KUBE, file="c") == (default,)


def test_disabling_everything_leaves_what_is_enabled():
    (profile,) = read(
        "profiles: [{policy: kube-default, plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}]}}}]"
    )
    assert profile.enabled == (Use("PrioritySort"),)


def test_solvers():
    (profile,) = read("profiles: [{name: opt, solver: {name: pogonip-opt, args: {timeLimit: 5}}}]")
    assert profile.solver == Solver("pogonip-opt", {"timeLimit": 5})
    assert read("profiles: [{name: opt, solver: pogonip}]")[0].solver == Solver("pogonip")
    assert read("profiles: [{name: opt, solver: {name: pogonip, args: }}]")[0].solver == Solver("pogonip")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("profile: []", "c.yaml:3:1: unknown key 'profile' (did you mean `profiles`?)"),
        ("profiles: []", "c.yaml:3:11: profiles must list at least one profile"),
        ("", "c.yaml:1:1: profiles must list"),
        ("profiles: [3]", "3:12: a profile must be a mapping, not the integer 3"),
        ("profiles: [{schedulerNam: x}]", "3:13: unknown key 'schedulerNam' (did you mean `schedulerName`?)"),
        ("profiles: [{name: 3}]", "3:19: name must be text, not the integer 3 (quote it)"),
        ("profiles: [{policy: sofos}]", "3:21: unknown policy 'sofos' (did you mean `sophos`?)"),
        ("profiles: [{plugins: 3}]", "plugins must be a mapping"),
        ("profiles: [{plugins: {scores: {}}}]", "3:23: unknown key 'scores' (did you mean `score`?)"),
        ("profiles: [{plugins: {score: {enable: []}}}]", "unknown key 'enable' (did you mean `enabled`?)"),
        ("profiles: [{plugins: {score: {enabled: {}}}}]", "a list of plugins must be a list, not a mapping"),
        ("profiles: [{plugins: {score: {enabled: [NodeAffinity]}}}]", "a plugin with its name must be a mapping"),
        ("profiles: [{plugins: {score: {enabled: [{weight: 1}]}}}]", "a plugin without name"),
        (
            "profiles: [{plugins: {score: {enabled: [{name: NetworkAwar}]}}}]",
            "3:48: unknown plugin 'NetworkAwar' (did you mean",
        ),
        ("profiles: [{plugins: {score: {enabled: [{name: '*'}]}}}]", "unknown plugin '*'"),
        (
            "profiles: [{plugins: {score: {enabled: [{name: FirstFit, weight: -1}]}}}]",
            "weight must be a number above 0",
        ),
        ("profiles: [{plugins: {score: {enabled: [{name: FirstFit, weight: yes}]}}}]", 'not the string "yes"'),
        ("profiles: [{tieDraw: 1}]", "tieDraw must be true or false"),
        (
            "profiles: [{pluginConfig: [{name: NetworkAware, args: {perPodd: 1}}]}]",
            "unknown argument 'perPodd' (did you mean `perPod`?)",
        ),
        ("profiles: [{pluginConfig: [{name: FirstFit, args: {a: 1}}]}]", "3:52: unknown argument 'a' (it takes none)"),
        (
            "profiles: [{policy: ecotone, pluginConfig: [{name: ResponseTime, args: {apart: true}}]}]",
            "3:73: apart is gone: policy ecotone keeps replicas apart without being told, see redundancy in docs/policies.md",
        ),
        ("profiles: [{pluginConfig: [{args: {}}]}]", "a plugin's configuration without name"),
        ("profiles: [{solver: pogonipp}]", "unknown solver 'pogonipp' (did you mean `pogonip`?)"),
        ("profiles: [{solver: {name: pogonip, args: {ordr: 1}}}]", "unknown argument 'ordr' (did you mean `order`?)"),
        ("profiles: [{name: a}, {name: a}]", "3:23: the profile 'a' appears twice"),
    ],
)
def test_mistakes_are_named_with_their_place_and_the_nearest_word(text, error):
    with pytest.raises(InputError) as caught:
        read(text)
    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", "must be a mapping"),
        ("profiles: []", "no kind (kind: SchedulerConfiguration)"),
        ("kind: SchedulerConfig", "did you mean `SchedulerConfiguration`?"),
        ("kind: SchedulerConfiguration\napiVersion: v1", "apiVersion: ecotone.dev/v1alpha1"),
        ("kind: KubeSchedulerConfiguration\napiVersion: ecotone.dev/v1alpha1", "is not known"),
    ],
)
def test_what_is_no_configuration(text, error):
    with pytest.raises(InputError) as caught:
        read(text, head="")
    assert error in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_configuration(tmp_path / "c.yaml")
    with (tmp_path / "big.yaml").open("wb") as file:
        file.truncate(5 * 2**20)
    with pytest.raises(InputError, match="more than 4 MiB"):
        read_configuration(tmp_path / "big.yaml")


def test_a_factory_that_takes_anything_is_not_checked():
    assert arguments(dict) is None
    assert arguments(lambda **more: more) is None
    assert arguments(lambda snapshot, *, a, b=1: a + b) == ["a", "b"]
    assert arguments(lambda first, *, a: a, by_place=True) == ["first", "a"]


def test_printed_configurations_are_ordinary_yaml():
    document = configuration_document([POLICIES["sophos"]])
    assert yaml.safe_load(yaml_text([document])) == document


@pytest.mark.parametrize("name", POLICIES)
def test_a_profile_printed_read_and_printed_again_is_the_same_bytes(name):
    once = yaml_text([configuration_document([POLICIES[name]])])
    assert yaml_text([configuration_document(read(once, head=""))]) == once


def test_a_descheduler_starts_from_the_policys_and_keeps_what_is_not_named():
    (profile,) = read("profiles: [{policy: ecotone, descheduler: {minGain: 5, windows: [Mon-Fri 22:00-06:00]}}]")
    assert profile.descheduler == replace(TARGETS, min_gain=5.0, windows=("Mon-Fri 22:00-06:00",))


def test_a_descheduler_with_another_rule_starts_from_that_rules_settings():
    (profile,) = read("profiles: [{policy: ecotone, descheduler: {rule: thesis, coolDownSeconds: 30}}]")
    assert profile.descheduler == replace(THESIS, cool_down=30.0)


def test_a_descheduler_can_be_taken_away_and_given():
    assert read("profiles: [{policy: sophos, descheduler: null}]")[0].descheduler is None
    assert read("profiles: [{policy: first-fit, descheduler: {rule: thesis}}]")[0].descheduler == THESIS


def test_every_setting_of_a_descheduler_survives_being_written_and_read():
    settings = DeschedulerSettings(
        rule="best-gain",
        min_gain=2.5,
        min_relative_gain=0.3,
        last_replica_gain=0.4,
        single_replicas="surge",
        cool_down=1.0,
        no_return=2.0,
        min_pod_age=3.0,
        max_moves=None,
        max_group=4,
        group_gain=0.5,
        budget=1_000_000,
        rescue_after=60.0,
        reserve_for=6.0,
        windows=("Sat,Sun", "02:00-04:00"),
        local_storage=True,
        volume_claims=True,
        resource_claims=True,
        scheduler_names=frozenset({"b", "a"}),
        score=(Use("ResponseTime", 0.5), Use("NetworkAware")),
        queue_sort="IndexSort",
    )
    profile = replace(
        POLICIES["ecotone"], descheduler=settings, objective=Objective("points", "applications"), all_or_nothing=False
    )
    unchanged = [
        each.name for each in fields(settings) if getattr(settings, each.name) == getattr(BEST_GAIN, each.name)
    ]
    callers_own = ["stays", "only", "told", "unmeasured", "reach"]  # of one round, said by whoever runs it
    assert unchanged == ["rule", "args", *callers_own], "a new setting belongs into this test"
    assert read(yaml_text([configuration_document([profile])]), head="") == (profile,)


def test_groups_are_wholes_where_a_plugin_that_knows_them_is_enabled_unless_switched_off():
    plugins = "plugins: {multiPoint: {enabled: [{name: PrioritySort}]}, permit: {enabled: [{name: AtomicDeployment}]}}"
    assert read(f"profiles: [{{name: a, {plugins}}}]")[0].all_or_nothing
    (switched_off,) = read("profiles: [{policy: pogonip-plugins, allOrNothing: false}]")
    assert Framework(switched_off).permits == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("descheduler: {rule: theses}", "unknown rule of descheduling 'theses' (did you mean `thesis`?)"),
        ("descheduler: {minGains: 1}", "3:44: unknown key 'minGains' (did you mean `minGain`?)"),
        ("descheduler: {minGain: -1}", "3:53: minGain must be a number of at least 0, not the integer -1"),
        ("descheduler: {maxMovesPerRun: 1.5}", "maxMovesPerRun must be a whole number"),
        ("descheduler: {singleReplicas: surges}", "unknown singleReplicas 'surges' (did you mean `surge`?)"),
        ("descheduler: {windows: [Mon-Fry]}", "3:54: 'Mon-Fry' is no maintenance window"),
        ("descheduler: {localStorage: 1}", "localStorage must be true or false"),
        ("descheduler: {rule: best-gain, args: {batch: 1}}", "unknown argument 'batch' (it takes none)"),
        ("descheduler: {args: {togetherMs: 2}}", "3:51: togetherMs is gone: policy ecotone keeps replicas apart"),
        ("descheduler: {rule: plans, args: {apart: true}}", "3:64: apart is gone: policy ecotone keeps replicas apart"),
        ("descheduler: thesis", "descheduler must be a mapping"),
        ("objective: {unit: 3}", "unit must be text"),
        ("objective: {report: trafic}", "unknown report 'trafic' (did you mean `traffic`?)"),
        ("allOrNothing: maybe", "allOrNothing must be true or false"),
    ],
)
def test_mistakes_in_what_a_profile_aims_at_are_named_with_their_place(text, error):
    with pytest.raises(InputError) as caught:
        read(f"profiles: [{{policy: ecotone, {text}}}]")
    assert error in str(caught.value)


def test_a_descheduler_from_nothing_must_name_its_rule():
    with pytest.raises(InputError, match="must name its rule"):
        read("profiles: [{name: a, descheduler: {minGain: 1}}]")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "plugins: {filter: {enabled: [{name: NetworkAware}]}}",
            "c.yaml:3:66: plugin NetworkAware is enabled at filter, which it does not implement (it has score)",
        ),
        ("tieBreak: [{name: NodeName}]", "plugin NodeName is enabled at score, which it does not implement"),
        ("descheduler: {queueSort: NodeName}", "plugin NodeName is enabled at queueSort"),
        ("descheduler: {score: [{name: NodeName}]}", "plugin NodeName is enabled at score"),
    ],
)
def test_a_plugin_at_a_named_point_that_it_lacks_is_an_error_with_its_place(text, error):
    with pytest.raises(InputError) as caught:
        read(f"profiles: [{{policy: ecotone, {text}}}]")
    assert error in str(caught.value)


def test_at_multi_point_a_plugin_runs_where_it_can():
    (profile,) = read("profiles: [{policy: kube-default, plugins: {multiPoint: {enabled: [{name: NetworkAware}]}}}]")
    framework = Framework(profile)
    assert "NetworkAware" in [scorer.name for scorer in framework.scorers]
    assert "NetworkAware" not in [plugin.name for plugin in framework.filters]


def test_a_profile_made_by_hand_is_held_to_its_named_points_too():
    with pytest.raises(InputError, match="PrioritySort is enabled at filter"):
        Framework(Profile("p", enabled=(Use("PrioritySort"),), points={"filter": (Use("PrioritySort"),)}))
