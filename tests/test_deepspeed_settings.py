"""Problems in a configuration of DeepSpeed: what is found, and at which text."""

from __future__ import annotations

import pytest

from podplan.lint.analysis.deepspeed_settings import is_deepspeed_configuration, list_setting_problems

FOUND = {
    '{"a": 1,}': ("is no valid JSON: a comma stands before the closing bracket", ","),
    '{"bf16": {"enabled": true}\n "fp16": {}}': ("is no valid JSON: a comma is missing", "}"),
    '{"bf16": {"enabled": true}': ("is no valid JSON: a closing bracket is missing", "}"),
    '{"bf16": true}': ("sets bf16 to true, not to an object with its settings", '"bf16"'),
    '{"zero_optimisation": {"stage": 2}}': (
        "has zero_optimisation, which DeepSpeed ignores; its name is zero_optimization",
        '"zero_optimisation"',
    ),
    '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme", "nvme_path": "/x"}}}': (
        "offloads to NVMe, which needs ZeRO stage 3, and stage 2",
        '"device"',
    ),
    '{"optimizer": {"type": "Adam", "params": {"betas": [0.9]}}}': (
        "sets betas to something other than two numbers from 0 to below 1",
        '"betas"',
    ),
    '{"optimizer": {"type": "OneBitAdam"}, "zero_optimization": {"stage": 1}}': (
        "uses 1-bit Adam with ZeRO stage 1, which exclude each other",
        '"type"',
    ),
    '{"scheduler": {"type": "WarmupLR", "params": {"warmup_steps": 10}}}': (
        "gives WarmupLR the unknown parameter warmup_steps; did you mean warmup_num_steps?",
        '"warmup_steps"',
    ),
    '{"fp16": {"loss_scale": 0}}': (
        "configures fp16 without enabled: true, so the training runs in fp32",
        '"fp16"',
    ),
    '{"train_micro_batch_size_per_gpu": 0}': (
        "sets train_micro_batch_size_per_gpu to 0, not to a whole number above 0",
        '"train_micro_batch_size_per_gpu"',
    ),
}


@pytest.mark.parametrize("text", FOUND)
def test_a_problem_is_found_at_its_name(text: str) -> None:
    (problem,) = list_setting_problems(text, is_complete=False)
    start, end = problem.span
    assert (problem.why, text[start:end]) == FOUND[text]


@pytest.mark.parametrize(
    "text",
    [
        '{"train_batch_size": "auto", "gradient_clipping": "auto"}',
        '{"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 5e7, "sub_group_size": 1e9}}',
        '{"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu", "pin_memory": true}}}',
        '{"optimizer": {"type": "RAdam", "params": {"lr": 0.1, "betas": [0.9, 0.99]}}}',
        '{"scheduler": {"type": "StepLR", "params": {"step_size": 10}}}',
        '{"fp16": {"enabled": false, "loss_scale": 0}}',
        '{"bf16": {"enabled": true}, "fp16": {"loss_scale": 0}}',
        '{"train_batch_size": ${BATCH},}',
        "[1, 2]",
    ],
)
def test_a_valid_configuration_has_no_problem(text: str) -> None:
    assert not list_setting_problems(text, is_complete=False)


def test_only_a_complete_configuration_needs_sizes_and_values() -> None:
    text = '{"optimizer": {"type": "Adam", "params": {"lr": "auto"}}}'
    assert not list_setting_problems(text, is_complete=False)
    assert len(list_setting_problems(text, is_complete=True)) == 2


def test_zero_takes_its_default_for_auto() -> None:
    text = '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}}'
    assert not list_setting_problems(text, is_complete=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}}', True),
        ('{"elasticity": {"enabled": true}, "aio": {"block_size": 1048576}}', True),
        ('{"train_micro_batch_size_per_gpu": 1, "dataset": "/data"}', False),
        ('{"train_batch_size": 8, "optimizer": {"type": "AdamW"}}', False),
        ('{"trainer": {"zero_optimization": {"stage": 2}}}', False),
        ('["zero_optimization"]', False),
        ('{"zero_optimization": {"stage": 2}', False),
        (None, False),
    ],
)
def test_a_configuration_is_known_by_its_settings(text: object, expected: bool) -> None:
    assert is_deepspeed_configuration(text) is expected
