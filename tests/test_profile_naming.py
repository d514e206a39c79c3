from __future__ import annotations

import pytest

from podplan.profile.naming import compute_content_hash
from tests.profile_texts import came_from, faults, messages, one, profile, run


def names(text: str) -> list[str]:
    result = run(text)
    assert result.diagnostics == ()
    return [variant.doc.data["metadata"]["name"] for variant in result.variants]


def test_without_a_matrix_the_name_stays() -> None:
    assert names(profile("image: a")) == ["resnet"]
    assert names(profile("naming: {suffix: none}")) == ["resnet"]
    assert "naming" not in one(profile("naming: {suffix: none}")).data["spec"]


def test_a_hash_of_the_content() -> None:
    assert names(profile("naming: {suffix: contentHash}\nimage: a\nreplicas: 2")) == ["resnet-b90d421d"]
    same = profile(
        "replicas: 2\nimage: ${{ params.i }}\nparams: {i: {default: a}}\nnaming: {suffix: contentHash}"
    )
    assert names(same) == ["resnet-b90d421d"]
    assert names(profile("naming: {suffix: contentHash}\nimage: a\nreplicas: 3")) != ["resnet-b90d421d"]


def test_the_hash_never_changes() -> None:
    assert (
        compute_content_hash({"image": "é", "replicas": 1, "rate": 1e-05, "on": [True, None]}) == "7dcd3b05"
    )
    assert (
        compute_content_hash({"on": [True, None], "rate": 1e-05, "replicas": 1, "image": "é"}) == "7dcd3b05"
    )


def test_the_hash_does_not_count_labels() -> None:
    head = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: resnet, labels: {a: b}}\nspec:\n"
    assert names(profile("naming: {suffix: contentHash}\nimage: a\nreplicas: 2", head)) == ["resnet-b90d421d"]


def test_an_expression() -> None:
    text = profile("naming: {suffix: 'run-${{ params.k }}'}\nparams: {k: {default: 7}}")
    assert names(text) == ["resnet-run-7"]
    assert came_from(one(text), ("metadata", "name")) == "profile.yaml:3"
    assert names(profile("naming: {suffix: '${{ matrix.a }}'}\nmatrix: {axes: {a: [1, 2]}}")) == [
        "resnet-1",
        "resnet-2",
    ]


def test_a_hash_for_each_instance() -> None:
    text = profile("naming: {suffix: contentHash}\nmatrix: {axes: {a: [1, 2]}}\nreplicas: ${{ matrix.a }}")
    assert len(set(names(text))) == 2


@pytest.mark.parametrize(
    ("spec", "rule", "line", "said"),
    [
        ("naming: {suffix: v2}", "PROF001", 5, "none, contentHash or an expression"),
        ("naming: {suffix: 3}", "PROF001", 5, "none, contentHash or an expression"),
        ("naming: {suffix: '${{ params.x }}'}", "PROF009", 5, "no param"),
        ("naming: {suffix: '${{ 1 + }}'}", "PROF008", 5, "not an expression"),
        ("naming: {suffix: \"${{ 'A b' }}\"}", "PROF013", 5, "cannot be part of a name"),
        ("naming: {suffix: \"${{ '' }}\"}", "PROF013", 5, "cannot be part of a name"),
        ("naming: {suffix: '${{ [1] }}'}", "PROF008", 5, "list"),
        (
            "naming: {suffix: none}\nmatrix: {axes: {a: [1, 2]}}",
            "PROF013",
            3,
            'a-1 and a-2, have the name "resnet"',
        ),
        ("naming: {suffix: contentHash}\nmatrix: {axes: {a: [1, 2]}}", "PROF013", 3, "make it differ"),
    ],
)
def test_suffixes_that_cannot_be(spec: str, rule: str, line: int, said: str) -> None:
    assert faults(profile(spec)) == [(rule, line)]
    assert said in messages(profile(spec))
    assert run(profile(spec)).variants == ()


def test_a_profile_without_a_name_is_left_to_others() -> None:
    head = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {generateName: a-}\nspec:\n"
    assert one(profile("image: a\nmatrix: {axes: {a: [1]}}", head)).data["metadata"] == {"generateName": "a-"}
