"""Image references, by the grammar that the kubelet parses them with."""

from __future__ import annotations

import pytest

from podplan.kubernetes.images import fault

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:1.36",
        "library/busybox",
        "registry.example.com/nlp/train:1.4",
        "registry.example.com:5000/nlp/train",
        "localhost/train:1",
        "localhost:5000/train:1",
        "Registry.Example.com/nlp/train:1",
        "[2001:db8::1]:5000/train:1",
        "a/b__c/d-e--f/g.h:V1.2_3-x",
        f"registry.example.com/train@{DIGEST}",
        f"registry.example.com/train:7@{DIGEST}",
        "nvcr.io/nvidia/pytorch:24.05-py3",
        f"{'a' * 255}:1",
        f"a:{'t' * 128}",
    ],
)
def test_references(image: str) -> None:
    assert fault(image) == ""


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("https://registry.example.com/train:1", "begins with the scheme https://"),
        ("docker://registry.example.com/train:1", "begins with the scheme docker://"),
        ("registry.example.com/NLP/train:1", 'upper-case letters in its repository, "NLP/train"'),
        ("Train", "upper-case letters"),
        ("registry.example.com/nlp/train:1:2", "more than one tag"),
        ("registry.example.com/nlp/train:", 'ends with ":" and no tag'),
        ("registry.example.com/nlp/train/", 'ends with "/"'),
        ("registry.example.com/nlp/train/:1", 'has a "/" before its tag'),
        ("registry.example.com//train:1", 'has "//" in it'),
        ("/nlp/train:1", "in the place of a repository"),
        (":1", "has no repository"),
        ("registry.example.com/nlp/my train:1", "has a blank in it"),
        (" registry.example.com/train:1", "has blanks around it"),
        ("registry.example.com/train:1\n", "has blanks around it"),
        ("registry.example.com/-train:1", "in the place of a repository"),
        ("registry.example.com/a..b:1", "in the place of a repository"),
        ("registry_x.example.com:5000/train:1", "in the place of a registry"),
        ("registry.example.com:port/train:1", "in the place of a registry"),
        ("registry.example.com/train:-1", "in the place of a tag"),
        ("registry.example.com/train:1+cu121", "in the place of a tag"),
        (f"a:{'t' * 129}", "in the place of a tag"),
        (f"{'a' * 256}:1", "more than 255 characters"),
        ("0123456789abcdef" * 4, "is an id of 64 hexadecimal digits"),
        ("train@sha256:abc", "which is no digest"),
        ("train@latest", "which is no digest"),
        ("train@", "which is no digest"),
        ("<registry>/train:1", "has the placeholder <registry> in it"),
    ],
)
def test_what_is_no_reference(image: str, said: str) -> None:
    assert said in fault(image)
