"""Writes a GGUF file's weights in another format with llama.cpp's own quantiser, every matrix alike.

    requantize.py IN.gguf OUT.gguf q4_0|q4_1|q8_0|bf16|q4_k_m|...
"""
import ctypes
import sys

import llama_cpp as llama

# llama_ftype of include/llama.h.
FILE_TYPES = {
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q2_k": 10, "q3_k_m": 12,
    "q4_k_m": 15, "q5_k_m": 17, "q6_k": 18, "iq4_nl": 25, "bf16": 32,
}


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in FILE_TYPES:
        sys.exit(__doc__ + "\nformats: " + " ".join(FILE_TYPES))
    options = llama.llama_model_quantize_default_params()
    options.ftype = FILE_TYPES[sys.argv[3]]
    options.allow_requantize = True
    options.pure = "_m" not in sys.argv[3]
    if llama.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), ctypes.byref(options)) != 0:
        sys.exit(f"llama.cpp cannot write {sys.argv[2]}")


if __name__ == "__main__":
    main()
