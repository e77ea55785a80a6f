"""llama.cpp's own HTTP server out of the xllamacpp wheel, as a command: the wheel has none.

It is run as a file, imports xllamacpp alone, listens on the loopback address alone, and serves until it is ended.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import Any


def main(words: Sequence[str]) -> int:
    """Serve until a signal ends the process."""
    import xllamacpp

    server = xllamacpp.Server(parameters(words, xllamacpp.CommonParams()))
    sys.stderr.write(f"serving at {server.listening_address}\n")
    while True:
        signal.pause()


def parameters(words: Sequence[str], params: Any) -> Any:
    """`params` (xllamacpp's CommonParams) with the settings of a command line.

    A request takes the slot that has rested longest, and what rests in the other slots is copied to `--cache-ram-mib`
    whenever a request begins, to be read from there. Left to itself, llama.cpp gives a request the slot that holds the
    most of its prompt; of several at once that share a prefix, the others then find nothing.
    """
    parser = argparse.ArgumentParser(prog="llama_server", description="llama.cpp's server on the loopback address.")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--alias", required=True, help="the model's name in requests")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--n-ctx", type=int, required=True, help="tokens of context, prompt and answer, of a slot")
    parser.add_argument("--n-parallel", type=int, required=True, help="slots: requests computed at once")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cache-ram-mib", type=int, required=True, help="memory for prompts that slots held; 0: none")
    said = parser.parse_args(words)
    params.model.path = said.model
    params.model_alias = {said.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = said.port
    params.n_parallel = said.n_parallel
    params.n_ctx = said.n_ctx * said.n_parallel  # the server divides it among the slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = said.threads
    params.cache_ram_mib = said.cache_ram_mib
    if said.cache_ram_mib:
        params.slot_prompt_similarity = 0.0
    params.endpoint_metrics = True
    params.ui = False
    return params


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
