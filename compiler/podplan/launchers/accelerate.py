"""Parses ``accelerate launch``: the number of processes and machines, and the rendezvous.

Source: https://huggingface.co/docs/accelerate/package_reference/cli, and accelerate 1.15 itself.
"""

from __future__ import annotations

from podplan.launchers.argparse import parse_command_line
from podplan.launchers.arguments import (
    OptionGrammar,
    add_dashed_spellings,
    find_flags,
    parse_option_table,
)
from podplan.launchers.commands import AccelerateCommand
from podplan.launchers.words import CommandLineError, Word

GRAMMAR = OptionGrammar(
    "accelerate launch",
    tuple(
        add_dashed_spellings(
            parse_option_table("""
        --config_file text
        -q --quiet flag
        --cpu flag
        --multi_gpu flag
        --tpu flag
        --mixed_precision no|fp16|bf16|fp8
        --num_processes int
        --num_machines int
        --num_cpu_threads_per_process int
        --enable_cpu_affinity flag
        --dynamo_backend text
        --dynamo_mode default|reduce-overhead|max-autotune
        --dynamo_use_fullgraph flag
        --dynamo_use_dynamic flag
        --dynamo_use_regional_compilation flag
        --use_deepspeed flag
        --use_fsdp flag
        --use_parallelism_config flag
        --use_megatron_lm flag
        --gpu_ids text
        --same_network flag
        --machine_rank int
        --main_process_ip text
        --main_process_port int
        -t --tee text
        --log_dir text
        --role text
        --rdzv_backend text
        --rdzv_conf text
        --max_restarts int
        --monitor_interval float
        -m --module flag
        --no_python flag
        --tpu_cluster flag
        --no_tpu_cluster flag
        --tpu_use_sudo flag
        --vm text
        --env text
        --main_training_function text
        --downcast_bf16 flag
        --deepspeed_config_file text
        --zero_stage int
        --offload_optimizer_device text
        --offload_param_device text
        --offload_optimizer_nvme_path text
        --offload_param_nvme_path text
        --gradient_accumulation_steps int
        --gradient_clipping float
        --zero3_init_flag text
        --zero3_save_16bit_model text
        --deepspeed_hostfile text
        --deepspeed_exclusion_filter text
        --deepspeed_inclusion_filter text
        --deepspeed_multinode_launcher text
        --deepspeed_moe_layer_cls_names text
        --fsdp_version 1|2
        --fsdp_offload_params text
        --fsdp_min_num_params int
        --fsdp_sharding_strategy text
        --fsdp_reshard_after_forward text
        --fsdp_auto_wrap_policy text
        --fsdp_transformer_layer_cls_to_wrap text
        --fsdp_backward_prefetch text
        --fsdp_state_dict_type text
        --fsdp_forward_prefetch text
        --fsdp_use_orig_params text
        --fsdp_cpu_ram_efficient_loading text
        --fsdp_sync_module_states text
        --fsdp_activation_checkpointing text
        --fsdp_activation_checkpointing_offload text
        --megatron_lm_tp_degree int
        --megatron_lm_use_custom_fsdp text
        --megatron_lm_no_load_optim text
        --megatron_lm_eod_mask_loss text
        --megatron_lm_overlap_cpu_optimizer_d2h_h2d text
        --megatron_lm_no_save_optim text
        --megatron_lm_optimizer_cpu_offload text
        --megatron_lm_use_precision_aware_optimizer text
        --megatron_lm_decoder_last_pipeline_num_layers int
        --megatron_lm_pp_degree int
        --megatron_lm_num_micro_batches int
        --megatron_lm_sequence_parallelism text
        --megatron_lm_recompute_activations text
        --megatron_lm_use_distributed_optimizer text
        --megatron_lm_gradient_clipping float
        --megatron_lm_recompute_granularity text
        --megatron_lm_recompute_method text
        --megatron_lm_recompute_num_layers int
        --megatron_lm_attention_backend text
        --megatron_lm_expert_model_parallel_size int
        --megatron_lm_context_parallel_size int
        --megatron_lm_attention_dropout float
        --megatron_lm_hidden_dropout float
        --megatron_lm_attention_softmax_in_fp32 text
        --megatron_lm_expert_tensor_parallel_size int
        --megatron_lm_calculate_per_token_loss text
        --megatron_lm_use_rotary_position_embeddings text
        --fp8_backend ao|te|msamp
        --fp8_use_autocast_during_eval flag
        --fp8_margin int
        --fp8_interval int
        --fp8_format HYBRID|E4M3|E5M2
        --fp8_amax_history_len int
        --fp8_amax_compute_algo max|most_recent
        --fp8_override_linear_precision text
        --fp8_opt_level O1|O2
        --fp8_enable_fsdp_float8_all_gather text
        --fp8_pad_inner_dim text
        --aws_access_key_id text
        --aws_secret_access_key text
        --debug flag
        --mpirun_hostfile text
        --parallelism_config_dp_replicate_size int
        --parallelism_config_dp_shard_size int
        --parallelism_config_tp_size int
        --parallelism_config_cp_size int
        --parallelism_config_cp_backend text
        --parallelism_config_cp_comm_strategy text
        --parallelism_config_sp_size int
        --parallelism_config_sp_backend text
        --parallelism_config_sp_seq_length text
        --parallelism_config_sp_seq_length_is_variable text
        --parallelism_config_sp_attn_implementation text
            """)
        )
    ),
    allows_abbreviation=False,
)

_EXCLUSIVE_FLAGS = ("cpu", "multi_gpu", "tpu", "use_deepspeed", "use_fsdp")


def parse_accelerate(words: tuple[Word, ...], launcher_word: Word) -> AccelerateCommand:
    """Parse an accelerate command line after ``launch``."""
    command_line = parse_command_line(GRAMMAR, words, launcher_word)
    given_flags = find_flags(GRAMMAR, command_line)
    command = AccelerateCommand(
        command_line,
        command_line.get_number("num_processes"),
        command_line.get_number("num_machines"),
        command_line.get_number("machine_rank"),
        command_line.get_value("main_process_ip"),
        command_line.get_number("main_process_port"),
        "multi_gpu" in given_flags,
        given_flags,
        command_line.get_value("config_file"),
        (),
    )
    errors = [*command_line.errors, *_find_conflicts(command)]
    return command._replace(errors=tuple(errors) if command_line.is_certain else ())


def _find_conflicts(command: AccelerateCommand) -> list[CommandLineError]:
    """Return the errors of options that exclude each other."""
    options = command.command_line.options
    errors: list[CommandLineError] = []
    modes = [name for name in _EXCLUSIVE_FLAGS if name in command.flags]
    if len(modes) > 1:
        errors.append(
            CommandLineError(options[modes[1]].flag, f"--{modes[1]} and --{modes[0]} exclude each other")
        )
    if command.multi_gpu and command.processes is not None and command.processes < 2:
        message = f"--multi_gpu needs at least 2 processes, not {command.processes}"
        errors.append(CommandLineError(options["num_processes"].word, message))
    version = options.get("fsdp_version")
    is_version_2 = version is not None and version.value in ("2", None)
    if "use_parallelism_config" in command.flags and not ("use_fsdp" in command.flags and is_version_2):
        message = "--use_parallelism_config needs --use_fsdp and --fsdp_version=2"
        errors.append(CommandLineError(options["use_parallelism_config"].flag, message))
    if {"module", "no_python"} <= command.flags:
        errors.append(
            CommandLineError(options["no_python"].flag, "--no_python and --module exclude each other")
        )
    if (command.machines or 1) > 1 and "machine_rank" not in options and command.config_file is None:
        message = f"--num_machines={command.machines} needs --machine_rank"
        errors.append(CommandLineError(options["num_machines"].word, message, "without a config file"))
    return errors
