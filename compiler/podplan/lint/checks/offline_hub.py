"""Hugging Face libraries in offline mode: with an empty cache, or with downloads.

Sources: https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables,
https://huggingface.co/docs/transformers/installation#offline-mode.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import DocumentPath
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_text, get_texts
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.outputs import ContainerPath, mount_of, named_values, trainings, volume_of
from podplan.lint.checks.python_sources import (
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
_HUB_PROGRAMS = frozenset(("huggingface-cli", "hf"))
TRUE = frozenset(("1", "on", "yes", "true"))
# The variable with precedence, then those from which its default derives, with the path below.
_OLD_CACHES = {"HF_DATASETS_OFFLINE": "HF_DATASETS_CACHE"}
_CACHES = (
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "/hub"),
    ("XDG_CACHE_HOME", "/huggingface/hub"),
    ("HOME", "/.cache/huggingface/hub"),
)
# The variables that name the cache of models, the one that counts first.
HUB_CACHES = ("TRANSFORMERS_CACHE", *(name for name, _ in _CACHES[:3]))
_ROOT_CACHE = "/root/.cache/huggingface/hub"
_OF_DATASETS = compile_lazily(r"(?:\w+[_-])?datasets?(?:[_-](?:name|path|id|repo))?")
_OF_MODELS = compile_lazily(
    r"(?:\w+[_-])?(?:model|tokenizer|processor|pretrained|base[_-]?model|teacher|student|reward[_-]?model)"
    r"(?:[_-](?:name|id|path|name[_-]or[_-]path|repo|model|name[_-]or[_-]path))*"
)
# Other names of the model that a training starts from.
_OF_BASES = compile_lazily(
    r"(?:hf_)?(?:base|backbone|encoder|llm|checkpoint|weights|init|init_from|from_pretrained|repo|repo_id)"
)
_LOADERS = {"from_pretrained": False, "SentenceTransformer": False, "load_dataset": True}  # of data sets
# A script that may fill the cache itself, or change the mode.
_MAY_FILL = ("_OFFLINE", "copytree", "subprocess", "os.system")
_HUB_ID = compile_lazily(r"[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*")
_LOCAL = compile_lazily(
    r"(?:checkpoints?|ckpts?|models?|outputs?|output_dir|runs?|data|datasets?|configs?|conf|src|weights|pretrained|exp|experiments?|logs?|results?|work|scripts|assets|artifacts|saved?|tmp)/.*",
)
_FILE = compile_lazily(r".*\.(?:pth?|ckpt|safetensors|bin|ya?ml|json|jsonl|txt|py|csv|parquet|gguf)")
_ONLY_READS = frozenset(("ls", "du", "df", "mkdir", "echo", "chmod", "chown", "rm", "export", "set", "cd"))


@check(aliases=("offline-without-cache",), requires=OFFLINE)
def offline_with_empty_cache(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Offline mode with an empty cache. Values: ``name``, ``cache``, ``volume``, ``id`` of a model."""
    for launch, where in trainings(subject.job):
        values = _variables(where.container)
        if any(get_entries(where.container, "envFrom")):
            continue
        offline = next((name for name in OFFLINE if values.get(name, ("", 0))[0].lower() in TRUE), None)
        if offline is None or any(name in ("cache_dir", "cache-dir") for name, _, _ in named_values(launch)):
            continue
        cache = _cache(values, _OLD_CACHES.get(offline, "TRANSFORMERS_CACHE"))
        found = mount_of(where.container, cache)
        if found is None:
            continue
        volume = get_text(found[1], "name")
        if "emptyDir" not in volume_of(where.group, volume) or _is_filled(
            where, volume, get_text(found[1], "mountPath")
        ):
            continue
        for id_, place in _iter_hub_ids(subject.job, launch, where, offline):
            shown = {"name": offline, "cache": cache, "volume": volume, "id": id_}
            mount = (*where.base, "volumeMounts", found[0], "mountPath")
            related = [
                (place.doc, place.path, "is read from the cache"),
                (where.group.doc, mount, "the empty cache"),
            ]
            at = (*where.base, "env", values[offline][1], "value")
            yield Violation(at, shown, related, doc=where.group.doc, group=where.group)
            break


def _iter_hub_ids(
    job: LoweredJob, launch: ContainerLaunch, where: ContainerPath, offline: str
) -> Iterator[tuple[str, DocumentPath]]:
    """Yield what a training reads from the cache by the name that it has in the hub, with its place."""
    is_of_datasets = offline == OFFLINE[2]
    wanted = (_OF_DATASETS,) if is_of_datasets else (_OF_MODELS, _OF_BASES)
    for name, value, word in named_values(launch):
        key = name.rpartition(".")[2].lower().replace("-", "_")
        if (wanted[0].fullmatch(name) or any(one.fullmatch(key) for one in wanted)) and _is_hub_id(value):
            yield value, DocumentPath(launch.group.doc, launch.locate_word(word))
    for at, entry in get_entries(where.container, "env"):
        key, value = get_text(entry, "name").lower(), get_text(entry, "value")
        if wanted[0].fullmatch(key) and _is_hub_id(value):
            yield value, DocumentPath(where.group.doc, (*where.base, "env", at, "value"))
    for source in list_python_sources(job):
        if source.launch is launch and not any(word in source.text for word in _MAY_FILL):
            for call, id_ in _iter_loads(source.tree, is_of_datasets=is_of_datasets):
                yield id_, DocumentPath(source.doc, source.locate(call))


def _iter_loads(tree: ast.Module, *, is_of_datasets: bool) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of a script that certainly load something by its name in the hub."""
    for statement in iter_certain_statements(tree):
        for node in iter_certain_expressions(statement):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if any(one.arg in (None, "cache_dir") for one in node.keywords):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else get_dotted_name(node.func)
            id_ = get_constant(node.args[0])
            if _LOADERS.get(name) is is_of_datasets and isinstance(id_, str) and _is_hub_id(id_):
                yield node, id_


@check(requires=OFFLINE[:1])
def download_in_offline_mode(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A download from the hub in a container in offline mode. Values: ``value``, ``command``."""
    for group in subject.job.pods if not is_mode_enabled(subject.job, "debug") else ():
        for base, container in (*list_init_containers(group), *list_containers(group)):
            value, at = _variables(container).get(OFFLINE[0], ("", 0))
            texts = [text for key in ("command", "args") for _, text in get_texts(container, key)]
            if value.lower() not in TRUE or any(OFFLINE[0] in text for text in texts):
                continue
            for _command, process in programs_of(container):
                words = [word.text for word in process.words[:2]]
                if process.name in _HUB_PROGRAMS and words[1:] == ["download"]:
                    values = {"value": f"{OFFLINE[0]}={value}", "command": f"{process.name} download"}
                    related = [(group.doc, below(base, process.place), "the download")]
                    place = (*base, "env", at, "value")
                    yield Violation(place, values, related, doc=group.doc, group=group)
                    break


def find_hub_id(launch: ContainerLaunch) -> Word | None:
    """The word by which a training names a model or a dataset of the hub."""
    for name, value, word in named_values(launch):
        if (_OF_MODELS.fullmatch(name) or _OF_DATASETS.fullmatch(name)) and _is_hub_id(value):
            return word
    return None


def _variables(container: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Return the variables with a literal value and their index."""
    return {get_text(one, "name"): (get_text(one, "value"), at) for at, one in get_entries(container, "env")}


def _cache(values: Mapping[str, tuple[str, int]], older: str) -> str:
    """Return the folder of the model cache; by default the one of root."""
    for name, subfolder in ((older, ""), *_CACHES):
        folder = values.get(name, ("", 0))[0]
        if folder:
            return normpath(folder + subfolder) if folder.startswith("/") else ""
    return _ROOT_CACHE


def _is_filled(where: ContainerPath, volume: str, folder: str) -> bool:
    """Whether something may write files to a volume before the training reads them."""
    others = [*list_init_containers(where.group), *list_containers(where.group)]
    is_shared = any(
        get_text(mount, "name") == volume
        for base, other in others
        if base != where.base
        for _, mount in get_entries(other, "volumeMounts")
    )
    return is_shared or any(
        process.name not in _ONLY_READS and _fills(process.words, folder)
        for command, process in programs_of(where.container)
        if command is not None
    )


def _fills(words: Any, folder: str) -> bool:
    listed = [word.text for word in words]
    return any("download" in word for word in listed) or any(
        word.startswith((folder, "$HF_"))
        for word in listed[1:]
        if listed[0] in ("cp", "rsync", "tar", "ln", "mv", "unzip")
    )


def _is_hub_id(value: str) -> bool:
    return (
        bool(_HUB_ID.fullmatch(value)) and not _LOCAL.fullmatch(value.lower()) and not _FILE.fullmatch(value)
    )
