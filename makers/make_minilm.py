"""Makes ``packages/softcosine-minilm``: all-MiniLM-L6-v2 as an int8 ONNX model, and checks it."""

from __future__ import annotations

import argparse
import builtins
import importlib
import inspect
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from encoder import encode, model_folder
from softcosine.encoders.onnx_encoder import OnnxEncoder

DATA = Path(__file__).parents[1] / "packages/softcosine-minilm/src/softcosine_minilm/data"
CONFIG = {
    "name": "all-MiniLM-L6-v2",
    "dimensions": 384,
    "max_tokens": 256,
    "pooling": "mean",
    "normalize": True,
}
MIN_COSINE = 0.99  # mean cosine of a text's vector and that of the original weights
MAX_SIZE = 24_000_000


def export(path: Path) -> None:
    """Write the original weights as an ONNX model in fp32."""
    import torch
    from transformers import AutoModel

    class Tokens(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(
                model_folder(), attn_implementation="eager", local_files_only=True
            ).eval()

        def forward(self, input_ids, attention_mask, token_type_ids):  # type: ignore[no-untyped-def]
            return self.model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    ids = torch.arange(1000, 1018).reshape(2, 9)
    shape = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=512)}
    program = torch.onnx.export(
        Tokens(),
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        dynamo=True,
        dynamic_shapes=(shape, shape, shape),
        input_names=["input_ids", "attention_mask", "token_type_ids"],
        output_names=["last_hidden_state"],
        opset_version=18,
    )
    program.save(str(path), external_data=False)


def write(folder: Path) -> None:
    """Write model, tokenizer and settings."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from tokenizers import Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        fp32 = Path(scratch) / "fp32.onnx"
        export(fp32)
        # Weights of 7 bits: with 8, processors without VNNI saturate sums of two products,
        # and their vectors differ from those of other processors (mean cosine .992).
        quantize_dynamic(
            fp32,
            folder / "model.onnx",
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
        )
    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n", "utf-8")


def sample_texts() -> list[str]:
    """Docstrings of the standard library, and the first line of each."""
    docs = []
    for module in sorted(sys.stdlib_module_names & {*_MODULES}):
        for _, value in sorted(vars(importlib.import_module(module)).items()):
            if inspect.isroutine(value) or inspect.isclass(value):
                docs.append(inspect.getdoc(value) or "")
    docs = sorted({doc for doc in docs if len(doc) > 60 and doc != builtins.object.__doc__})
    return [*docs, *(doc.splitlines()[0] for doc in docs)]


_MODULES = [
    "argparse", "asyncio", "collections", "csv", "datetime", "decimal", "email", "functools",
    "glob", "heapq", "html", "inspect", "itertools", "json", "locale", "logging", "math", "os",
    "random", "re", "shutil", "socket", "sqlite3", "statistics", "string", "tarfile", "threading",
    "time", "unittest", "zipfile",
]  # fmt: skip


def check(folder: Path) -> None:
    """Print the figures of the model; exit if it is too large or too far from the original."""
    started = time.perf_counter()
    encoder = OnnxEncoder(folder, threads=1)
    load = time.perf_counter() - started
    texts = sample_texts()
    queries = texts[len(texts) // 2 :]
    encoder.encode(queries[:20])
    times = []
    for query in queries:
        started = time.perf_counter()
        encoder.encode([query])
        times.append(time.perf_counter() - started)
    started = time.perf_counter()
    OnnxEncoder(folder).encode(texts[: len(queries)])
    rate = len(queries) / (time.perf_counter() - started)
    cosines = np.einsum("ij,ij->i", encoder.encode(texts), encode(texts))
    size = (folder / "model.onnx").stat().st_size
    figures = {
        "texts": len(texts),
        "megabytes": size / 1e6,
        "seconds to load": load,
        "milliseconds a query": 1e3 * float(np.median(times)),
        "documents a second, all CPUs": rate,
        "mean cosine to the original": float(cosines.mean()),
        "least cosine to the original": float(cosines.min()),
    }
    for what, figure in figures.items():
        print(f"{what:32}{figure:10.4g}")
    if cosines.mean() < MIN_COSINE or size > MAX_SIZE:
        sys.exit(f"needed: mean cosine >= {MIN_COSINE}, at most {MAX_SIZE:,} bytes.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--check", action="store_true", help="check the files that are there")
    given = parser.parse_args()
    if not given.check:
        write(given.out)
    check(given.out)


if __name__ == "__main__":
    main()
