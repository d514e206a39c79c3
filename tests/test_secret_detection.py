"""What is a secret: by its name, by the kind of its object, by its own form; and what only looks like one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.kubernetes import DEFAULT_VERSION
from podplan.lint.admission_policy import resolve_admission_policy
from podplan.lint.registry import load_builtin_policies
from podplan.redaction.broken_text import find_broken_text_secrets
from podplan.redaction.detection import (
    _iter_assigned_values,
    find_command_secrets,
    find_secrets,
    find_text_secrets,
    has_secret_form,
    is_secret,
    iter_flag_secrets,
    iter_secret_values,
)
from podplan.redaction.hints import may_hold_secret
from podplan.redaction.redactor import redact_data, redact_spans, redact_value_at, split_path
from podplan.redaction.secret_names import is_secret_field, is_secret_name
from podplan.tools.repository_tests.examples import find_violations
from podplan.yaml import find_secret_spans, parse_yaml
from tests.work_counts import work

SECRET_NAMES = [
    *("HF_TOKEN", "hf-token", "hfToken", "HFToken", "HF_TOKEN_2", "token", "TOKEN_BASE64", "oauth2Token"),
    *("dbPassword", "DB_PASSWORD", "db.password", "PGPASSWORD", "DB_PASSWORD_PROD", "passwords", "MYSQL_PWD"),
    *("wandbApiKey", "WANDB_API_KEY", "api-key", "APIKey", "apikey", "apiKeys", "AWS_SECRET_ACCESS_KEY"),
    *("s3SecretKey", "SSH_PRIVATE_KEY", "apiToken", "API_TOKENS", "clientSecret", "CREDENTIALS", "DB_PASS"),
    *("Authorization", "CONNECTION_STRING", "passphrase", "KAGGLE_KEY", "WANDB_KEY", "OPENAI_KEY", "hf-key"),
    *(
        "DB_PW",
        "MY_PW",
        "my_pass",
        "JWT",
        "MY_JWT",
        "SLACK_WEBHOOK",
        "SLACK_WEBHOOK_URL",
        "MYTOKEN",
        "mytoken_2",
    ),
]
OTHER_NAMES = [
    *("tokenizer", "TOKENIZERS_PARALLELISM", "max_tokens", "num_tokens", "tokens_per_batch", "maxToken"),
    *(
        "PAD_TOKEN",
        "eos_token",
        "padToken",
        "placeholder_token",
        "tokenPath",
        "token_id",
        "tokenType",
        "MAX_TOKENS",
    ),
    *("passthrough", "bypass", "compass", "forward_pass", "secretName", "PASSWORD_FILE", "secretKeyRef"),
    *("PADTOKEN", "eostoken", "detoken", "pw", "conv_pw", "WEBHOOK_URL", "github_webhook", "url"),
    *(
        "PARTITION_KEY",
        "S3_KEY",
        "CACHE_KEY",
        "key",
        "key_padding",
        "SORT_KEY",
        "publicKey",
        "keys",
        "AWS_ACCESS_KEY_ID",
        "PWD",
        "OLDPWD",
        "",
        "a" * 600,
    ),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(f"--{name}")
    assert is_secret_field(name) is (name != "CREDENTIALS")
    assert may_hold_secret(f"a: {name}: b")


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("name", ["secret", "secrets", "imagePullSecrets", "sshSecret"])
def test_a_field_may_refer_to_a_secret(name: str) -> None:
    assert not is_secret_field(name)
    assert is_secret_name(name)


def test_the_admission_policy_knows_the_same_names() -> None:
    (rule,) = (policy for policy in load_builtin_policies() if policy.rule.code == "PROF107")
    policy = resolve_admission_policy(rule, DEFAULT_VERSION)
    for name in (*SECRET_NAMES, *filter(None, OTHER_NAMES)):
        env = [{"name": name, "value": "not-a-secret-value"}]
        pod = {"containers": [{"name": "main", "image": "a:1", "env": env}]}
        labels = {"tensorstack.dev/owner-kind": "GenericJob"}
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": labels}, "spec": pod}
        found = [one.rule for one in find_violations({"object": whole}, [policy]) if one.rule == "PROF107"]
        assert bool(found) is is_secret_name(name), name


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("HF_TOKEN", "not-a-path", True),
        ("HF_TOKEN", "short", False),
        ("HF_TOKEN", "/run/secrets/token", False),
        ("HF_TOKEN", "$(OTHER)", False),
        ("X", "not-a-path", False),
        ("X", "postgres://me:hunter2@db/a", True),
        ("X", "ghp_" + 36 * "a", True),
        ("X", "-----BEGIN RSA PRIVATE KEY-----\nabc", True),
        ("X", "sk-learn-pipelines-are-no-secret", False),
    ],
)
def test_what_a_policy_reports(name: str, value: str, expected: bool) -> None:
    assert is_secret(name, value) is expected
    assert not expected or name != "X" or (has_secret_form(value) and may_hold_secret(value))


@pytest.mark.parametrize(
    "data",
    [
        {"env": {"A_TOKEN": {"x": "MARK-a", "y": ["MARK-b"], "secret": "hub/name"}}},
        {"env": {"A_TOKEN": {"configMap": "hub/name"}, "B_TOKEN": {3: 4567, "four": 12}}},
        {
            "env": [
                {"name": "A_TOKEN", "value": "MARK"},
                {"name": "B_TOKEN", "valueFrom": {"secretKeyRef": {}}},
            ]
        },
        {"env": [{"name": "A_TOKEN", "value": ["MARK"], "valu": "MARK", "other": {"a": "MARK"}}]},
        {"env": [{"Nme": "A_TOKEN", "vlue": "MARK"}, {"name": ["A_TOKEN"], "value": "MARK"}]},
        {"env": [{"variable": "A_TOKEN", "value": "MARK", "valueFrom": {"secretKeyRef": {"name": "words"}}}]},
        {"env": [{"name": "words", "extra": "A_TOKEN", "value": "MARK"}]},
        {"env": [{"name": "words", "value": "A_TOKEN"}, {"name": "words", "vlue": "A_TOKEN"}]},
        {"other": [{"Name": "A_TOKEN", "value": "MARK"}, {"title": "A_TOKEN", "value": "words"}]},
        {
            "other": [
                {"name": "A_TOKEN", "val": "MARK", "mountPath": "/a"},
                {"key": "A_TOKEN", "value": "MARK"},
            ]
        },
        {
            "params": {
                "password": {"description": "words", "default": "MARK", "enum": ["MARK"], "type": "string"}
            }
        },
        {"params": {"tokens": {"default": "words"}, "password": "MARK"}},
        {"params": {"db": {"default": {"password": "MARK", "host": "words"}}}},
        {"values": {"password": "MARK", "rate": "words", "api_key": ["MARK"]}},
        {
            "command": [
                "bash",
                "-c",
                "curl -sL --user me:MARK-MARK https://words; sshpass -p MARK-MARK ssh a@b",
            ]
        },
        {"command": ["sshpass", "-p", "MARK-MARK", "ssh", "-p", "22222222", "words@words"]},
        {"args": ["--api-key", "MARK-MARK", "--epochs", "90", "--token=MARK-MARK", "--use-token", "--x"]},
        {"a": {"apiToken": "MARK", "imagePullSecrets": ["name"], "serviceAccountToken": {"path": "x"}}},
        {"metadata": {"annotations": {"a/b": '{"env": [{"name": "A_TOKEN", "value": "MARK-MARK"}]}'}}},
        {"url": "see https://me:MARK@host/a and http://host:80/@b", "web": "https://MARK-MARK@host/"},
        {"kind": "Secret", "metadata": {"name": "a", "annotations": {"b": "MARK"}}, "data": {"c": "MARK"}},
        {"kind": "secretlist", "items": [{"metadata": {"name": "a"}, "stringData": {"c": ["MARK"]}}]},
        {"kind": "ConfigMap", "data": {"password": "MARK", "run.sh": "export A_TOKEN=MARK-MARK; x"}},
        {"spec": {"params": {"p": {"default": "MARK"}}, "env": {"A_TOKEN": "${{ params.p }}"}}},
        {
            "spec": {
                "environments": {"a": {"values": {"p": "MARK"}}},
                "env": {"B_TOKEN": "${{ params['p'] }}"},
            }
        },
        {"env": {"DB_PASSWORD": {"MARK-MARK": None}}},
        {"params": ["password"], "env": {1: {2: "words"}}, "values": None},
    ],
    ids=str,
)
def test_secrets_in_data(data: Any) -> None:
    shown = str(redact_data(data))
    assert "MARK" not in shown
    assert shown.count("***") == str(data).count("MARK") - str(data).count("MARK-MARK") + str(data).count(
        "4567"
    )
    values = set(iter_secret_values(data))
    assert values == {"MARK", "MARK-a", "MARK-b", "MARK-MARK", "4567"} & values


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["curl", "-u", "me:hunter2-hunter2", "https://host"], [2]),
        (["/usr/bin/curl", "https://host", "--user", "me:hunter2-hunter2"], [3]),
        (["curl", "-u", "me:$(PASSWORD)", "https://host"], []),
        (["sshpass", "-p", "hunter2-hunter2", "ssh", "host"], [2]),
        (["docker", "run", "-u", "me:hunter2-hunter2", "-p", "8080:8080"], []),
        (["docker", "login", "-u", "me", "-p", "hunter2-hunter2"], [5]),
        (["mysql", "-u", "root", "-phunter2-hunter2", "runs"], [3]),
        (["mc", "alias", "set", "name", "https://host", "key", "hunter2; hunter2"], [6]),
        (["wandb", "login", "hunter2-" * 5], [2]),
        (["redis-cli", "-a", "$(PASSWORD)"], []),
        (["echo", "a; docker login -p", "words-words"], []),
        (["python", "a.py", "--api-key", "hunter2-hunter2", "--token=hunter2-hunter2"], [3, 4]),
        (
            ["python", "a.py", "--credentials", "~/key", "--secret", "id=key,src=/a", "--token", "12345678"],
            [],
        ),
        (["bash", "-c", "curl -sL -u me:hunter2-hunter2 https://host && python a.py"], [2]),
        (["bash", "-c", "curl -sL -u me:$PASSWORD https://host; python -u a:hunter2-hunter2"], []),
    ],
)
def test_secrets_in_commands(words: list[str], expected: list[int]) -> None:
    found = list(find_command_secrets(words))
    assert [one.number for one in found] == expected
    assert "hunter2" not in "".join(one.what for one in found)
    assert not expected or "hunter2" not in str(redact_data({"command": words}))


def test_of_a_text_the_part_is_hidden_that_is_secret() -> None:
    said = "curl -H 'Authorization: Bearer MARKMARK' https://me:MARK@host/?token=MARKMARK&x=1; A_TOKEN=$B run"
    hidden = [said[start:end] for start, end in find_text_secrets(said)]
    assert hidden == ["MARKMARK", "MARK", "MARKMARK&x=1"]
    assert redact_data(said).startswith(
        "curl -H 'Authorization: Bearer ***' https://me:***@host/?token=***; A"
    )


MARK = "MARK" * 10


@pytest.mark.parametrize(
    "script",
    [
        *(f"wandb login {MARK}", f"wandb login --relogin --host https://host '{MARK}'"),
        *(f"aws configure set aws_secret_access_key {MARK}", f"aws configure set default.api_token {MARK}"),
        *(f"docker login -u me -p {MARK} host", f"podman login -u me \\\n  -p{MARK} host"),
        *(
            f"echo {MARK} | docker login -u me --password-stdin",
            f"printf '%s' '{MARK}' | gh auth login --with-token",
        ),
        *(f"redis-cli -h host -a {MARK} ping", f"mysql -u root -p{MARK} runs", f"mysqldump -p'{MARK}' runs"),
        *(f"mongosh -u me -p {MARK}", f"export MYTOKEN={MARK}", f"mc alias set name https://host key {MARK}"),
        *(f"mc config host add name https://host key {MARK}", f"curl -sSu me:{MARK} https://host"),
        *(f"curl -sS \\\n  -u 'me:{MARK}' https://host", f"wget 'https://host/a?sv=1&sig={MARK}'"),
        f"cat > ~/.netrc <<END\nmachine host\nlogin me\npassword {MARK}\nEND",
        f"echo 'machine host login me password {MARK}' > ~/.netrc",
        f"curl -d '{{}}' https://hooks.slack.com/services/T0/B0/{MARK}",
    ],
)
def test_passwords_without_a_name_in_scripts(script: str) -> None:
    shown = redact_data(script)
    assert "MARK" not in shown
    assert "***" in shown
    assert [one.number for one in find_command_secrets(["bash", "-c", script])] == [2]


@pytest.mark.parametrize(
    "script",
    [
        *("wandb login $WANDB_API_KEY", "wandb login --relogin", "docker login -u me -p $PASSWORD host"),
        *(
            "docker run -p 8080:8080 host/login",
            "redis-cli -a $PASSWORD",
            "mysql -p database",
            "mysql -p$A -P 3306",
        ),
        *(
            "python mysql_train.py -processes 8",
            "echo $TOKEN | docker login --password-stdin",
            "echo words | tee words",
        ),
        *(
            "curl -sSu me:$PASSWORD https://host",
            "curl --user-agent 'words:words' https://host",
            "mc cp a b c words-words",
        ),
        *(
            "machine learning on the login page, password reset",
            "curl https://host/a?sig=1",
            "train --login -p words-words",
        ),
        *("mc alias set name https://host $KEY $SECRET", "config set partition_key words-words"),
    ],
)
def test_scripts_without_passwords(script: str) -> None:
    assert redact_data(script) == script
    assert not list(find_command_secrets(["bash", "-c", script]))


def test_a_secret_of_one_form_hides_no_secret_of_another_form_before_it() -> None:
    said = (
        "curl -u me:MARKMARK http://a\ngit config http.extraheader 'AUTHORIZATION: basic MARKMARK'\n"
        "run --api-key MARKMARK\nexport A_TOKEN=MARKMARK\n"
    )
    assert [said[start:end] for start, end in find_text_secrets(said)] == 4 * ["MARKMARK"]


@pytest.mark.parametrize(
    ("part", "kind", "is_hidden"),
    [
        ("spec.containers[main].env[DB_PASSWORD].value", "Pod", True),
        ("spec.containers[main].env[DB_PASSWORD].valueFrom.secretKeyRef.key", "Pod", False),
        ("spec.env.hfToken", "JobProfile", True),
        ("spec.params.apiToken.default", "JobProfile", True),
        ("spec.params.apiToken.type", "JobProfile", False),
        ("spec.volumes[hf-token].secret.secretName", "Pod", False),
        ("data.x", "Secret", True),
        ("data.x", "ConfigMap", False),
        ("", "Pod", False),
    ],
)
def test_a_value_at_a_path(part: str, kind: str, is_hidden: bool) -> None:
    assert redact_value_at(split_path(part), "words", kind) == ("***" if is_hidden else "words")


def test_values_of_flags() -> None:
    sets = {"params.db": '{"dbPassword": "MARK", "x": "y"}', "env.A_TOKEN": "MARK", "replicas": "4"}
    assert set(iter_flag_secrets(sets)) == {"MARK"}
    assert list(iter_flag_secrets({"params.password": "7", "env.A_TOKEN.secret": "hub/token"})) == []
    assert list(iter_flag_secrets({"params.db": '{"a": "broken', "params.token": '["MARK"'})) == ['["MARK"']


BROKEN = """\
spec:
  env:
    DB_PASSWORD: "MARK x
    OTHER: ok "a
    HF_TOKEN: 'MARK
      MARK
    x: [shown
  list:
  - name: MY_TOKEN
    value: MARK
    more: {a: MARK}
  - value: MARK
    name: MY_TOKEN
  - {name: A, value: shown}
  - {value: MARK, name: A_TOKEN, valu: MARK
  url: https://me:MARK@host/shown
  run: [--api-key=MARKMARK, shown]
  password:
  - MARK
  x: shown
  token: |
    MARK

    MARK
  done: shown
  args: {apiToken: MARK, b: c
  tabs:
    apiKey: a
\tMARK
  out:
    apiKey: |
      MARK
 MARK
  next: shown
"""


def test_secrets_in_broken_text() -> None:
    said = redact_spans(BROKEN, find_broken_text_secrets(BROKEN))
    assert "MARK" not in said
    assert said.count("shown") == BROKEN.count("shown")
    assert list(map(len, said.splitlines())) == list(map(len, BROKEN.splitlines()))


@given(st.text("ab:-{}[]'\"|\n\t #=TOKEN_", max_size=60))
def test_any_broken_text_keeps_its_lines_and_columns(text: str) -> None:
    said = redact_spans(text, find_broken_text_secrets(text))
    assert list(map(len, said.split("\n"))) == list(map(len, text.split("\n")))
    assert all(one in (other, "*") for one, other in zip(said, text, strict=True))


PARTS = [
    "TOKEN",
    "api",
    "Key",
    "password",
    "db",
    "Pass",
    "abcdef",
    "=",
    ":",
    " ",
    "-",
    "--",
    "_",
    '"',
    "\n",
    "//",
]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_what_has_a_secret_is_looked_at(text: str) -> None:
    if list(_iter_assigned_values(text)) or any(is_secret_name(word) for word in text.split()):
        assert may_hold_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "TOKEN=",
            "token: ",
            "a=",
            "--token ",
            "bearer ",
            "a://",
            "a://b:",
            '"',
            "'",
            "{",
            "- name: A_TOKEN\n",
        ),
        *(
            "password:\n",
            "-----BEGIN PRIVATE KEY",
            "a_",
            "token: 'a\n",
            '{"token": "',
            "eyJabcdefgh.",
            "# token=",
            "curl -u ",
            "curl ",
            *("mysql ", "docker login ", "wandb login ", "mc alias set a b c ", "redis-cli -a -a "),
            *(
                "echo a|",
                "echo ",
                "printf -n -n ",
                "machine a login b ",
                "machine ",
                "?sig=",
                "mongo -p ",
                "curl \\\n",
            ),
        ),
    ],
)
@pytest.mark.long
def test_the_work_grows_with_the_text_and_not_with_its_square(text: str) -> None:
    few, many = (text * (count // len(text) + 1) for count in (2_000, 16_000))
    once = work(lambda: find_broken_text_secrets(few))
    assert work(lambda: find_broken_text_secrets(many)) < 12 * once


@pytest.mark.long
def test_the_work_grows_with_the_data() -> None:
    def data(count: int) -> Any:
        return {"env": [{"name": f"A{number}_TOKEN", "value": "x" * 8} for number in range(count)]}

    assert work(lambda: redact_data(data(2_000))) < 12 * work(lambda: redact_data(data(200)))
    assert len(list(find_secrets(data(200)))) == 200


def test_places_in_a_file() -> None:
    text = "a: &p hunter2\npassword: *p\nx: 1  # token=hunter3\n"
    text += "b: {apiKey: 'it''s', c: \"--token=a\\x62cdefg\"}\n"
    source = parse_yaml(text.encode(), "a.yaml")
    said = redact_spans(text, find_secret_spans(source))
    assert said == (
        "a: &p *******\npassword: **\nx: 1  # token=*******\nb: {apiKey: *******, c: ********************}\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("value", ["x" * 8, "http://me:password{number}@host/"])
def test_the_work_grows_with_the_file(value: str) -> None:
    def spans(count: int) -> int:
        lines = (f"  A{number}_TOKEN: {value.format(number=number)}\n" for number in range(count))
        text = (
            "env:\n" + "".join(lines) + "run: |\n" + "".join(f"  --token=abcdef{n}\n" for n in range(count))
        )
        source = parse_yaml(text.encode(), "a.yaml")
        return work(lambda: find_secret_spans(source))

    assert spans(2_000) < 12 * spans(200)


@given(st.text("Ж0:-{}[]'\"|>&*!%@`#, \t\n", max_size=20))
def test_no_fault_of_yaml_quotes_a_secret(text: str) -> None:
    """Neither what ends reading, nor a tag, an alias or a number that is read otherwise."""
    source = parse_yaml(f"env:\n  A: b\n  DB_PASSWORD: {text}\n  C: d\n".encode(), "a.yaml")
    assert not [fault for fault in (*source.diagnostics, *source.hints) if "Ж" in fault.message]
