#!/usr/bin/env python3
"""Golden checkpoints rewritten as GGUF files, with the names, orders and metadata of llama.cpp's converters, give the
golden logits: bound from their own metadata, or, where metadata cannot say all of a config, from the config.

    gguf_test.py BUILD
"""

import json
import math
import sys

from gguf_file import write_gguf
from harness import Failures, Workshop, golden, np, read_safetensors, relative_error, skip

TOLERANCE = 1e-5
ATTENTION = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output"}
MLP = {"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
OUTER = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}


def rope_of(config):
    return config["rope_parameters"]


def widths(config):
    """Metadata that every architecture has."""
    heads = config["num_attention_heads"]
    return {
        "block_count": config["num_hidden_layers"], "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"], "feed_forward_length": config["intermediate_size"],
        "attention.head_count": heads, "attention.head_count_kv": config.get("num_key_value_heads", heads),
        "attention.layer_norm_rms_epsilon": config.get("rms_norm_eps", 0.0),
    }


class Converter:
    """One architecture: names, what becomes of a tensor, metadata. Names are without prefix, layer and `.weight`."""

    tag, names = "", {}

    def __init__(self, config):
        self.config = config

    def tensors(self, name, array):
        """GGUF names, under the layer where there is one, and arrays."""
        module, _, last = name.rpartition(".")
        if name in self.names:
            return [(self.names[name], array)]
        return [(f"{self.names[module]}.{last}", array)]

    def added(self):
        return {}

    def metadata(self):
        return widths(self.config)

    def convert(self, source):
        out = dict(self.added())
        for full, array in source.items():
            name = full.removeprefix("model.").removeprefix("language_model.")
            prefix = ""
            if name.startswith("layers."):
                _, layer, name = name.split(".", 2)
                prefix = f"blk.{layer}."
            for gguf, part in self.tensors(name, array):
                out[prefix + gguf] = part
        return out


class Llama(Converter):
    tag, names = "llama", {**OUTER, **NORMS, **ATTENTION, **MLP}

    def tensors(self, name, array):
        heads = {"self_attn.q_proj.weight": "num_attention_heads", "self_attn.k_proj.weight": "num_key_value_heads"}.get(name)
        if heads:  # halves of a head to adjacent pairs
            array = array.reshape(self.config[heads], 2, -1, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)
        return super().tensors(name, array)

    def added(self):
        rope, width = rope_of(self.config), self.config["head_dim"]
        waves = 2 * math.pi * rope["rope_theta"] ** (np.arange(0, width, 2) / width)
        turns = rope["original_max_position_embeddings"] / waves
        blend = np.clip((turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"]), 0, 1)
        return {"rope_freqs.weight": (1 / ((1 - blend) / rope["factor"] + blend)).astype(np.float32)}

    def metadata(self):
        width = self.config["head_dim"]
        return {**widths(self.config), "attention.key_length": width, "attention.value_length": width,
                "rope.freq_base": rope_of(self.config)["rope_theta"], "rope.dimension_count": width}


class Phi3(Converter):
    tag, names = "phi3", {**OUTER, **NORMS, **ATTENTION, **MLP, "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}

    def added(self):
        return {f"rope_factors_{kind}.weight": np.array(rope_of(self.config)[f"{kind}_factor"], np.float32) for kind in ("short", "long")}

    def metadata(self):
        config, rope = self.config, rope_of(self.config)
        width = config["hidden_size"] // config["num_attention_heads"]
        original = rope["original_max_position_embeddings"]
        grown = config["max_position_embeddings"] / original
        return {**widths(config), "rope.freq_base": rope["rope_theta"], "rope.dimension_count": int(width * rope["partial_rotary_factor"]),
                "rope.scaling.original_context_length": original, "attention.sliding_window": config["sliding_window"] or 0,
                "rope.scaling.attn_factor": math.sqrt(1 + math.log(grown) / math.log(original))}


class Qwen35(Converter):
    tag = "qwen35"
    names = {
        **OUTER, **ATTENTION, **MLP, "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
        "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "linear_attn.in_proj_qkv": "attn_qkv",
        "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.in_proj_b": "ssm_beta",
        "linear_attn.conv1d": "ssm_conv1d", "linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt.bias",
        "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
    }

    def tiled(self, count, width, begin=0):
        """Value heads in turn over key heads, instead of all of a key head together."""
        groups, heads = self.config["linear_num_key_heads"], (count - begin) // width
        order = np.arange(heads).reshape(groups, -1).T.ravel()
        places = order[:, None] * width + np.arange(width)
        return np.concatenate([np.arange(begin), begin + places.ravel()])

    def tensors(self, name, array):
        width = self.config["linear_value_head_dim"]
        keys = 2 * self.config["linear_num_key_heads"] * self.config["linear_key_head_dim"]
        if name.endswith("norm.weight") and not name.startswith("linear_attn"):
            array = array + 1
        elif name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
            array = array.reshape(array.shape[0], -1)[self.tiled(array.shape[0], width, keys)]
        elif name.endswith("in_proj_z.weight"):
            array = array[self.tiled(array.shape[0], width)]
        elif name.endswith("out_proj.weight"):
            array = array[:, self.tiled(array.shape[1], width)]
        elif name.endswith(("in_proj_a.weight", "in_proj_b.weight", "dt_bias", "A_log")):
            array = array[self.tiled(array.shape[0], 1)]
        if name.endswith("A_log"):
            array = -np.exp(array)
        return super().tensors(name, array)

    def metadata(self):
        config = self.config
        width, values = config["head_dim"], config["linear_num_value_heads"]
        return {**widths(config), "attention.key_length": width, "attention.value_length": width, "rope.freq_base": rope_of(config)["rope_theta"],
                "rope.dimension_count": int(width * rope_of(config)["partial_rotary_factor"]), "ssm.conv_kernel": config["linear_conv_kernel_dim"],
                "ssm.state_size": config["linear_key_head_dim"], "ssm.group_count": config["linear_num_key_heads"],
                "ssm.time_step_rank": values, "ssm.inner_size": values * config["linear_value_head_dim"],
                "attention.recurrent_layers": [kind == "linear_attention" for kind in config["layer_types"]], "full_attention_interval": 4}


class DeepSeek2(Converter):
    tag = "deepseek2"
    names = {
        **OUTER, **NORMS, **ATTENTION, **MLP, "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm",
        "self_attn.q_b_proj": "attn_q_b", "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
        "mlp.gate": "ffn_gate_inp", **{f"mlp.shared_experts.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")},
    }

    def tensors(self, name, array):
        config = self.config
        if "kv_b_proj" not in name:
            return super().tensors(name, array)
        heads = array.reshape(config["num_attention_heads"], -1, config["kv_lora_rank"])
        keys = config["qk_nope_head_dim"]
        return [("attn_k_b.weight", heads[:, :keys].transpose(0, 2, 1)), ("attn_v_b.weight", heads[:, keys:])]

    def convert(self, source):
        stacks = {}
        for name in [name for name in source if ".experts." in name]:
            head, expert = name.split(".experts.")
            number, part, _ = expert.split(".")
            stacks.setdefault((head.split(".")[2], part), {})[int(number)] = source[name]
        plain = {name: array for name, array in source.items() if ".experts." not in name}
        out = super().convert(plain)
        for (layer, part), experts in stacks.items():
            out[f"blk.{layer}.ffn_{part.removesuffix('_proj')}_exps.weight"] = np.stack([experts[i] for i in range(len(experts))])
        return out

    def metadata(self):
        config, rotary, rank = self.config, self.config["qk_rope_head_dim"], self.config["kv_lora_rank"]
        return {**widths(config), "attention.head_count_kv": 1, "attention.key_length": rank + rotary, "attention.value_length": rank,
                "attention.key_length_mla": config["qk_nope_head_dim"] + rotary, "attention.value_length_mla": config["v_head_dim"],
                "expert_count": config["n_routed_experts"], "expert_used_count": config["num_experts_per_tok"], "expert_gating_func": 1,
                "rope.dimension_count": rotary}


class Gemma4(Converter):
    tag = "gemma4"
    names = {
        **OUTER, **ATTENTION, **MLP, "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm", "self_attn.q_norm": "attn_q_norm",
        "self_attn.k_norm": "attn_k_norm", "layer_scalar": "layer_output_scale.weight", "embed_tokens_per_layer": "per_layer_token_embd",
        "per_layer_model_projection": "per_layer_model_proj", "per_layer_projection_norm": "per_layer_proj_norm",
        "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
    }

    def __init__(self, config):
        super().__init__(config["text_config"])

    def added(self):
        pairs = self.config["global_head_dim"] // 2
        turning = int(pairs * rope_of(self.config)["full_attention"]["partial_rotary_factor"])
        return {"rope_freqs.weight": np.array([1.0] * turning + [1e30] * (pairs - turning), np.float32)}

    def metadata(self):
        config, rope = self.config, rope_of(self.config)
        slides = [kind == "sliding_attention" for kind in config["layer_types"]]
        shared, wide = config["num_kv_shared_layers"], config["intermediate_size"]
        doubled = shared if config["use_double_wide_mlp"] else 0
        few = config["num_global_key_value_heads"] if config["attention_k_eq_v"] else config["num_key_value_heads"]
        own = len(slides) - doubled
        return {**widths(config), "feed_forward_length": [wide] * own + [2 * wide] * doubled,
                "attention.head_count_kv": [config["num_key_value_heads"] if slide else few for slide in slides],
                "attention.key_length": config["global_head_dim"], "attention.value_length": config["global_head_dim"],
                "attention.key_length_swa": config["head_dim"], "attention.value_length_swa": config["head_dim"],
                "attention.sliding_window": config["sliding_window"], "attention.sliding_window_pattern": slides,
                "attention.shared_kv_layers": shared, "embedding_length_per_layer_input": config["hidden_size_per_layer_input"],
                "final_logit_softcapping": config["final_logit_softcapping"], "rope.freq_base": rope["full_attention"]["rope_theta"],
                "rope.freq_base_swa": rope["sliding_attention"]["rope_theta"], "rope.dimension_count": config["global_head_dim"]}


class ModernBert(Converter):
    tag = "modern-bert"
    names = {"embeddings.tok_embeddings": "token_embd", "embeddings.norm": "token_embd_norm", "final_norm": "output_norm", "head.dense": "cls",
             "head.norm": "cls.norm", "decoder": "output", "attn_norm": "attn_norm", "attn.Wqkv": "attn_qkv", "attn.Wo": "attn_output",
             "mlp_norm": "ffn_norm", "mlp.Wi": "ffn_up", "mlp.Wo": "ffn_down"}


# The case, its converter, and whether its metadata says all. DeepSeek's leaves out one of YaRN's two magnitudes.
CASES = [("llama/rope-llama3", Llama, True), ("phi3/partial", Phi3, True), ("qwen3-5/irregular", Qwen35, True), ("deepseek-v2/grouped", DeepSeek2, False),
         ("gemma4/classes", Gemma4, True), ("gemma4/small", Gemma4, True), ("modernbert/base", ModernBert, False)]


def main():
    cases = [case for case in CASES if golden("models/" + case[0])]
    if not cases:
        skip("there are no golden checkpoints")
    failures = Failures()
    with Workshop(sys.argv[1]) as workshop:
        for name, converter, complete in cases:
            folder = golden("models/" + name)
            made = converter(json.loads((folder / "config.json").read_text()))
            path = workshop.folder / (name.replace("/", "-") + ".gguf")
            metadata = {made.tag + "." + key: value for key, value in made.metadata().items()}
            write_gguf(path, {"general.architecture": made.tag, **metadata}, made.convert(read_safetensors(folder / "model.safetensors")))
            expected = read_safetensors(folder / "expected.safetensors")
            config = [] if complete else ["--config", folder / "config.json"]
            read = workshop.interpret(path, expected["input_ids"], *config)
            if not failures.check(not isinstance(read, str), f"{name}: {read}"):
                continue
            error = relative_error(read["logits"], expected["logits"])
            print(f"{name}: error {error:.1e} of the largest, bound {TOLERANCE:.0e}")
            failures.check(error <= TOLERANCE, f"{name}: error {error:.1e} exceeds {TOLERANCE:.0e}")
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
