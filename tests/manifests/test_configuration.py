import pytest
import yaml

from ecotone.manifests.configuration import arguments, configuration_document, parse_configuration, read_configuration
from ecotone.manifests.yamltext import yaml_text
from ecotone.model.errors import InputError
from ecotone.scheduling import POLICIES, Framework, Profile, Solver, Use

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
    assert profile.args["NetworkAware"] == {"static": False}
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
