"""Repositories with a secret, in each possible place, on a line that podplan reports."""

from __future__ import annotations

PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: train, namespace: nlp}
spec:
  job: PyTorchTrainingJob
  image: a:1
  resources: {limits: {cpu: 1, memory: 1Gi}}
"""
RUN = "  run: {exec: [bash, -c, 'torchrun --nproc_per_node=$X x.py']}\n"
CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: train, namespace: nlp}
spec:
  replicaSpecs:
  - type: worker
    template:
      spec:
        containers:
        - {name: pytorch, image: a:1, command: [bash, -c, "torchrun --nproc_per_node=$X x.py"]}
"""
BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nspec:\n"
APPLIED = 'last-applied: \'{"env": [{"name": "HF_TOKEN", "value": "MARK"}]}\''
KEY = "-----BEGIN PRIVATE KEY-----\\nMARK\\n-----END PRIVATE KEY-----"


def profile(text: str) -> dict[str, str]:
    return {"job.yaml": PROFILE + RUN + text}


def cr(container: str) -> dict[str, str]:
    """Build a CR with further fields in its container."""
    return {"job.yaml": CR.replace("]}\n", f"], {container}}}\n")}


def beside_cr(other: str) -> dict[str, str]:
    return {"job.yaml": CR, "other.yaml": other}


def on_base(text: str) -> dict[str, str]:
    return {**profile("  extends: [base.yaml]\n"), "base.yaml": BASE + text}


def broken(lines: str) -> dict[str, str]:
    """Build a profile with lines among its variables that are no YAML."""
    return profile(f"  env:\n    A: b\n    {lines}\n    C: d\n")


def in_shell(text: str) -> dict[str, str]:
    return {"job.yaml": CR.replace("torchrun", f"{text} torchrun").replace("$X", "$A_TOKEN")}


def as_param(text: str, used_by: str) -> dict[str, str]:
    return {"job.yaml": PROFILE + f"  params: {text}\n" + used_by}


# The place of the secret -> the files of a repository, with MARK in its place.
OF_VARIABLES: dict[str, dict[str, str]] = {
    "variable": profile("  env: {X: a, HF_TOKEN: MARK, oops: [1]}\n"),
    "variable in camel case": profile("  env: {dbPassword: MARK, oops: [1]}\n"),
    "variable that another one takes": profile("  env: {X: $(wandbApiKey), wandbApiKey: MARK}\n"),
    "variable with a wrong type": profile("  env: {DB_PASSWORD: [MARK]}\n"),
    "variable that is a map": profile("  env: {DB_PASSWORD: {MARK}}\n"),
    "variable with a misspelt field": profile("  env: {hfToken: {valu: MARK}}\n"),
    "variable of an environment": profile("  environments: {a: {env: {X: $(A_TOKEN), A_TOKEN: MARK}}}\n"),
    "variable of a role": profile(
        "  roles: [{name: worker, env: {X: $(A_TOKEN), A_TOKEN: MARK}, oops: 1}]\n"
    ),
    "variable of an override": profile(
        "  override: [{reason: a, spec: {replicaSpecs: [{type: worker, template: {spec: {containers:"
        " [{name: b, image: a, env: [{name: MY_TOKEN, value: [MARK]}]}]}}}]}}]\n"
    ),
    "variable of a base": on_base("  env: {X: $(A_TOKEN), A_TOKEN: MARK, oops: [1]}\n"),
    "variable of a CR": cr("env: [{name: X, value: $(HF_TOKEN)}, {name: HF_TOKEN, value: MARK}]"),
    "variable of a CR with a wrong type": cr("env: [{name: HF_TOKEN, value: [MARK]}]"),
    "variable of a CR that is a map": cr("env: [{name: HF_TOKEN, value: {a: MARK}}]"),
    "variable of a CR with a misspelt field": cr("env: [{name: HF_TOKEN, valu: MARK}]"),
    "variable of a CR with an unknown field": cr("env: [{name: HF_TOKEN, value: MARK, extra: MARK}]"),
    "variable of a CR with a misspelt name": cr("env: [{Nme: HF_TOKEN, value: MARK}]"),
    "variable of a CR with two misspelt fields": cr("env: [{nam: HF_TOKEN, vlue: MARK}]"),
    "variable of a CR with a list of names": cr("env: [{name: [HF_TOKEN], value: MARK}]"),
    "variable of a CR with a map as its name": cr("env: [{name: {HF_TOKEN}, value: MARK}]"),
    "variables of a CR as a map": cr("env: {HF_TOKEN: MARK}"),
    "variables of a CR as text": cr("env: [HF_TOKEN=MARK]"),
    "variables under a wrong name": cr("environment: [{name: HF_TOKEN, value: MARK}]"),
    "source of a variable": cr("env: [{name: HF_TOKEN, valueFrom: MARK}]"),
}
OF_PARAMS: dict[str, dict[str, str]] = {
    "default of a wrong type": as_param("{apiToken: {type: integer, default: MARK}}", RUN),
    "default that is used": as_param(
        "{apiToken: {type: string, default: MARK}}", RUN.replace("$X", "${{ params.apiToken }}")
    ),
    "default that breaks its rules": as_param("{password: {pattern: ^x, default: MARK, enum: [MARK]}}", RUN),
    "default, misspelt": as_param("{password: {type: string, defalt: MARK}}", RUN),
    "param that is no map": as_param("{password: MARK}", RUN),
    "part of a default": as_param(
        "{db: {type: object, maxProperties: 1, default: {dbPassword: MARK, a: 1}}}", RUN
    ),
    "value in an environment": as_param(
        "{apiToken: {type: string, maxLength: 3}}", RUN + "  environments: {a: {values: {apiToken: MARK}}}\n"
    ),
    "param of a base": on_base("  params: {secretKey: {type: string, maxLength: 2, default: MARK}}\n"),
    "param that a variable takes": as_param(
        "{p: {type: string, default: MARK}}", RUN + '  env: {X: $(A_TOKEN), A_TOKEN: "${{ params.p }}"}\n'
    ),
}
OF_TEXTS: dict[str, dict[str, str]] = {
    "option": cr("args: [--api-key=MARK, MARK], lifecycle: 1"),
    "option and its value": cr("args: [--api-key, MARK], lifecycle: 1"),
    "shell": in_shell("export A_TOKEN=MARK;"),
    "login in a script": in_shell("docker login -u me -p MARKMARK;"),
    "header": cr("args: ['curl -H \"Authorization: Bearer MARK\" x'], lifecycle: 1"),
    "URL": cr("env: [{name: X, value: 'pg://me:MARK@db/a'}], args: ['http://me:MARK@h/'], lifecycle: 1"),
    "private key": cr(f'env: [{{name: X, value: "{KEY}"}}], lifecycle: 1'),
    "comment": profile("  oops: 1  # token=MARK\n"),
    "annotation": {"job.yaml": CR.replace("nlp}", f"nlp, annotations: {{{APPLIED}}}, oops: 1}}")},
    "unknown field": {"job.yaml": CR.replace("  - type", "  - apiToken: MARK\n    type")},
}
OF_OBJECTS: dict[str, dict[str, str]] = {
    "Secret": beside_cr(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namspace: b}\nstringData: {a: MARK, b: [MARK]}\n"
    ),
    "Secret in a list": {
        "job.yaml": "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: Secret, metadata: {name: a}, stringDat: {a: MARK}}\n"
        "- " + CR.replace("\n", "\n  ")
    },
    "ConfigMap": beside_cr(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {dbPassword: [MARK], x: 'TOKEN=MARK'}\n"
    ),
}
OF_BROKEN_YAML: dict[str, dict[str, str]] = {
    "quote that is never closed": broken('DB_PASSWORD: "MARK'),
    "quote that is closed too early": broken('DB_PASSWORD: "MA"MARK"'),
    "second colon": broken("DB_PASSWORD: MARK: x"),
    "bracket": broken("DB_PASSWORD: [MARK"),
    "brace": broken("DB_PASSWORD: {MARK: 1, MARK: 2"),
    "alias": broken("DB_PASSWORD: *MARK"),
    "anchor": broken("DB_PASSWORD: &MARK a\n    DB_PASSWORD: &MARK b"),
    "tag": broken("DB_PASSWORD: !MARK x"),
    "sign": broken("DB_PASSWORD: @MARK"),
    "percent sign": broken("DB_PASSWORD: %MARK"),
    "text behind a quote": broken("DB_PASSWORD: 'a' MARK"),
    "tab": broken("DB_PASSWORD: a\n\tMARK"),
    "lines": broken("DB_PASSWORD:\n      MARK\n      x: y: z"),
    "block": broken("DB_PASSWORD: |\n      a\n   MARK"),
    "expression": broken("DB_PASSWORD: ${{ MARK"),
    "repeated key": broken("DB_PASSWORD: {a: MARK, a: MARK, b: *MARK}"),
    "flow map": profile("  env: {DB_PASSWORD: MARK, X: [}\n"),
    "entry of a list": cr("env: [{value: MARK, name: HF_TOKEN, valu: MARK]"),
    "entry of a list with a misspelt name": cr("env: [{value: MARK, Nme: HF_TOKEN, valu: MARK]"),
    "entry over lines": {
        "job.yaml": CR.replace(
            "]}\n",
            "],\n          env:\n"
            "          - value: MARK: x\n            name: HF_TOKEN\n            valu: MARK\n",
        )
    },
}
PLACES = {**OF_VARIABLES, **OF_PARAMS, **OF_TEXTS, **OF_OBJECTS, **OF_BROKEN_YAML}
