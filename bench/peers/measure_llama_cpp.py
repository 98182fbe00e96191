"""One measurement of llama.cpp, as JSON: the work that `scr bench latency` does, through llama_decode and ready ids.

    measure_llama_cpp.py CHECKPOINT.gguf --prompt 512 --gen 64 --depth 0,1024,4096 --threads 2 [--no-flash]
    measure_llama_cpp.py CHECKPOINT.gguf --startup --prompt 32 --threads 2

Neither tokenizer nor sampler is in the timed part. With --startup the time runs from before the model is opened to the
first token; importing Python and the library does not count.
"""
import argparse
import ctypes
import json
import resource
import statistics
import sys
import time

import llama_cpp as llama


def spread_ids(count, vocab):
    """The ids of `scr bench latency`: a linear congruential generator over the vocabulary."""
    ids, state = [], 1
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        ids.append((state >> 33) % vocab)
    return ids


class Context:
    """A model with a context of `capacity` tokens and an f16 cache."""

    def __init__(self, path, capacity, threads, flash):
        llama.llama_backend_init()
        llama.llama_log_set(_SILENT, None)
        model_options = llama.llama_model_default_params()
        self.model = llama.llama_model_load_from_file(path.encode(), model_options)
        if not self.model:
            sys.exit(f"llama.cpp cannot open {path}")
        options = llama.llama_context_default_params()
        options.n_ctx = capacity
        options.n_batch = options.n_ubatch = 512
        options.n_threads = options.n_threads_batch = threads
        options.flash_attn_type = 1 if flash else 0
        self.context = llama.llama_init_from_model(self.model, options)
        self.vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))

    def clear(self):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)

    def decode(self, ids):
        """Runs ids behind what the cache holds, in batches; logits of the last position only."""
        for begin in range(0, len(ids), 512):
            part = ids[begin : begin + 512]
            array = (llama.llama_token * len(part))(*part)
            if llama.llama_decode(self.context, llama.llama_batch_get_one(array, len(part))) != 0:
                sys.exit("llama_decode failed")
        llama.llama_synchronize(self.context)

    def greedy(self, ids, count):
        """The `count` tokens of highest logit that follow ids."""
        self.clear()
        answer = []
        for _ in range(count):
            self.decode(ids)
            logits = llama.llama_get_logits_ith(self.context, -1)
            row = ctypes.cast(logits, ctypes.POINTER(ctypes.c_float * self.vocab)).contents
            ids = [max(range(self.vocab), key=row.__getitem__)]
            answer += ids
        return answer


@llama.llama_log_callback
def _SILENT(level, text, user_data):
    pass


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def latency(options):
    depths = [int(depth) for depth in options.depth.split(",")]
    capacity = max(options.prompt, max(depths) + options.gen + 1)
    context = Context(options.checkpoint, capacity, options.threads, options.flash)
    prompt = spread_ids(options.prompt, context.vocab)

    def run_prompt():
        context.clear()
        return timed(lambda: context.decode(prompt))

    run_prompt()
    seconds = statistics.median(run_prompt() for _ in range(options.repeats))
    result = {"prompt": {"tokens": options.prompt, "tokens_per_s": options.prompt / seconds}, "decode": []}
    for depth in depths:
        ids = spread_ids(depth + options.gen + 1, context.vocab)
        context.clear()
        if depth:
            context.decode(ids[:depth])
        steps = [timed(lambda: context.decode([token])) for token in ids[depth:]]
        result["decode"].append({"depth": depth, "tokens_per_s": 1 / statistics.median(steps[1:])})
    result["rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result["system"] = llama.llama_print_system_info().decode().strip()
    return result


def startup(options):
    begin = time.perf_counter()
    context = Context(options.checkpoint, 2048, options.threads, options.flash)
    context.decode(spread_ids(options.prompt, context.vocab))
    return {"first_token_s": time.perf_counter() - begin}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--depth", default="0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-flash", dest="flash", action="store_false")
    parser.add_argument("--startup", action="store_true")
    parser.add_argument("--greedy", metavar="IDS", help="print the --gen greedy ids that follow IDS instead")
    options = parser.parse_args()
    if options.greedy:
        ids = [int(token) for token in options.greedy.split(",")]
        print(json.dumps(Context(options.checkpoint, 2048, options.threads, options.flash).greedy(ids, options.gen)))
    else:
        print(json.dumps(startup(options) if options.startup else latency(options)))


if __name__ == "__main__":
    main()
