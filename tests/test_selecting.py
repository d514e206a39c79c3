from __future__ import annotations

import pytest

from podplan.core.path_syntax import FieldNotFound, format_path, resolve_path

POD = {
    "metadata": {"labels": {"app.kubernetes.io/name": "bert"}},
    "spec": {
        "containers": [
            {"name": "worker", "args": ["train.py", "--lr"], "env": [{"name": "RANK", "value": "0"}]},
            {"name": "7", "ports": [{"containerPort": 22}]},
        ]
    },
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.containers[0].args[1]", ("spec", "containers", 0, "args", 1)),
        ("spec.containers[worker].env[RANK].value", ("spec", "containers", 0, "env", 0, "value")),
        ("spec.containers[7]", ("spec", "containers", 1)),
        ("spec.containers[1].ports[22]", ("spec", "containers", 1, "ports", 0)),
        ('metadata.labels["app.kubernetes.io/name"]', ("metadata", "labels", "app.kubernetes.io/name")),
        ("/spec/containers/0/env/0/name", ("spec", "containers", 0, "env", 0, "name")),
        ("/metadata/labels/app.kubernetes.io~1name", ("metadata", "labels", "app.kubernetes.io/name")),
    ],
)
def test_select(text: str, path: tuple[str | int, ...]) -> None:
    assert resolve_path(POD, text) == path
    assert resolve_path(POD, format_path(POD, path)) == path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec.container", '"container" is not at spec; there is containers'),
        ("spec.containers[2]", '"2" is not at spec.containers; there is a list of 2: worker, 7'),
        ("spec.containers[worker].name.x", "there is only a str"),
        ("spec[", 'cannot be read from "[" on'),
        ("", ""),
    ],
)
def test_what_is_not_there(text: str, said: str) -> None:
    if not text:
        assert resolve_path(POD, text) == ()
        return
    with pytest.raises(FieldNotFound) as error:
        resolve_path(POD, text)
    assert said in str(error.value)
