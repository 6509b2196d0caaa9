"""Whether an event matches a pattern: AWS's documented examples, filter by filter."""

import json
from typing import Any

import pytest

from onthedot.events.patterns import check, matches

EVENT: dict[str, Any] = {
    "version": "0",
    "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
    "detail-type": "EC2 Instance State-change Notification",
    "source": "aws.ec2",
    "account": "111122223333",
    "time": "2017-12-22T18:43:48Z",
    "region": "us-west-1",
    "resources": ["arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0", "arn:other"],
    "detail": {
        "instance-id": "i-1234567890abcdef0",
        "state": "running",
        "c-count": 5,
        "d-count": 3,
        "x-limit": 301.8,
        "source-ip": "10.0.0.33",
        "source-ip6": "2001:db8::7",
        "file": "dir/sub/image.PNG",
        "stars": "a*b\\c",
        "empty": "",
        "nothing": None,
        "yes": True,
        "no": False,
        "inner": {"deep": {"leaf": 1}},
        "void": {},
        "none": [],
        "mixed": [1, "two", [3, [None]], {"four": 4}],
    },
}


def of(**fields: Any) -> dict[str, Any]:
    """A pattern of the detail's fields, with `_` for `-`."""
    return {"detail": {name.replace("_", "-"): wanted for name, wanted in fields.items()}}


def matched(pattern: dict[str, Any], event: dict[str, Any] = EVENT) -> bool:
    assert check(pattern) == []
    return matches(pattern, event)


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["aws.ec2"]},
        {"source": ["aws.s3", "aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"]},
        {"resources": ["arn:other"]},
        {"resources": ["no", "arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0"]},
        {"time": [{"prefix": "2017-12-22"}]},
        {"source": [{"prefix": {"equals-ignore-case": "AWS."}}]},
        {"source": [{"suffix": {"equals-ignore-case": ".EC2"}}]},
        {"source": [{"equals-ignore-case": "Aws.Ec2"}]},
        {"source": [{"suffix": "ec2"}]},
        {"source": [{"prefix": ""}]},
        of(state=["initializing", "running"]),
        of(empty=[""]),
        of(nothing=[None]),
        of(yes=[True], no=[False]),
        of(c_count=[{"numeric": [">", 0, "<=", 5]}], d_count=[{"numeric": ["<", 10]}]),
        of(x_limit=[{"numeric": ["=", 3.018e2]}]),
        of(c_count=[{"numeric": [">=", 5]}]),
        of(c_count=[5.0]),
        of(source_ip=[{"cidr": "10.0.0.0/24"}]),
        of(source_ip=[{"cidr": "10.0.0.99/24"}]),
        of(source_ip6=[{"cidr": "2001:db8::/32"}]),
        of(file=[{"wildcard": "dir/*.PNG"}]),
        of(file=[{"wildcard": "dir/sub/image.PNG*"}]),
        of(empty=[{"wildcard": "*"}]),
        of(stars=[{"wildcard": "a\\*b\\\\c"}]),
        of(stars=[{"wildcard": "*\\**\\\\*"}]),
        of(state=[{"anything-but": "stopped"}]),
        of(state=[{"anything-but": 5}], yes=[{"anything-but": 1}]),
        of(x_limit=[{"anything-but": [100, 200, 300]}]),
        of(state=[{"anything-but": {"prefix": "init"}}]),
        of(c_count=[{"anything-but": {"prefix": "5"}}]),
        of(file=[{"anything-but": {"suffix": [".png", ".jpg"]}}]),
        of(state=[{"anything-but": {"equals-ignore-case": ["Stopped", "RUN"]}}]),
        of(file=[{"anything-but": {"wildcard": "*/lib/*"}}]),
        of(state=[{"exists": True}], nothing=[{"exists": True}]),
        of(missing=[{"exists": False}]),
        of(missing=["x", {"exists": False}]),
        of(mixed=["two"]),
        of(mixed={"four": [4]}),
        of(mixed=[{"anything-but": "two"}]),
        of(inner={"deep": {"leaf": [{"numeric": ["=", 1.0]}]}}),
        of(state=["stopped", {"prefix": "run"}, {"numeric": ["=", 1]}]),
    ],
    ids=str,
)
def test_the_event_matches(pattern: dict[str, Any]) -> None:
    assert matched(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["aws.ec2"], "region": ["us-east-1"]},
        {"source": ["aws"]},
        {"source": ["AWS.EC2"]},
        {"source": [{"suffix": "EC2"}]},
        {"source": [{"equals-ignore-case": "aws.ec"}]},
        {"unknown": ["x"]},
        of(state=[None]),
        of(nothing=["", "null", 0, False]),
        of(empty=[None]),
        of(yes=[1, "true"], no=[0, "false"]),
        of(c_count=["5"]),
        of(c_count=[{"prefix": "5"}]),
        of(state=[{"numeric": ["<", 10]}]),
        of(yes=[{"numeric": ["=", 1]}]),
        of(c_count=[{"numeric": [">", 0, "<", 5]}]),
        of(source_ip=[{"cidr": "10.0.1.0/24"}]),
        of(source_ip=[{"cidr": "2001:db8::/32"}]),
        of(source_ip6=[{"cidr": "0.0.0.0/0"}]),
        of(state=[{"cidr": "0.0.0.0/0"}]),
        of(file=[{"wildcard": "dir/*.png"}]),
        of(file=[{"wildcard": "*/lib/*"}]),
        of(file=[{"wildcard": "dir/sub/image.PNG*G"}]),
        of(c_count=[{"wildcard": "*"}]),
        of(stars=[{"wildcard": "a\\*b"}]),
        of(state=[{"anything-but": "running"}]),
        of(state=[{"anything-but": ["running", "stopped"]}]),
        of(c_count=[{"anything-but": 5.0}]),
        of(state=[{"anything-but": {"prefix": ["init", "run"]}}]),
        of(file=[{"anything-but": {"suffix": ".PNG"}}]),
        of(state=[{"anything-but": {"equals-ignore-case": "RUNNING"}}]),
        of(file=[{"anything-but": {"wildcard": ["*/lib/*", "*/sub/*"]}}]),
        of(missing=[{"anything-but": "x"}]),
        of(none=[{"anything-but": "x"}]),
        of(inner=[{"anything-but": "x"}]),
        of(missing=[{"exists": True}]),
        of(state=[{"exists": False}]),
        of(nothing=[{"exists": False}]),
        of(mixed=[{"exists": False}]),
        of(mixed=["four", 4]),
        of(state={"deep": ["running"]}),
        {"detail.state": ["running"]},
    ],
    ids=str,
)
def test_the_event_does_not_match(pattern: dict[str, Any]) -> None:
    assert not matched(pattern)


@pytest.mark.parametrize("name", ["inner", "void", "none", "missing"])
def test_only_a_leaf_exists(name: str) -> None:
    assert matched(of(**{name: [{"exists": False}]}))
    assert not matched(of(**{name: [{"exists": True}]}))


def test_a_field_is_absent_inside_what_is_absent() -> None:
    assert matched(of(missing={"deeper": {"still": [{"exists": False}]}}))
    assert matched(of(state={"deeper": [{"exists": False}]}))
    assert not matched(of(missing={"deeper": [{"exists": False}], "other": ["x"]}))


@pytest.mark.parametrize("number", [300, 300.0, json.loads("3.0e2")])
@pytest.mark.parametrize("wanted", [300, json.loads("3.0e2"), {"numeric": ["=", 300]}])
def test_a_number_is_its_value_and_not_how_it_is_written(number: float, wanted: Any) -> None:
    assert matched(of(n=[wanted]), {"detail": {"n": number}})


@pytest.mark.parametrize("address", ["10.0.0.1 ", "010.0.0.1", "10.0.0.1/32", "10.0.1", "fe80::1%eth0", "", "a" * 9999])
def test_what_is_no_address_is_in_no_range(address: str) -> None:
    for network in ("0.0.0.0/0", "::/0"):
        assert not matched(of(ip=[{"cidr": network}]), {"detail": {"ip": address}})


EMPLOYEES = [
    {"first": "John", "last": "Doe", "tags": [{"k": "colour", "v": "blue"}, {"k": "size", "v": "big"}]},
    {"first": "Anna", "last": "Smith", "left": True},
]


@pytest.mark.parametrize("employees", [EMPLOYEES, [EMPLOYEES], [[EMPLOYEES[0]], [[EMPLOYEES[1]]]]])
def test_one_object_of_a_list_must_have_it_all(employees: list[Any]) -> None:
    event = {"detail": {"employees": employees}}
    assert matched(of(employees={"first": ["Anna"]}), event)
    assert matched(of(employees={"first": ["Anna"], "last": ["Smith"]}), event)
    assert not matched(of(employees={"first": ["Anna"], "last": ["Doe"]}), event)
    assert matched(of(employees={"first": ["John"], "tags": {"k": ["size"], "v": ["big"]}}), event)
    assert not matched(of(employees={"first": ["John"], "tags": {"k": ["size"], "v": ["blue"]}}), event)
    assert not matched(of(employees={"first": ["Anna"], "tags": {"k": ["size"]}}), event)


def test_in_a_list_of_objects_absence_is_judged_in_the_one_that_is_chosen() -> None:
    event = {"detail": {"employees": EMPLOYEES}}
    assert matched(of(employees={"first": ["John"], "left": [{"exists": False}]}), event)
    assert not matched(of(employees={"first": ["Anna"], "left": [{"exists": False}]}), event)
    assert matched(of(employees={"first": ["Anna"], "tags": {"k": [{"exists": False}]}}), event)


def test_where_none_is_chosen_absence_is_judged_in_all() -> None:
    event = {"detail": {"employees": EMPLOYEES}}
    assert not matched(of(employees={"left": [{"exists": False}]}), event)
    assert matched(of(employees={"right": [{"exists": False}]}), event)


def test_any_alternative_of_or_suffices() -> None:
    either: dict[str, Any] = {
        "source": ["aws.ec2"],
        "$or": [{"detail": {"state": ["stopped"]}}, {"detail": {"c-count": [{"numeric": [">", 4]}]}}],
    }
    assert matched(either)
    assert not matched({**either, "source": ["aws.s3"]})
    assert not matched({**either, "$or": [{"region": ["a"]}, {"region": ["b"]}]})


def test_or_stands_at_any_depth_and_inside_itself() -> None:
    pattern = {
        "$or": [{"region": ["eu"]}, {"account": ["111122223333"], "$or": [{"version": ["0"]}, {"id": ["x"]}]}],
        "detail": {"$or": [{"state": ["stopped"]}, {"inner": {"$or": [{"x": [1]}, {"deep": {"leaf": [1]}}]}}]},
    }
    assert matched(pattern)
    assert not matched(pattern, {**EVENT, "version": "1"})


def test_what_or_says_of_a_list_is_true_of_the_same_object_as_the_rest() -> None:
    pattern = {
        "detail": {"employees": {"first": ["Anna"]}},
        "$or": [{"detail": {"employees": {"last": ["Doe"]}}}, {"source": ["x"]}],
    }
    assert not matched(pattern, {"detail": {"employees": EMPLOYEES}})
    assert matched(pattern, {"detail": {"employees": [*EMPLOYEES, {"first": "Anna", "last": "Doe"}]}})


@pytest.mark.parametrize("name", ["source", "detail-type"])
def test_what_has_several_sources_is_no_event(name: str) -> None:
    assert not matched({name: ["x"]}, {name: ["x"]})


def test_no_pattern_or_event_takes_long() -> None:
    """Each would take years where a matcher goes back on its steps, recurses, or multiplies."""
    hostile = "*".join("a" * 1900)
    assert not matched(of(s=[{"wildcard": f"{hostile}*b"}]), {"detail": {"s": "a" * 250_000}})
    deep: Any = "x"
    for _ in range(50_000):
        deep = [deep]
    assert matched(of(s=["x"]), {"detail": {"s": deep}})
    lists: Any = [{"v": 1}]
    for _ in range(12):
        lists = [{"n": lists}, {"n": lists}]
    nest: Any = {"v": [2]}
    for _ in range(12):
        nest = {"n": nest}
    assert not matched({"detail": nest}, {"detail": lists})
