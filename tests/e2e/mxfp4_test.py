#!/usr/bin/env python3
"""gpt-oss with experts in MXFP4, as its safetensors and its GGUF files have them, against the interpreter on the weights
that the codes stand for.

    mxfp4_test.py BUILD

The golden configuration, widened so that every row of an expert is whole blocks of 32; weights are random. Codes are made
and read back here by the definition of the form: e2m1 times a power of two.
"""

import json
import sys

from gguf_file import MXFP4, Blocks, write_gguf
from harness import Failures, Workshop, golden, np, relative_error, same_bits, skip, write_safetensors

HIDDEN, WIDTH = 64, 96
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
IDS = [(7 * i * i + 3 * i) % 160 for i in range(24)]
# Exact weights and f32 activations differ by the order of sums alone; products of GGUF blocks take their input in blocks of
# 16-bit integers.
EXACT, ROUNDED = 1e-5, 2e-4


def quantised(matrix):
    """Codes [.., K] and scale bytes [.., K / 32] of a matrix [.., K]."""
    blocks = matrix.reshape(*matrix.shape[:-1], -1, 32)
    exponent = np.floor(np.log2(np.abs(blocks).max(-1))) - 2
    scaled = blocks / np.exp2(exponent)[..., None]
    magnitude = np.abs(np.abs(scaled)[..., None] - E2M1).argmin(-1)
    codes = magnitude | np.where(scaled < 0, 8, 0)
    return codes.reshape(matrix.shape).astype(np.uint8), (exponent + 127).astype(np.uint8)


def values(codes, scales):
    magnitude = E2M1[codes & 7] * np.where(codes & 8, -1, 1)
    return (magnitude * np.repeat(np.exp2(scales.astype(np.float64) - 127), 32, -1)).astype(np.float32)


def as_published(codes, scales):
    """Two codes a byte, low nibble first: [.., K / 32, 16]."""
    return (codes[..., 0::2] | codes[..., 1::2] << 4).reshape(*scales.shape, 16), scales


def as_gguf(codes, scales):
    """Blocks of a scale and 16 bytes: low nibbles are the first 16 values, high ones the last."""
    blocks = codes.reshape(*scales.shape, 32)
    data = np.concatenate([scales[..., None], blocks[..., :16] | blocks[..., 16:] << 4], -1)
    return Blocks(codes.shape, MXFP4, data.astype(np.uint8).tobytes())


class Model:
    """The three files of one model: `plain` is f32, `published` and `gguf` have experts in MXFP4."""

    def __init__(self, config):
        self.config, self.random = config, np.random.default_rng(4)
        self.plain, self.published, self.gguf = {}, {}, {}
        heads, keys, wide = (config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"])
        self.tensor("model.embed_tokens", "token_embd", config["vocab_size"], HIDDEN)
        self.tensor("lm_head", "output", config["vocab_size"], HIDDEN)
        self.gain("model.norm", "output_norm")
        for layer in range(config["num_hidden_layers"]):
            here, there = f"model.layers.{layer}.", f"blk.{layer}."
            self.gain(here + "input_layernorm", there + "attn_norm")
            self.gain(here + "post_attention_layernorm", there + "post_attention_norm")
            for letter, rows, columns in [("q", heads, 0), ("k", keys, 0), ("v", keys, 0), ("o", 0, heads)]:
                name = there + ("attn_output" if letter == "o" else "attn_" + letter)
                self.tensor(here + f"self_attn.{letter}_proj", name, rows * wide or HIDDEN, columns * wide or HIDDEN, bias=True)
            self.put(here + "self_attn.sinks", there + "attn_sinks.weight", self.numbers(heads))
            self.tensor(here + "mlp.router", there + "ffn_gate_inp", config["num_local_experts"], HIDDEN, bias=True)
            self.experts(here + "mlp.experts.", there)

    def numbers(self, *shape):
        return (self.random.standard_normal(shape) * 0.1).astype(np.float32)

    def put(self, name, gguf, array):
        self.plain[name] = self.published[name] = self.gguf[gguf] = array

    def gain(self, name, gguf):
        self.put(name + ".weight", gguf + ".weight", 1 + self.numbers(HIDDEN))

    def tensor(self, name, gguf, rows, columns, bias=False):
        self.put(name + ".weight", gguf + ".weight", self.numbers(rows, columns))
        if bias:
            self.put(name + ".bias", gguf + ".bias", self.numbers(rows))

    def experts(self, here, there):
        count = self.config["num_local_experts"]
        for name, rows, columns in [("gate_up_proj", 2 * WIDTH, HIDDEN), ("down_proj", HIDDEN, WIDTH)]:
            codes, scales = quantised(self.numbers(count, rows, columns))
            bias = self.numbers(count, rows)
            self.published[here + name + "_blocks"], self.published[here + name + "_scales"] = as_published(codes, scales)
            self.published[here + name + "_bias"] = self.plain[here + name + "_bias"] = bias
            self.plain[here + name] = values(codes, scales).transpose(0, 2, 1).copy()
            parts = {"ffn_gate_exps": slice(0, None, 2), "ffn_up_exps": slice(1, None, 2)} if rows == 2 * WIDTH else {"ffn_down_exps": slice(None)}
            for part, chosen in parts.items():
                self.gguf[there + part + ".weight"] = as_gguf(codes[:, chosen], scales[:, chosen])
                self.gguf[there + part + ".bias"] = bias[:, chosen]

    def metadata(self):
        c, rope = self.config, self.config["rope_parameters"]
        numbers = {
            "block_count": c["num_hidden_layers"], "context_length": c["max_position_embeddings"], "embedding_length": HIDDEN,
            "feed_forward_length": WIDTH, "expert_feed_forward_length": WIDTH, "attention.head_count": c["num_attention_heads"],
            "attention.head_count_kv": c["num_key_value_heads"], "attention.key_length": c["head_dim"], "attention.value_length": c["head_dim"],
            "attention.layer_norm_rms_epsilon": c["rms_norm_eps"], "attention.sliding_window": c["sliding_window"],
            "expert_count": c["num_local_experts"], "expert_used_count": c["num_experts_per_tok"], "rope.freq_base": rope["rope_theta"],
            "rope.scaling.type": "yarn", "rope.scaling.factor": rope["factor"],
            "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
        }
        return {"general.architecture": "gpt-oss", **{"gpt-oss." + key: value for key, value in numbers.items()}}


def check(failures, workshop, name, config, checkpoint, expected, bound):
    binary = workshop.binary(name, "-F", "cpu", "--kv", "f32", "--config", config)
    if not failures.check(binary is not None, f"{name}: no binary"):
        return
    first = workshop.logits(binary, checkpoint, IDS, "--threads", 1)
    if not failures.check(not isinstance(first, str), f"{name}: {first}"):
        return
    error = relative_error(first["logits"], expected)
    print(f"{name}: error {error:.1e} of the largest, bound {bound:.0e}")
    failures.check(error <= bound, f"{name}: error {error:.1e} exceeds {bound:.0e}")
    same_bits(failures, workshop, binary, checkpoint, IDS, first, [("--threads", 2), ("--threads", 2, "--chunk", 5), ("--chunk", 1)], name)


def main():
    source = golden("models/gpt-oss/window-and-full") or golden("models/gpt-oss/irregular")
    if source is None:
        skip("there is no golden gpt-oss")
    config = json.loads((source / "config.json").read_text())
    config.update(hidden_size=HIDDEN, intermediate_size=WIDTH, swiglu_limit=7.0, vocab_size=160)
    config["layer_types"] = ["sliding_attention", "full_attention", "sliding_attention"]  # what GGUF metadata leaves unsaid
    model = Model(config)
    failures = Failures()
    with Workshop(sys.argv[1]) as workshop:
        plain, published, gguf = workshop.folder / "plain", workshop.folder / "mxfp4", workshop.folder / "model.gguf"
        for folder, tensors in [(plain, model.plain), (published, model.published)]:
            folder.mkdir()
            write_safetensors(folder / "model.safetensors", tensors)
        section = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
        (plain / "config.json").write_text(json.dumps(config))
        (published / "config.json").write_text(json.dumps({**config, "quantization_config": section}))
        write_gguf(gguf, model.metadata(), model.gguf)
        expected = workshop.interpret(plain, IDS)
        if not failures.check(not isinstance(expected, str), f"plain: {expected}"):
            return failures.exit_code()
        for checkpoint in (published, gguf):
            read = workshop.interpret(checkpoint, IDS)
            equal = not isinstance(read, str) and read["logits"].tobytes() == expected["logits"].tobytes()
            failures.check(equal, f"{checkpoint.name}: the interpreter reads other weights: {read if isinstance(read, str) else ''}")
        check(failures, workshop, "published", published, published, expected["logits"], EXACT)
        check(failures, workshop, "gguf", gguf, gguf, expected["logits"], ROUNDED)
    return failures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
