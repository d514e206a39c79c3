"""What an editor asks about a place in a text: completion, hover, fixes."""

from __future__ import annotations

from pathlib import Path

from tests.editing.project import CR, JOB
from tests.editor import Editor, Message


def place(editor: Editor, name: str, text: str) -> Message:
    """Params for the place that | marks in a text, which the editor gets without it."""
    before = text.partition("|")[0]
    editor.change(name, text.replace("|", "", 1))
    return editor.at(name, before.count("\n"), len(before.rpartition("\n")[2]))


def completed(editor: Editor, name: str, text: str) -> dict[str, str]:
    """What is proposed at |, each with the text that would be written."""
    result = editor.request("textDocument/completion", place(editor, name, text))
    return {item["label"]: item["textEdit"]["newText"] for item in result["items"]}


def hover(editor: Editor, name: str, text: str) -> str:
    result = editor.request("textDocument/hover", place(editor, name, text))
    return str(result["contents"]["value"]) if result else ""


def test_every_value_of_the_schema_is_proposed_where_the_text_is_broken(project: Path) -> None:
    head = (project / JOB).read_text().partition("  job:")[0]
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        assert completed(editor, JOB, head + "  launcher: |\n  nonsense\n") == {
            name: name for name in ("torchrun", "python", "deepspeed", "colossalai", "mpirun")
        }
        assert completed(editor, JOB, head + "  job: Py|\n")["PyTorchTrainingJob"] == "PyTorchTrainingJob"
        assert completed(editor, JOB, head + "  shm: |\n").keys() >= {"auto", "none"}
        assert completed(editor, JOB, head + "  mode:|\n")["debug"] == " debug"
        assert "readOnly" in completed(editor, JOB, head + "  data:\n  - {name: a, |\n  image: b\n")
        fields = completed(editor, JOB, head + "  repl|\n  image: b\n")
        assert fields["replicas"] == "replicas: "
        assert fields["schedule"] == "schedule:"
        assert not {"image", "extends"} & fields.keys()
        assert completed(editor, JOB, head + "  environments:\n    dev:\n      hard|\n")["hardware"]
        assert completed(editor, JOB, head + "  repl|icas: 3\n")["replicas"] == "replicas"
        assert completed(editor, JOB, head + "  # hard|\n") == {}
        assert editor.end() == (0, "")


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: {kind}
metadata: {{name: {name}}}
spec: {{template: {{spec: {{replicatedJobs: []}}}}}}
"""


def test_runtimes_are_those_of_the_repository(project: Path) -> None:
    for kind, name in (("ClusterTrainingRuntime", "torch-platform"), ("TrainingRuntime", "torch")):
        (project / f"{name}.yaml").write_text(RUNTIME.format(kind=kind, name=name))
    head = (project / JOB).read_text().partition("  job:")[0] + "  job: TrainJob\n"
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        assert list(completed(editor, JOB, head + "  runtime: |\n")) == ["torch-platform"]
        assert set(completed(editor, JOB, head + "  runtime: {name: |}\n")) == {"torch", "torch-platform"}
        assert "runtime" in completed(editor, JOB, head + "  run|\n")
        assert "name of a ClusterTrainingRuntime" in hover(editor, JOB, head + "  runt|ime: torch-platform\n")
        assert editor.end() == (0, "")


def test_names_are_those_of_the_inventory_and_the_params(project: Path) -> None:
    head = (project / JOB).read_text().partition("  job:")[0]
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        for text, names in {
            "  hardware: |\n": ["h100x8", "a10x1"],
            "  roles: [{name: a, hardware: |\n": ["h100x8", "a10x1"],
            "  schedule:\n    queue: |\n": ["research", "debug"],
            "  data:\n  - pvc: |\n": ["imagenet"],
            "  env:\n    KEY: {secret: |\n": ["wandb/api-key"],
            '  params: {lr: {}}\n  run: [a.py, "${{ params.|': ["lr", "seed"],
            '  run: [a.py, "${{ inventory.hardware.|': ["h100x8", "a10x1"],
            "  params: {lr: {}}\n  environments: {dev: {values: {|}}}\n": ["lr", "seed"],
        }.items():
            assert list(completed(editor, JOB, head + text)) == names, text
        assert list(completed(editor, JOB, head.replace("[../bases/training.yaml]", "\n  - |"))) == [
            "../bases/training.yaml"
        ]
        assert editor.end() == (0, "")


def test_a_cr_is_completed_and_explained_by_its_own_schema(project: Path) -> None:
    cr = (project / CR).read_text()
    with Editor(project) as editor:
        editor.start()
        editor.open(CR)
        assert editor.diagnostics(CR) == []
        assert "imagePullPolicy" in completed(editor, CR, cr + "          imageP|")
        assert list(completed(editor, CR, cr + "          imagePullPolicy: |")) == [
            "Always",
            "IfNotPresent",
            "Never",
        ]
        said = hover(editor, CR, cr.replace("procPerNode", "proc|PerNode"))
        assert "worker → 3 Pods × 8 GPUs = 24" in said
        assert '- `spec.containers[pytorch].command[4]`: `"8"`' in said
        assert "in Pod/count-worker-{1..2}:" in said
        assert "[anchored]" in hover(editor, CR, cr.replace("type: worker", "type: work|er"))
        assert editor.end() == (0, "")


def test_hover_tells_the_effective_value_and_hides_secrets(project: Path) -> None:
    job = (project / JOB).read_text()
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        said = hover(editor, JOB, job.replace("processes: auto", "processes: au|to"))
        assert "- dev: worker → 1 Pod × 1 GPU = 1" in said
        assert '- `spec.torchrunConfig.procPerNode`: `"1"`' in said
        assert "[documented]" in said
        secret = job.replace("  env: {", "  env: {WANDB_API_KEY: 0123456789abcdef0123456789abcdef01234567, ")
        said = hover(editor, JOB, secret.replace("WANDB", "WAN|DB"))
        assert "(not shown: secret)" in said
        assert "0123456789abcdef" not in said
        assert hover(editor, JOB, job.replace("  replicas: 32", "| replicas: 32")) == ""
        broken = job.replace("  replicas: 32", "  repl|icas: {").replace("launcher:", "launcher")
        assert "How many Pods." in hover(editor, JOB, broken)
        unfinished = "apiVersion: podplan/v1\nkind: JobProfile\nspec: {job: DeepSpeedJob, proc|esses: 3, {"
        assert "processes: auto is written out" in hover(editor, JOB, unfinished)
        generic = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nspec:\n  success|Rules: {\n"
        assert "one of its successRules" in hover(editor, JOB, generic)
        assert editor.end() == (0, "")


def test_fixes_are_offered_where_they_belong(project: Path) -> None:
    job = (project / JOB).read_text()
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB, job.replace("image:", "imagee:"))

        def offered(only: list[str] | None = None, where: Message = everywhere) -> list[Message]:
            context = {"diagnostics": [], **({"only": only} if only else {})}
            document = {"uri": editor.uri(JOB)}
            return list(
                editor.request(
                    "textDocument/codeAction", {"textDocument": document, "range": where, "context": context}
                )
            )

        [rename, remove, whole] = offered()  # without waiting for the findings
        assert remove["title"] == "CR009: remove RANK"
        assert rename["kind"] == "quickfix"
        assert rename["edit"]["changes"][editor.uri(JOB)][0]["newText"] == "image"
        assert offered(only=["source.fixAll"]) == [whole] == offered(only=["source.fixAll.podplan"])
        assert offered(only=["refactor"]) == []
        assert offered(where={"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}) == [
            whole
        ]
        edits = whole["edit"]["changes"][editor.uri(JOB)]
        assert [edit["newText"] for edit in edits] == [
            "  image: registry.example.com/nlp/train:1.8.0\n",
            '  env: {TITLE: "训练 🚀"}\n',
        ]
        assert editor.end() == (0, "")
